"""Proof of how rarely answers are late."""
