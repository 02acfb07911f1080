"""The training table: the features of every item, extracted once and kept."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Memory, Parallel, delayed
from joblib import hash as content_hash
from numpy.typing import NDArray

from polydom_runtime.features import FeatureSpace
from polydom_runtime.fingerprint import source_fingerprint

from .exceptions import TrainingError

CHUNK = 64


@dataclass(frozen=True)
class Table:
    """Features and labels of all items.

    Parameters
    ----------
    rows : float32 array of shape (n_items, sum of widths)
    classes : array of shape (n_classes,)
    codes : int64 array of shape (n_items,)
        The label of each item as a position in `classes`.
    columns : tuple of int arrays
        The columns of each feature.
    """

    rows: NDArray[np.float32]
    classes: NDArray[Any]
    codes: NDArray[np.int64]
    columns: tuple[NDArray[np.intp], ...]
    key: str = field(init=False)
    """Identifies the content, for caching."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", content_hash((self.rows, self.classes.tolist(), self.codes, self.columns)))

    def rows_of(self, features: Iterable[int], items: NDArray[np.intp] | None = None) -> NDArray[np.float32]:
        """Return the columns of some features, in their order, of some or all items."""
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *(self.columns[i] for i in features)])
        rows = self.rows if items is None else self.rows[items]
        return np.ascontiguousarray(rows[:, columns])


def extract_table(
    space: FeatureSpace,
    items: Sequence[Any],
    labels: Sequence[Any],
    *,
    n_jobs: int | None,
    memory: Memory,
    progress: Callable[[int], None],
) -> Table:
    """Extract every feature of every item, in parallel and chunk by chunk, so that a killed run goes on.

    Raises
    ------
    FeatureError
        If a feature fails on an item.
    TrainingError
        If items and labels do not match, or there are fewer than two classes.
    """
    labels = list(labels)
    if len(items) != len(labels):
        raise TrainingError(f"There must be one label for each item. Got {len(items)} items and {len(labels)} labels.")
    try:
        classes, codes = np.unique(np.asarray(labels).reshape(len(items)), return_inverse=True)
    except (TypeError, ValueError) as e:
        raise TrainingError(f"The labels must be one integer, string or boolean an item. Got {labels[:5]}.") from e
    if not all(type(label) in (int, str, bool) for label in classes.tolist()):
        raise TrainingError(f"The labels must be integers, strings or booleans. Got {classes[:5].tolist()}.")
    if len(classes) < 2:
        raise TrainingError(f"The labels must be of at least two classes. Got {classes.tolist()}.")
    extract = memory.cache(_extract_chunk, ignore=["space", "chunk"])
    source = source_fingerprint(space)
    chunks = [list(items[k : k + CHUNK]) for k in range(0, len(items), CHUNK)]
    tasks = (delayed(extract)(space, chunk, source, content_hash(chunk)) for chunk in chunks)
    rows = []
    for part in Parallel(n_jobs=n_jobs, return_as="generator")(tasks):
        rows.append(part)
        progress(len(part))
    columns = tuple(np.arange(s.start, s.stop) for s in space.column_slices())
    return Table(np.concatenate(rows), classes, codes.astype(np.int64), columns)


def _extract_chunk(space: FeatureSpace, chunk: list[Any], source: str, key: str) -> NDArray[np.float32]:
    return np.stack([space.extract_all(item) for item in chunk])
