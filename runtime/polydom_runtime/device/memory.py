"""The memory that a node needs."""

from collections.abc import Iterable

PROCESS_BYTES = 60_000_000
"""Peak memory of a process that imports numpy and onnxruntime and runs one model."""

SESSION_BYTES, BYTES_PER_MODEL_BYTE = 64_000, 6
"""Memory of an opened model: a fixed part, and the bytes that a forest takes for each byte of its file."""


def memory_need(model_bytes: Iterable[int]) -> int:
    """Return an estimate of the memory, in bytes, of a process that has opened models of these file sizes."""
    return PROCESS_BYTES + sum(SESSION_BYTES + BYTES_PER_MODEL_BYTE * size for size in model_bytes)
