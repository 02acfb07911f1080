"""Verification of a bundle: its proof and its answers, checked without the code that made them."""

from .verify import Report, verify, verify_bundle

__all__ = ["Report", "verify", "verify_bundle"]
