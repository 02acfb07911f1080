"""What makes answers late on a machine, and how to cure it."""
