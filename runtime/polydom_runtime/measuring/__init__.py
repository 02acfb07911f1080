"""How long features and steps take on this machine: rounds of timed calls, their samples, and the conditions."""
