"""Answers in time whatever a feature does: features run in a worker process that can be killed."""
