"""The searches and indexes of the paper, for comparison with ours; only the reproduction needs them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polydom_builder.index import build_index
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.index import Candidate

from .all_crossings import AllCrossingsIndex
from .every_set import expand_all
from .layers import expand_layers
from .printed import expand_as_printed, select_as_printed
from .scan import ScanIndex
from .sweep import sweep_index

INDEXES: Mapping[str, Callable[[Sequence[Candidate], QueryRegion], Any]] = {
    "envelope": build_index,
    "sweep": sweep_index,
    "all-crossings": AllCrossingsIndex,
    "scan": lambda candidates, region: ScanIndex(candidates),
}
"""The indexes by name, ours first; all give the same answer to every query of the region."""

__all__ = [
    "INDEXES",
    "AllCrossingsIndex",
    "ScanIndex",
    "expand_all",
    "expand_as_printed",
    "expand_layers",
    "select_as_printed",
    "sweep_index",
]
