"""Construction of the Poly-Dom index, and the indexes that it is compared with."""
