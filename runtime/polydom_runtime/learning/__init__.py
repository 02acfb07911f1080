"""A node that learns: how long units take here, by which margin the promise holds, and plans that follow."""
