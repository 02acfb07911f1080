"""Features, the steps that they share, the space of their sets, and kinds of items."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.causes import LONGEST_SHOWN, raised, shown
from polydom_runtime.codec.marks import In
from polydom_runtime.exceptions import FeatureError, ItemError

MAX_FEATURES = 60
"""The most features of a bundle and a lattice: a feature set is a bit mask in a signed 64-bit integer."""

MAX_SPACE_FEATURES = 10_000
"""The most features of a space; a pre-selection on the host chooses at most `MAX_FEATURES` of them."""


@dataclass(frozen=True, slots=True)
class Step:
    """Work that several features share, done at most once per item.

    Parameters
    ----------
    name : str
    compute : callable
        ``compute(item)`` returns the value from which the features of this step are computed.
    """

    name: str
    compute: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Feature:
    """A named extractor of `width` finite numbers.

    Parameters
    ----------
    name : str
    extract : callable
        ``extract(item)``, or ``extract(value of step)`` if the feature builds on a step; returns `width` floats.
    width : int
        The number of values that the feature returns.
    step : Step, optional
        The shared work that this feature needs.
    """

    name: str
    extract: Callable[[Any], Any]
    width: int = 1
    step: Step | None = None


class FeatureSpace:
    """The features of one task and the size of its items; imported by both host and node.

    A feature set is a bit mask: bit i stands for feature i.

    Parameters
    ----------
    features : sequence of Feature
        Features with different names. A lattice has at most 60; more need a pre-selection on the host.
    size : callable
        ``size(item)`` returns the size n > 0 of an item; costs grow with it.

    Raises
    ------
    FeatureError
        If there are no features or too many, two names are the same, or a feature is declared wrongly.

    Examples
    --------
    >>> space = FeatureSpace([Feature("mean", np.mean), Feature("ends", lambda x: x[[0, -1]], width=2)], size=len)
    >>> space.mask_of(["ends"])
    2
    >>> space.names_of(3)
    ('mean', 'ends')
    >>> space.extract_all(np.array([1.0, 2.0, 6.0]))
    array([3., 1., 6.], dtype=float32)
    """

    def __init__(self, features: Sequence[Feature], size: Callable[[Any], Any]) -> None:
        self.features = _listed(features)
        self.size = size
        self.names = tuple(f.name for f in self.features)
        self.widths = tuple(f.width for f in self.features)
        _check_features(self)
        self.steps = tuple(dict.fromkeys(f.step for f in self.features if f.step is not None))
        names = [*self.names, *(s.name for s in self.steps)]
        if len(set(names)) != len(names) or not all(isinstance(n, str) and n and n.isprintable() for n in names):
            raise FeatureError(f"Features and steps must have different names of printable characters. Got {names}.")

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        names = ", ".join(self.names)
        return f"<FeatureSpace of {len(self)} features: {names[:LONGEST_SHOWN]}{'...' * (len(names) > LONGEST_SHOWN)}>"

    def part(self, names: Sequence[str]) -> "FeatureSpace":
        """Return the space of some of the features, in the order of `names`."""
        return FeatureSpace([self.features[self.names.index(name)] for name in names], self.size)

    def mask_of(self, names: Iterable[str]) -> int:
        """Return the bit mask of a feature set given by names.

        Raises
        ------
        FeatureError
            If a name is not one of the space's features.
        """
        mask = 0
        for name in names:
            if name not in self.names:
                raise FeatureError(f"A feature set must consist of {self.names}. Got {name!r}.")
            mask |= 1 << self.names.index(name)
        return mask

    def names_of(self, mask: int) -> tuple[str, ...]:
        """Return the names of the features in a set."""
        return tuple(self.names[i] for i in members(mask))

    def column_slices(self) -> tuple[slice, ...]:
        """Return the columns of each feature in a row of `extract_all`."""
        ends = np.cumsum((0, *self.widths)).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))

    def extract_all(self, item: Any) -> NDArray[np.float32]:
        """Return the row of all features of one item, shape ``(sum of widths,)``.

        Raises
        ------
        FeatureError
            If an extractor raises (which it also does if it tries to change the item), or returns a number of values
            other than its width, or a value that is not finite. The message names the feature.
        """
        item = read_only(item)
        row = np.empty(sum(self.widths), dtype=np.float32)
        values: dict[Step, Any] = {}
        for feature, columns in zip(self.features, self.column_slices(), strict=True):
            try:
                source = item
                if (step := feature.step) is not None:
                    if step not in values:
                        values[step] = step.compute(item)
                    source = values[step]
                returned = feature.extract(source)
                found = np.asarray(returned)
            except Exception as e:
                raise FeatureError(f"Feature {feature.name!r} must work on every item. {raised(e)}") from e
            # A node copies what it gets into the row: it drops imaginary parts, reads texts, and fails for a column.
            is_row = found.ndim < 2 or found.shape == (1, feature.width)
            if found.dtype.kind not in "biuf" or not is_row or found.size != feature.width:
                raise FeatureError(
                    f"Feature {feature.name!r} must return {feature.width} real numbers in one row. Got "
                    f"{shown(returned)}, an array of {found.dtype}, of shape {found.shape}, for an item of size "
                    f"{self.size(item)}. Correct what it returns, or its width."
                )
            with np.errstate(over="ignore"):  # then it is not finite
                row[columns] = found.reshape(-1)
            if not np.isfinite(row[columns]).all():
                raise FeatureError(
                    f"Feature {feature.name!r} must return {feature.width} finite numbers. "
                    f"Got {shown(returned)} for an item of size {self.size(item)}. Let it return a finite number in "
                    "such a case, or leave such items out."
                )
        return row


def members(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits of `mask`, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def read_only(item: Any) -> Any:
    """Return the item; an array as a read-only view, so that no feature can change it for the next one."""
    if not isinstance(item, np.ndarray):
        return item
    view = item.view()
    view.flags.writeable = False
    return view


def checked_space(space: object) -> FeatureSpace:
    """Return a feature space; FeatureError if it is something else."""
    if not isinstance(space, FeatureSpace):
        raise FeatureError(f"The space must be a FeatureSpace. Got {shown(space)}. Import the module that has it.")
    return space


def _listed(features: object) -> tuple[Feature, ...]:
    found = tuple(features) if isinstance(features, Iterable) else ()
    if wrong := [f for f in found if not isinstance(f, Feature)] or [features] * (not isinstance(features, Iterable)):
        raise FeatureError(
            f"The features must be a list of Feature objects. Got {shown(wrong[0])}. Write, for example, "
            "FeatureSpace([Feature('mean', np.mean)], size=len)."
        )
    return found


def _check_features(space: FeatureSpace) -> None:
    if not 1 <= len(space) <= MAX_SPACE_FEATURES:
        raise FeatureError(f"A feature space must have 1 to {MAX_SPACE_FEATURES} features. Got {len(space)}.")
    if not callable(space.size):
        raise FeatureError(f"The size must be a function of an item, such as len. Got {shown(space.size)}.")
    for f in space.features:
        is_step = isinstance(f.step, Step) and callable(f.step.compute)
        if not callable(f.extract) or not (f.step is None or is_step):
            raise FeatureError(
                f"Feature {f.name!r} must have a function, and a Step with a function or none. Got {f}. Write "
                "Feature('name', function, step=Step('name', function))."
            )
        if not (isinstance(f.width, int) and f.width >= 1):
            raise FeatureError(f"The width of feature {f.name!r} must be a positive integer. Got {f.width!r}.")


class ItemKind(NamedTuple):
    """The kind of items that are arrays, or lists of arrays or numbers.

    Shapes and types of numbers may differ: a picture of another format is one of the same kind, and JSON turns integers
    into floats.
    """

    ndim: Annotated[int, In(0, 64)]
    is_complex: bool

    def __str__(self) -> str:
        numbers = " of complex numbers" if self.is_complex else ""
        return f"an array of {self.ndim} dimension{'s' * (self.ndim != 1)}{numbers}"


def kind_of(item: Any) -> ItemKind | None:
    """Return the kind of an item; None if it is something else, such as a text, which may be of any form.

    Of a list the first entry counts. Its entries may differ in length.

    >>> kind_of([[1, 2], [3]]), kind_of("text")
    (ItemKind(ndim=2, is_complex=False), None)
    """
    depth = 0
    while isinstance(item, list | tuple) and item:
        item, depth = item[0], depth + 1
    if type(ndim := getattr(item, "ndim", None)) is int:
        return ItemKind(depth + ndim, "complex" in str(getattr(item, "dtype", "")))
    return ItemKind(depth, isinstance(item, complex)) if depth and isinstance(item, int | float | complex) else None


def check_kind(item: Any, kind: ItemKind | None, name: str, like: str) -> None:
    """Check that an item has this kind, or none; for the message, `name` is the item, and `like` others of the kind."""
    if kind and (kind_of(item) or kind) != kind:
        raise ItemError(f"{name} must be {kind}, as {like}. Got {described(item)}.")


def common_kind(items: Sequence[Any]) -> ItemKind | None:
    """Return the kind of all items that have one; `ItemError` if two differ."""
    first = next((k for k, item in enumerate(items) if kind_of(item)), 0)
    kind = kind_of(items[first])
    for k, item in enumerate(items):
        check_kind(item, kind, f"Item {k}", f"item {first} is")
    return kind


def described(item: Any) -> str:
    """Describe an item in a few words.

    >>> described("text")
    "'text'"
    """
    kind = f" of {item.dtype}" if hasattr(item, "dtype") else ""
    return f"an array{kind} of shape {item.shape}" if hasattr(item, "shape") else f"{item!r:.60}"
