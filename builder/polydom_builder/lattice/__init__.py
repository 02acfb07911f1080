"""The searches of the lattice: which feature sets are worth training, and which are kept."""
