"""Items: where they come from, one by one, and the files that hold many of them."""
