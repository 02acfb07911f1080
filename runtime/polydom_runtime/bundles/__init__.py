"""What a node reads: the bundle, its index, its file format and its models."""
