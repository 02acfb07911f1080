"""Where items come from: a packed .npz file, JSON lines, or a function."""

import importlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from itertools import islice
from operator import length_hint
from typing import IO, Any, NamedTuple

import numpy as np

from polydom_runtime.causes import raised, report, report_failure, shown
from polydom_runtime.exceptions import FeatureError, ItemError
from polydom_runtime.features import FeatureSpace

UNLABELLED, UNREADABLE = object(), object()
"""Stand for the label of an item that has none, and for a line that is no item."""

MAX_LINE_BYTES = 1 << 26
"""The rest of a longer line is skipped."""

BAD_LINES_SHOWN = 10

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
    module, name = _parts(reference)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as e:  # whatever the user's module does
        absent = isinstance(e, ModuleNotFoundError) and module.startswith(e.name or module)
        remedy = " Start the command in the folder of the module, or install it." if absent else ""
        raise ItemError(f"{reference!r} must name something importable from {os.getcwd()}. {raised(e)}{remedy}") from e


def _parts(reference: object) -> tuple[str, str]:
    """Return the module and the name of a reference; for a path, a call or a dot the message says the right form."""
    if not isinstance(reference, str):
        raise ItemError(f"A reference must be a text MODULE:NAME. Got {shown(reference)}.")
    module, colon, name = reference.rpartition(":")
    if not colon:
        is_path = "/" in reference or reference.endswith(".py")
        module, name = (reference, "NAME") if is_path else reference.rpartition(".")[::2]
    folder, _, file = module.replace("\\", "/").rpartition("/")
    plain = file.removesuffix(".py").lstrip("."), name.removesuffix("()")
    if colon and module and plain == (module, name) and name:
        return module, name
    written = f"Write{'' if colon else ', for example,'} {':'.join(plain) if all(plain) else 'my_module:space'!r}"
    where = f" and start the command in the folder {folder}" if folder not in ("", ".") else ""
    raise ItemError(f"A reference must be MODULE:NAME, and no path. Got {reference!r}. {written}{where}.")


def space_of(reference: str) -> FeatureSpace:
    """Import the feature space ``MODULE:SPACE``."""
    space = load_object(reference)
    if not isinstance(space, FeatureSpace):
        raise FeatureError(f"{reference!r} must be a polydom_runtime.FeatureSpace. Got {type(space).__name__}.")
    return space


class Sample(NamedTuple):
    """An item for training: with its label, the group of items that it belongs to, and its weight."""

    item: Any
    label: Any = UNLABELLED
    group: Any = None
    weight: Any = None


class LabelledItems(Iterator[tuple[Any, Any]]):
    """The (item, label) pairs of a source; not a generator, which would be exhausted once its source has raised."""

    def __init__(self, produced: Iterator[Any]) -> None:
        self._produced = produced

    @property
    def has_length(self) -> bool:
        """Whether it is known to end, as a list does."""
        return length_hint(self._produced) > 0

    def __next__(self) -> tuple[Any, Any]:
        item = next(self._produced)
        item, label = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        return item, UNLABELLED if label is None else label

    def close(self) -> None:
        """Close the source, if it can be closed: a generator then runs its ``finally``."""
        try:
            getattr(self._produced, "close", lambda: None)()
        except Exception as e:  # of the user's code
            report_failure("source", 1, e)


def iterate(source: str) -> LabelledItems:
    """Return an iterator over (item, label) pairs; the label of an item without one is `UNLABELLED`.

    A source is a packed ``.npz`` file, ``-`` for JSON lines on standard input, or ``MODULE:FUNCTION``, which returns an
    iterable of items or (item, label) tuples. An item may be an `Arrived`, or None while there is none.
    """
    if source == "-":
        return LabelledItems(json_lines(None if sys.stdin is None else sys.stdin.buffer))
    if is_function(source):
        return LabelledItems(_produced(source))
    from .packed import read_packed  # not at the top, since a sensor is a function

    items, labels, *_ = read_packed(source)
    return LabelledItems(zip(items, labels if labels is not None else [UNLABELLED] * len(items), strict=True))


def readable(source: str) -> list[Any]:
    """Return the readable items of a source without labels, to measure on; of a sensor the first `MOST_READ`."""
    pairs = iterate(source)
    items = (kept(item) for item, _ in pairs if item is not None and item is not UNREADABLE)
    if not is_function(source) or pairs.has_length:
        return [*items]
    if len(found := [*islice(items, MOST_READ)]) == MOST_READ:
        report(f"{source} may be endless: its first {MOST_READ:,} items are used. A packed file is read as a whole")
    pairs.close()
    return found


