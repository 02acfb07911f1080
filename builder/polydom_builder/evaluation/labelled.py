"""Test items with their labels, sizes and features."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.training.folds import checked_groups
from polydom_builder.training.labels import checked_labels, is_finite
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.causes import shown
from polydom_runtime.exceptions import FeatureError, ItemError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.items.sources import UNLABELLED, samples
from polydom_runtime.measuring.item_sizes import checked_items, checked_size


@dataclass(frozen=True, slots=True)
class Labelled:
    """Test items with their labels, sizes, features and groups."""

    items: Sequence[Any]
    """Shape (n_items,)."""
    labels: Sequence[Any]
    """Shape (n_items,). Classes, or numbers of a regression."""
    sizes: Sequence[float]
    """Shape (n_items,)."""
    rows: NDArray[np.float32]
    """Shape (n_items, sum of widths). All features of the bundle."""
    groups: Sequence[Any] | None = None
    """Shape (n_items,). Items of one group are not independent of each other: intervals are drawn over groups."""

    @classmethod
    def of(
        cls, space: FeatureSpace, items: Iterable[Any], labels: Iterable[Any], groups: Iterable[Any] | None = None
    ) -> "Labelled":
        """Compute the sizes and all features of items; `space` has the features of the bundle only."""
        if not (found := checked_items(items)):
            raise ItemError("There must be items to evaluate a bundle on. Got none.")
        truth = checked_labels(labels, len(found))
        if UNLABELLED in truth:
            raise ItemError(
                f"Each item must have a label, to compare the answer with. Item {truth.index(UNLABELLED)} has none."
            )
        sizes = [checked_size(space, item) for item in found]
        rows = np.stack([_row(space, k, item) for k, item in enumerate(found)])
        return cls(found, truth, sizes, rows, checked_groups(groups, len(found)))

    @classmethod
    def read(cls, space: FeatureSpace, source: str) -> "Labelled":
        """Read the items of a packed file or a function, which a node can read again; their weights are not used."""
        if source == "-":
            raise ItemError("The items must be a packed .npz file or MODULE:FUNCTION, to be read several times. Got -.")
        found = samples(source)
        items, labels, groups = ([getattr(one, name) for one in found] for name in ("item", "label", "group"))
        return cls.of(space, items, labels, None if None in groups else groups)


def check_labels(bundle: Bundle, labels: Sequence[Any]) -> None:
    """Check that labels are such as a bundle answers with: some of its classes, or finite numbers for a regressor."""
    classes = bundle.space.classes
    for k, label in enumerate(labels if not classes else ()):
        if isinstance(label, bool) or not isinstance(label, int | float) or not is_finite(label):
            raise ItemError(f"The bundle answers with numbers: labels must be finite numbers. Item {k} has {label!r}.")
    if classes and not any(isinstance(label, Hashable) and label in classes for label in labels):
        label, known = (f"{shown(one)} ({type(one).__name__})" for one in (labels[0], classes[0]))
        raise ItemError(
            f"The labels must be classes of the bundle, such as {known}. None is. Got {label} for item 0. Convert them."
        )


def _row(space: FeatureSpace, k: int, item: Any) -> NDArray[np.float32]:
    try:
        return space.extract_all(item)
    except FeatureError as e:
        raise FeatureError(f"Item {k}: {e}") from e
