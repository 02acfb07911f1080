"""Construction of the Poly-Dom index from the lower envelope of cost functions."""
