"""The machine: its board, timer, jitter, memory and profile, and the kernels by which machines are compared."""
