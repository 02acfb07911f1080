"""What Sphinx needs beside its own parts to build the site, and the notebook of the tutorial."""
