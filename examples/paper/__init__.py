"""The experiments of the paper, repeated on synthetic lattices and on real photographs."""
