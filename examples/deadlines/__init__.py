"""Score against deadline on five data sets: any-time and strict Poly-Dom beside Greedy, one set and an oracle."""
