"""What a bundle promises, in words and tables."""
