"""New bundles on a node: installs that no kill and no power cut can spoil, the way back, and changes while it runs."""
