"""From what was searched to a bundle on the disk."""
