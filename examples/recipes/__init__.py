"""Short programs to copy; see README.md."""
