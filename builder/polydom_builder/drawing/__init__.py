"""Pictures: the one style of the project, and lines, bars and a map of plain data."""
