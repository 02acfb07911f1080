"""The machine: its board, its timer and jitter, its memory, its profile and the kernels that compare machines."""
