"""Answering items at a fixed period, as a service."""
