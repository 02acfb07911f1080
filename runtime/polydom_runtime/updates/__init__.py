"""Updates of the bundle that a node uses: installs that a kill or a power cut cannot spoil, and the way back."""
