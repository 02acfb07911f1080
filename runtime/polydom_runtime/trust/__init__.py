"""Whose a bundle is: signatures, and the keys that a node trusts."""
