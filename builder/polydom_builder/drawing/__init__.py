"""Pictures: the one style of the project, and a file for each kind of picture. They draw plain data."""
