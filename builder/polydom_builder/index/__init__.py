"""Construction of the Poly-Dom index from the lower envelope of cost functions."""

from .envelope import build_index

__all__ = ["build_index"]
