"""The limits of what all models of a bundle may be together."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import ExportError, TrainingError
from polydom_runtime.bundles.promise import MAX_LIMIT, Limits
from polydom_runtime.causes import shown
from polydom_runtime.device.board import PROCESS_BYTES, memory_need

UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def bytes_of(size: Any) -> int:
    """Return the bytes of a size such as ``"20MB"``, or of a number of bytes.

    Raises `TrainingError` if it is neither, or less than 1 byte.

    Examples
    --------
    >>> bytes_of("20MB"), bytes_of("1.5 KiB"), bytes_of(4096)
    (20000000, 1536, 4096)
    """
    units = {unit.lower(): factor for unit, factor in UNITS.items()}
    found = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*([a-z]+)\s*", size.lower()) if isinstance(size, str) else None
    number: Any = size
    if found and found[2] in units:
        number = min(float(found[1]) * units[found[2]], MAX_LIMIT)
    if isinstance(number, bool) or not isinstance(number, int | float | np.number) or not number >= 1:
        raise TrainingError(
            f"max_memory must be a size such as '20MB', with one of the units {', '.join(UNITS)}. Got {shown(size)}."
        )
    return int(min(number, MAX_LIMIT))


def costs_of_models(limits: Limits, sizes: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the amounts that models use of each limit that is set, ``(n_models, n_limits)``, and the most for all.

    `sizes`: the bytes of each model file.
    """
    memory = [memory_need([size]) - PROCESS_BYTES for size in sizes]
    columns = [
        ([1] * len(sizes), limits.max_models, 0),
        (sizes, limits.max_bytes, 0),
        (memory, limits.memory_bytes, PROCESS_BYTES),
    ]
    given = [(costs, limit - base) for costs, limit, base in columns if limit]
    costs = np.array([costs for costs, _ in given], dtype=np.int64).reshape(len(given), len(sizes)).T
    return costs, np.array([most for _, most in given], dtype=np.int64)


def keeps(limits: Limits, sizes: Sequence[int]) -> bool:
    """Tell whether models with files of these sizes, in bytes, keep all limits together."""
    costs, most = costs_of_models(limits, sizes)
    return bool((costs.sum(axis=0) <= most).all())


def check_any_fits(limits: Limits, sizes: Sequence[int]) -> None:
    """Check that at least one of some models keeps the limits by itself.

    Raises `ExportError` if none does.
    """
    if not any(keeps(limits, [size]) for size in sizes):
        raise ExportError(
            f"At least one model must fit {limits}. The smallest of {len(sizes)} has a file of {min(sizes):,} bytes, "
            f"and needs {memory_need([min(sizes)]) / 1e6:.4g} MB of memory with its process. Allow more, or choose a "
            "smaller estimator."
        )
