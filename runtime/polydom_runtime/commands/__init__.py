"""The commands of polydom-node: each file adds its arguments and runs."""
