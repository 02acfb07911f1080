"""The experiments of the paper, run again: made-up lattices and real photographs."""
