"""The commands of ``polydom``: each file adds its arguments and runs."""
