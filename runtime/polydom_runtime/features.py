"""Features, the steps that they share, the space of their sets, and kinds of items."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from reprlib import repr as short_repr
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


IF_NOT_FINITE = "Let it return a finite number in such a case, or leave such items out"


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
                from polydom_runtime.codec.near_names import one_of  # only here: it is about an error

                raise FeatureError(one_of("A feature", self.names, name))
            mask |= 1 << self.names.index(name)
        return mask

    def names_of(self, mask: int) -> tuple[str, ...]:
        """Return the names of the features in a set."""
        return tuple(self.names[i] for i in members(mask))

    def column_slices(self) -> tuple[slice, ...]:
        """Return the columns of each feature in a row of `extract_all`."""
        ends = np.cumsum((0, *self.widths)).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))

    def extract_all(self, item: Any, dtype: type[np.floating[Any]] = np.float32) -> NDArray[Any]:
        """Return the row of all features of one item, shape ``(sum of widths,)``.

        Models get float32. A row of another type shows what that loses.

        Raises
        ------
        FeatureError
            If an extractor raises (which it also does if it tries to change the item), or returns a number of values
            other than its width, or a value that is not finite. The message names the feature.
        """
        item = read_only(item)
        row = np.empty(sum(self.widths), dtype=dtype)
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
            except BaseException as e:
                if not isinstance(as_failure(e), Exception):
                    raise
                raise FeatureError(f"Feature {feature.name!r} must work on every item. {raised(e)}") from e
            # A node copies what it gets into the row: it drops imaginary parts and masks, reads texts, and fails for a
            # column.
            is_row = found.ndim < 2 or found.shape == (1, feature.width)
            is_row = is_row and found.size == feature.width and not np.any(getattr(returned, "mask", False))
            if found.dtype.kind not in "biuf" or not is_row:
                raise FeatureError(
                    f"Feature {feature.name!r} must return {feature.width} real numbers in one row. Got "
                    f"{shown(returned)}, an array of {found.dtype}, of shape {found.shape}, for an item of size "
                    f"{self.size(item)}. Correct what it returns, or its width."
                )
            with np.errstate(over="ignore"):  # then it is not finite
                row[columns] = found.reshape(-1)
                is_finite = np.isfinite(row[columns].astype(np.float32)).all()
            if not is_finite:
                is_large = np.isfinite(found).all()
                cure = "Divide it: models get float32, which ends at 3e38" if is_large else IF_NOT_FINITE
                raise FeatureError(
                    f"Feature {feature.name!r} must return {feature.width} finite numbers. "
                    f"Got {shown(returned)} for an item of size {self.size(item)}. {cure}."
                )
        return row


def as_failure(error: BaseException) -> BaseException:
    """Return an exception of a feature space's code as one that counts as its failure, unless it is for the program.

    For the program are Ctrl-C and whatever a handler of a signal raises, such as SystemExit: a handler is called with
    the frame that it interrupts, which then is the one before its own. All else that is no `Exception`, such as
    SystemExit of ``sys.exit``, is a failure of the code that raised it.
    """
    if isinstance(error, Exception | KeyboardInterrupt):
        return error
    step = error.__traceback__
    while step is not None:
        before = step.tb_frame.f_back
        for value in step.tb_frame.f_locals.values():
            if before is not None and any(part is before for part in (value if type(value) is tuple else (value,))):
                return error
        step = step.tb_next
    text = f"The code of a feature space must not end the program. It raised {error!r}."
    return FeatureError(text).with_traceback(error.__traceback__)


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


LISTS, NUMBERS = (list, tuple), (int, float, complex)
"""To ask by a tuple takes a third of the time, and a node may ask for each item."""


class ItemKind(NamedTuple):
    """The kind of items that are arrays, or lists of arrays or numbers.

    Shapes and types of numbers may differ: a picture of another format is one of the same kind, and JSON turns integers
    into floats.
    """

    ndim: Annotated[int, In(0, 64)]
    is_complex: bool

    def __str__(self) -> str:
        numbers = " of complex numbers" if self.is_complex else ""
        return f"an array of {self.ndim} dimension{'s' * (self.ndim != 1)}{numbers}" if self.ndim else "a number"


def kind_of(item: Any) -> ItemKind | None:
    """Return the kind of an item; None if it is no numbers, such as a text or an empty array: it may be of any form.

    Of a list the first entry counts that is not empty. Its entries may differ in length.

    >>> kind_of([[1, 2], [3]]), kind_of("text")
    (ItemKind(ndim=2, is_complex=False), None)
    """
    if isinstance(item, LISTS):
        inner = kind_of(next((each for each in item if not _is_empty(each)), None))
        return inner and inner._replace(ndim=inner.ndim + 1)
    if type(ndim := getattr(item, "ndim", None)) is int:
        dtype = getattr(item, "dtype", "")
        if getattr(dtype, "kind", "f") not in "biufc" or getattr(item, "size", None) == 0:
            return None
        return ItemKind(ndim, "complex" in str(dtype))
    return ItemKind(0, isinstance(item, complex)) if isinstance(item, NUMBERS) else None


def _is_empty(entry: Any) -> bool:
    return not entry if isinstance(entry, LISTS) else getattr(entry, "size", None) == 0


def check_kind(item: Any, kind: ItemKind | None, name: str, like: str) -> None:
    """Check that an item has this kind, if one is known; for the message, `like` are others of the kind."""
    if not kind or (found := kind_of(item)) == kind:
        return
    if found is None and not isinstance(item, (*LISTS, str, bytes, np.ndarray)):
        with suppress(Exception):  # of what numpy can make an array of, such as array.array
            found = kind_of(np.asarray(item))
    if found and isinstance(item, LISTS):  # real numbers among complex ones
        found = found._replace(is_complex=found.is_complex or kind.is_complex)
    if found != kind:
        raise ItemError(f"{name} must be {kind}, as {like}. Got {described(item)}.")


def common_kind(items: Sequence[Any]) -> ItemKind | None:
    """Return the kind of all items, None if some have none; `ItemError` if two differ."""
    kinds = [kind_of(item) for item in items]
    first = next((k for k, kind in enumerate(kinds) if kind), 0)
    for k, kind in enumerate(kinds):
        if kind:
            check_kind(items[k], kinds[first], f"Item {k}", f"item {first} is")
    return None if None in kinds else kinds[first]


def described(item: Any) -> str:
    """Describe an item in a few words.

    >>> described("text"), described([0.0] * 1_000_000)
    ("'text'", '[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ...]')
    """
    if not hasattr(item, "shape"):
        return f"{short_repr(item):.60}"
    kind = f" of {item.dtype}" if hasattr(item, "dtype") else ""
    return f"an{'' if math.prod(item.shape) else ' empty'} array{kind} of shape {item.shape}"
