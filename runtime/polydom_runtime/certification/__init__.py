"""Proving how rarely answers are late."""
