"""The bundle that a node reads: its times, its index, its file format and its models."""