def kept(item: Any) -> Any:
    """Return an item to be kept while others come: of what its source may fill again, a copy."""
    if type(item) in (tuple, dict):
        return tuple(map(kept, item)) if type(item) is tuple else {name: kept(item[name]) for name in item}
    return item.copy() if isinstance(item, np.ndarray | list | bytearray | dict) else item


def samples(source: str) -> list[Sample]:
    """Return the items of a source, with the groups and weights of a packed file, or of tuples of three or four."""
    if source == "-":
        return [Sample(*pair) for pair in iterate(source)]
    if is_function(source):
        found = (Sample(*s) if type(s) is tuple and len(s) in (2, 3, 4) else Sample(s) for s in _produced(source))
        return [sample._replace(item=kept(sample.item)) for sample in found]
    from .packed import read_packed

    items, labels, groups, weights = read_packed(source)
    nothing = [None] * len(items)
    return [*map(Sample, items, labels or [UNLABELLED] * len(items), groups or nothing, weights or nothing)]


def is_function(source: str) -> bool:
    """Tell whether a source is ``MODULE:FUNCTION`` and no file."""
    return ":" in source and not os.path.exists(source)


def not_items(given: Any) -> str | None:
    """Describe a value that cannot be several items; None for one that can."""
    flat = isinstance(given, np.ndarray) and given.ndim < 2
    if flat or isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        return f"one array of shape {given.shape}" if flat else type(given).__name__
    return None


def _produced(source: str) -> Iterator[Any]:
    """Call a function for items, and check that it returns neither one item, nor all items and all labels."""
    function = load_object(source)
    if not callable(function):
        raise ItemError(f"{source!r} must be a function that returns items. Got {type(function).__name__}.")
    try:
        produced: Any = function()
    except (Exception, SystemExit) as e:  # of the user's code
        raise ItemError(f"{source!r} must be a function without arguments that returns items. {raised(e)}") from e
    if got := not_items(produced):
        raise ItemError(f"{source!r} must return an iterable of items, such as a list or a generator. Got {got}.")
    if type(produced) is tuple and len(produced) == 2:
        first, second = (len(part) if isinstance(part, Sized) else 0 for part in produced)
        if first == second > 2:
            raise ItemError(f"{source!r} must give one (item, label) after the other. Got all items and all labels.")
    return iter(produced)


def json_lines(stream: IO[bytes] | None) -> Iterator[Any]:
    """Yield the item of each line of a stream: an array, a text, or `UNREADABLE`, which never ends the stream."""
    if stream is None:
        raise ItemError("Standard input must be open. It is closed. Give it a file or a pipe.")
    number = bad = 0
    while True:
        try:
            line = _line(stream)
        except (OSError, ValueError) as e:
            raise ItemError(f"Standard input must be a stream of lines. {e}. Give it a file or a pipe.") from e
        if not line:
            return
        number += 1
        if not line.strip():
            continue
        try:
            item: Any = _item(line)
        except Exception as e:  # whatever is in a line, the stream goes on
            bad, item = bad + 1, UNREADABLE
            if bad <= BAD_LINES_SHOWN:
                more = " Later ones only count." if bad == BAD_LINES_SHOWN else ""
                got = ascii(str(e))[1:-1][:120] or type(e).__name__
                print(f"Line {number} must be a JSON array of numbers, or a text. {got}{more}", file=sys.stderr)
        yield item


def _line(stream: IO[bytes]) -> bytes:
    line = part = stream.readline(MAX_LINE_BYTES)
    while len(part) == MAX_LINE_BYTES and not part.endswith(b"\n"):
        part = stream.readline(MAX_LINE_BYTES)
    return line if part is line else b"too long"  # which is no JSON


def _item(line: bytes) -> Any:
    value = json.loads(line.decode())
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or b'"' in line:
        raise ValueError(f"Got {str(value)[:40]!r}.")
    if b"true" not in line and b"false" not in line:
        return np.asarray(value, dtype=np.float64)
    if (item := np.asarray(value)).dtype != np.bool_:
        raise ValueError(f"Got booleans among numbers, {str(value)[:40]!r}.")
    return item
