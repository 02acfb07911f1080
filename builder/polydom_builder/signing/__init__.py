"""Signing: the keys of whoever makes bundles, and the signature of a folder."""
