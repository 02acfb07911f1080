"""Limits of what a bundle makes a node lay out in memory. Many small numbers in an index may have a large product."""

import os

import numpy as np

from polydom_runtime.arrays import distinct
from polydom_runtime.codec.unsound import bad

from .bundle import Bundle

MAX_COLUMNS, MAX_INPUTS = 1 << 20, 1 << 23
"""The most numbers of all features together, and of the inputs of all models together."""

MAX_BYTES = 1 << 30
"""The most bytes of all model files together."""

MAX_PREFIXES = 10_000
"""The most features of all greedy sequences together; there is a candidate for each."""

SIZE_CELLS = 400
"""There are at most as many size cells, and one more for each candidate; see
`polydom_runtime.policy.planners.size_cells`."""

MAX_CELLS, MAX_STATE_CELLS = 1 << 22, 1 << 22
"""The most models times size cells, and features of all candidates times size cells, which the strict policy plans."""

MAX_ROWS = 1 << 22
"""The most candidates of all ranges of the index together."""


def check_limits(bundle: Bundle) -> None:
    """Check that what a node makes from a bundle has a bounded size.

    Raises `BundleFormatError` if it has not.
    """
    widths, models, stored = np.array(bundle.space.widths), bundle.models, bundle.stored
    cells = SIZE_CELLS + len(stored.shipped)
    for what, got, most in (
        ("The widths of all features", int(widths.sum()), MAX_COLUMNS),
        ("The input columns of all models", sum(bundle.space.widths[i] for m in models for i in m.order), MAX_INPUTS),
        ("The sizes of all models", sum(m.size_bytes for m in models), MAX_BYTES),
        ("The lengths of all sequences", sum(map(len, stored.sequences)), MAX_PREFIXES),
        ("The models times the size cells", len(models) * cells, MAX_CELLS),
        (
            "The features of all candidates times the size cells",
            sum(len(models[k].order) for k in stored.shipped) * cells,
            MAX_STATE_CELLS,
        ),
        ("The candidates of all ranges of the index", _rows(bundle), MAX_ROWS),
    ):
        if got > most:
            raise bad(f"{what} must be at most {most} together", got, "Build with fewer features or candidates.")


def check_memory(bundle: Bundle) -> None:
    """Check that the files of the models fit into the memory of this machine, before they are read.

    Raises `BundleFormatError` if they take more than half of it. Opened, models take more.
    """
    files, most = sum(model.size_bytes for model in bundle.models), memory_bytes() // 2
    if files > most:
        raise bad(
            f"The models of {bundle.path} must take at most half of this machine's memory, {most:,} bytes",
            f"{files:,}",
            "Build with smaller estimators, or for fewer deadlines.",
        )


def memory_bytes() -> int:
    """Return the size of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _rows(bundle: Bundle) -> int:
    ends = np.array([(i.start, i.end) for i in bundle.stored.intervals]).reshape(-1, 2)
    places = np.searchsorted(distinct(ends), ends)
    return int((places[:, 1] - places[:, 0] + 1).sum())
