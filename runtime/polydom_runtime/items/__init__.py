"""Items: where they come from, one by one, and the files that hold many of them."""

UNLABELLED, UNREADABLE = object(), object()
"""Stand for the label of an item that has none, and for a line that is no item."""
