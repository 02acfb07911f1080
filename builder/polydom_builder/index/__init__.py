"""Construction of the Poly-Dom index, and the indexes that it is compared with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polydom_builder.lattice.region import QueryRegion
from polydom_runtime.bundles.index import Candidate

from .all_crossings import AllCrossingsIndex
from .envelope import build_index
from .scan import ScanIndex
from .sweep import sweep_index

INDEXES: Mapping[str, Callable[[Sequence[Candidate], QueryRegion], Any]] = {
    "envelope": build_index,
    "sweep": sweep_index,
    "all-crossings": AllCrossingsIndex,
    "scan": lambda candidates, region: ScanIndex(candidates),
}
"""By name; all answer every query of the region alike."""

__all__ = ["INDEXES", "AllCrossingsIndex", "ScanIndex", "build_index", "sweep_index"]
