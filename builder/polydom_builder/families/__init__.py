"""Several estimators: which families of models explore the lattice, and which join the best sets."""
