"""Where items come from: a packed .npz file, JSON lines, or a function."""

import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from itertools import islice
from operator import length_hint
from typing import Any, NamedTuple

import numpy as np

from polydom_runtime.causes import raised, report, report_failure
from polydom_runtime.exceptions import FeatureError, ItemError
from polydom_runtime.features import FeatureSpace

from . import UNLABELLED as UNLABELLED
from . import UNREADABLE as UNREADABLE

MOST_READ = 1000
"""Items of a source that may be endless, such as a sensor, that are read to measure on."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """An item with the time at which it arrived, for a source that knows it. The deadline runs from then."""

    item: Any
    arrived_ns: int
    """The arrival by the clock of the loop, in integer nanoseconds: that is `time.perf_counter_ns` unless the loop was
    given another. For a time of another clock see `Predictor.predict_one`."""


def load_object(reference: str) -> Any:
    """Import ``MODULE:NAME``, with the current folder on the import path, as with ``python -m``."""
    if not is_reference(reference):
        from .wrong_references import malformed  # only here, as below: it is about errors

        raise ItemError(malformed(reference))
    module, _, name = reference.rpartition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as e:  # whatever the user's module does
        from .wrong_references import not_importable

        raise ItemError(not_importable(module, name, e)) from e


def is_reference(reference: object) -> bool:
    """Tell whether a text is written as ``MODULE:NAME``, and not as a path or a call."""
    module, _, name = reference.rpartition(":") if isinstance(reference, str) else ("", "", "")
    return bool(module and name) and not (
        "/" in module or "\\" in module or module.startswith(".") or module.endswith(".py") or name.endswith("()")
    )


def space_of(reference: str) -> FeatureSpace:
    """Import the feature space ``MODULE:SPACE``."""
    space = load_object(reference)
    if not isinstance(space, FeatureSpace):
        from .wrong_references import no_space

        raise FeatureError(no_space(reference, space))
    return space


class Sample(NamedTuple):
    """An item for training: with its label, the group of items that it belongs to, and its weight."""

    item: Any
    label: Any = UNLABELLED
    group: Any = None
    weight: Any = None

    @classmethod
    def of(cls, given: Any) -> "Sample":
        """Return what a function gave: an item, or a tuple (item, label), (item, label, group) or with a weight."""
        sample = cls(*given) if type(given) is tuple and 2 <= len(given) <= len(cls._fields) else cls(given)
        return sample._replace(label=UNLABELLED) if sample.label is None else sample


class LabelledItems(Iterator[tuple[Any, Any]]):
    """The (item, label) pairs of a source; not a generator, which would be exhausted once its source has raised."""

    def __init__(self, produced: Iterator[Any]) -> None:
        self._produced = produced

    @property
    def has_length(self) -> bool:
        """Whether it is known to end, as a list does."""
        return length_hint(self._produced) > 0

    def __next__(self) -> tuple[Any, Any]:
        return Sample.of(next(self._produced))[:2]

    def close(self) -> None:
        """Close the source, if it can be closed: a generator then runs its ``finally``."""
        try:
            getattr(self._produced, "close", lambda: None)()
        except Exception as e:  # of the user's code
            report_failure("source", 1, e)


def iterate(source: str) -> LabelledItems:
    """Return an iterator over (item, label) pairs; the label of an item without one is `UNLABELLED`.

    A source is a packed ``.npz`` file, ``-`` for JSON lines on standard input, or ``MODULE:FUNCTION``, which returns an
    iterable of items or tuples; see `Sample.of`. An item may be an `Arrived`, or None while there is none.
    """
    if source == "-":
        from .json_lines import json_lines  # not at the top, as below, since a sensor is a function

        return LabelledItems(json_lines(None if sys.stdin is None else sys.stdin.buffer))
    if is_function(source):
        return LabelledItems(_produced(source))
    from .packed import read_packed

    items, labels, *_ = read_packed(source)
    return LabelledItems(zip(items, labels if labels is not None else [UNLABELLED] * len(items), strict=True))


def bare_items(pairs: Iterable[tuple[Any, Any]]) -> Iterator[Any]:
    """Yield the items without labels and times of arrival, to be kept; what is no item is left out."""
    return (kept(bare(item)) for item, _ in pairs if item is not None and item is not UNREADABLE)


def bare(item: Any) -> Any:
    """Return an item without its time of arrival."""
    return item.item if isinstance(item, Arrived) else item


def readable(source: str) -> list[Any]:
    """Return the readable items of a source without labels, to measure on; of a sensor the first `MOST_READ`."""
    pairs = iterate(source)
    if not is_function(source) or pairs.has_length:
        return [*bare_items(pairs)]
    if len(found := [*islice(bare_items(pairs), MOST_READ)]) == MOST_READ:
        report(f"{source} may be endless: its first {MOST_READ:,} items are used. A packed file is read as a whole")
    pairs.close()
    return found


def kept(item: Any) -> Any:
    """Return an item to be kept while others come: of what its source may fill again, a copy."""
    if type(item) in (tuple, dict):
        return tuple(map(kept, item)) if type(item) is tuple else {name: kept(item[name]) for name in item}
    return item.copy() if isinstance(item, np.ndarray | list | bytearray | dict) else item


def samples(source: str) -> list[Sample]:
    """Return the readable items of a source, with labels, groups and weights, without times of arrival."""
    if source != "-" and not is_function(source):
        from .packed import read_packed

        items, labels, groups, weights = read_packed(source)
        nothing = [None] * len(items)
        return [*map(Sample, items, labels or [UNLABELLED] * len(items), groups or nothing, weights or nothing)]
    found = (Sample(*pair) for pair in iterate(source)) if source == "-" else map(Sample.of, _produced(source))
    read = (one for one in found if one.item is not None and one.item is not UNREADABLE)
    return [one._replace(item=kept(bare(one.item))) for one in read]


def is_function(source: str) -> bool:
    """Tell whether a source is ``MODULE:FUNCTION`` and no file."""
    return ":" in source and not os.path.exists(source)


def not_items(given: Any) -> str | None:
    """Describe a value that cannot be several items; None for one that can."""
    flat = isinstance(given, np.ndarray) and given.ndim < 2
    if flat or isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        from .wrong_references import kind_of  # only here, as below: it is about errors

        return f"one array of shape {given.shape}" if flat else kind_of(given)
    return None


def _produced(source: str) -> Iterator[Any]:
    """Call a function for items, and check that it returns neither one item, nor all items and all labels."""
    function = load_object(source)
    if not callable(function):
        from .wrong_references import kind_of

        raise ItemError(f"{source} must be a function that returns items. Got {kind_of(function)}.")
    try:
        produced: Any = function()
    except (Exception, SystemExit) as e:  # of the user's code
        raise ItemError(f"{source} must be a function without arguments that returns items. {raised(e)}") from e
    if got := not_items(produced):
        raise ItemError(f"{source} must return an iterable of items, such as a list or a generator. Got {got}.")
    if type(produced) is tuple and len(produced) == 2:
        first, second = (len(part) if isinstance(part, Sized) else 0 for part in produced)
        if first == second > 2:
            raise ItemError(f"{source} must give one (item, label) after the other. Got all items and all labels.")
    return iter(produced)
