"""Verification of a bundle: its proof and its answers are checked without the code that produced them."""

from .verify import Report, verify, verify_bundle

__all__ = ["Report", "verify", "verify_bundle"]
