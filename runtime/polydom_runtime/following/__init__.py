"""Answers by the bundle that its folder holds now: loads a new one beside the running one, and tries it."""
