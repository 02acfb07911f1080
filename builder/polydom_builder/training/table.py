"""The training table: the features of every item, extracted once and cached."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed
from joblib import hash as content_hash
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.exceptions import FeatureError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.fingerprint import source_fingerprint

from .cache import Cache
from .labels import Targets
from .precision import warn_of_lost_values
from .workers import in_order

CHUNK = 64
"""Number of items that are extracted and cached together."""


@dataclass(frozen=True)
class Table:
    """Features and labels of all items."""

    rows: NDArray[np.float32]
    """Shape (n_items, sum of widths)."""
    classes: NDArray[Any]
    """Shape (n_classes,). Empty for a regression."""
    targets: NDArray[Any]
    """Shape (n_items,). The position of each label in `classes` (int64); for a regression the number to predict
    (float64)."""
    columns: tuple[NDArray[np.intp], ...]
    """The columns of each feature."""
    key: str = field(init=False)
    """Identifies the content, for caching."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", content_hash((self.rows, self.classes.tolist(), self.targets, self.columns)))

    @property
    def labels(self) -> NDArray[Any]:
        """The label, or the number to predict, of each item."""
        result: NDArray[Any] = self.classes[self.targets] if len(self.classes) else self.targets
        return result

    def rows_of(self, features: Iterable[int], items: NDArray[np.intp] | None = None) -> NDArray[np.float32]:
        """Return the columns of some features for some or all items, always in the order of the feature space."""
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *(self.columns[i] for i in sorted(features))])
        rows = self.rows if items is None else self.rows[items]
        return np.ascontiguousarray(rows[:, columns])

    def places_of(self, features: Iterable[int]) -> dict[int, range]:
        """Return the positions of each feature's columns in `rows_of`, in this order."""
        places, end = dict[int, range](), 0
        for i in sorted(features):
            start, end = end, end + len(self.columns[i])
            places[i] = range(start, end)
        return places


def extract_table(
    space: FeatureSpace,
    items: Sequence[Any],
    targets: Targets,
    *,
    n_jobs: int | None,
    memory: Cache,
    progress: Callable[[int], None],
) -> Table:
    """Extract every feature of every item, in parallel, and in chunks that are cached, so that a killed run goes on."""
    extract = memory.cache(_extract_chunk, ignore=["space", "chunk", "first"])
    source = source_fingerprint(space)
    chunks = [list(items[k : k + CHUNK]) for k in range(0, len(items), CHUNK)]
    tasks = (delayed(extract)(space, chunk, source, content_hash(chunk), CHUNK * k) for k, chunk in enumerate(chunks))
    rows = []
    for part in in_order(tasks, n_jobs):
        rows.append(part)
        progress(len(part))
    columns = tuple(np.arange(s.start, s.stop) for s in space.column_slices())
    exact = np.concatenate(rows)
    warn_of_lost_values(space, exact)
    return Table(exact.astype(np.float32), *targets, columns)


def _extract_chunk(space: FeatureSpace, chunk: list[Any], source: str, key: str, first: int) -> Floats:
    rows = []
    for k, item in enumerate(chunk, first):
        try:
            rows.append(space.extract_all(item, np.float64))
        except FeatureError as e:
            raise FeatureError(f"Item {k}: {e}") from e
    return np.stack(rows)
