"""Answering at a fixed period, as a service."""
