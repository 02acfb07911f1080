"""Answering in time whatever a feature does: a worker process that can be killed."""
