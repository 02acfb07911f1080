"""Where items come from: a packed .npz file, JSON lines, or a function."""

import importlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np

from .exceptions import FeatureError, ItemError
from .features import FeatureSpace

UNLABELLED = object()
"""The label of an item that has no label."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """An item with the time at which it arrived, for a source that knows it. The deadline runs from then.

    Parameters
    ----------
    item : object
    arrived_ns : int
        By the clock of the loop, which is `time.perf_counter_ns` unless the loop was given another.
    """

    item: Any
    arrived_ns: int


def load_object(reference: str) -> Any:
    """Import ``MODULE:NAME``, with the current folder on the import path, as with ``python -m``.

    Raises
    ------
    ItemError
        If the reference is malformed, or the module or name does not exist.
    """
    module, _, name = reference.partition(":")
    if not module or not name:
        raise ItemError(f"A reference must be MODULE:NAME. Got {reference!r}.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as e:
        raise ItemError(f"{reference!r} must name something importable from {os.getcwd()}. {e}") from e


def space_of(reference: str) -> FeatureSpace:
    """Import the feature space ``MODULE:SPACE``.

    Raises
    ------
    FeatureError
        If the object is not a `FeatureSpace`.
    ItemError
        If the reference is malformed, or the module or name does not exist.
    """
    space = load_object(reference)
    if not isinstance(space, FeatureSpace):
        raise FeatureError(f"{reference!r} must be a polydom_runtime.FeatureSpace. Got {type(space).__name__}.")
    return space


def iterate(source: str) -> Iterator[tuple[Any, Any]]:
    """Return an iterator over (item, label) pairs; the label of an item without one is `UNLABELLED`.

    Parameters
    ----------
    source : str
        A packed ``.npz`` file (see `read_packed`), ``-`` for JSON lines on standard input (one array of numbers in each
        line), or ``MODULE:FUNCTION``: a function without arguments that returns an iterable of items or of
        (item, label) tuples. In place of an item there may be an `Arrived`.

    Raises
    ------
    ItemError
        If the source cannot be read.
    """
    if source == "-":
        return ((item, UNLABELLED) for item in _json_lines(sys.stdin))
    if os.path.exists(source) or ":" not in source:
        items, labels = read_packed(source)
        return zip(items, labels if labels is not None else [UNLABELLED] * len(items), strict=True)
    function = load_object(source)
    if not callable(function):
        raise ItemError(f"{source!r} must be a function that returns items. Got {type(function).__name__}.")
    produced: Iterable[Any] = function()
    return map(_as_pair, produced)  # not a generator, which would be exhausted once its source has raised


def _as_pair(item: Any) -> tuple[Any, Any]:
    return item if isinstance(item, tuple) and len(item) == 2 else (item, UNLABELLED)


def read_packed(file: str | Path) -> tuple[list[np.ndarray[Any, Any]], list[Any] | None]:
    """Read a packed .npz file.

    The items lie end to end in ``signal``; item i is ``signal[offset[i]:offset[i + 1]]``, reshaped to ``shape[i]`` if
    the file has ``shape``. ``label`` is optional. Nothing is unpickled.

    Returns
    -------
    items : list of arrays
    labels : list of int, str or bool, or None

    Raises
    ------
    ItemError
        If the file cannot be read, is not a packed .npz file of plain arrays, or its arrays do not fit each other.
    """
    try:
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as packed:
            arrays = {name: packed[name] for name in ("signal", "offset", "shape", "label") if name in packed}
    except OSError as e:
        raise ItemError(f"{file} must be a readable file, or MODULE:FUNCTION. {e}") from e
    except (ValueError, KeyError, EOFError, AttributeError, BadZipFile) as e:
        raise ItemError(f"{file} must be a packed .npz file of plain arrays (no pickled objects). It is not.") from e
    if missing := {"signal", "offset"} - arrays.keys():
        raise ItemError(f"{file} must hold the arrays 'signal' and 'offset'. Missing: {sorted(missing)}.")
    signal, offset = arrays["signal"], arrays["offset"]
    if offset.ndim != 1 or offset.dtype.kind not in "iu" or len(offset) < 2 or offset[0] < 0:
        raise ItemError(f"'offset' of {file} must hold one integer more than there are items. Got {offset!r:.80}.")
    if (np.diff(offset.astype(np.int64)) < 0).any() or offset[-1] > len(signal):
        raise ItemError(f"'offset' of {file} must rise and end within 'signal' ({len(signal)} entries).")
    items = [signal[a:b] for a, b in pairwise(offset)]
    for name in ("shape", "label"):
        if name in arrays and len(arrays[name]) != len(items):
            raise ItemError(
                f"{name!r} of {file} must have {len(items)} entries, as many as items. Got {len(arrays[name])}."
            )
    if "shape" in arrays:
        try:
            items = [item.reshape(shape) for item, shape in zip(items, arrays["shape"], strict=True)]
        except ValueError as e:
            raise ItemError(f"'shape' of {file} must fit the items. {e}") from e
    return items, arrays["label"].tolist() if "label" in arrays else None


def write_packed(file: str | Path, items: Iterable[np.ndarray[Any, Any]], labels: Iterable[Any] | None = None) -> None:
    """Write items of one dtype in the format of `read_packed`; without ``shape`` if all items are 1-D."""
    items = list(items)
    flat_shapes = all(item.ndim == 1 for item in items)
    arrays: dict[str, Any] = {
        "signal": np.concatenate([item.reshape(-1) for item in items]),
        "offset": np.cumsum([0, *(item.size for item in items)]),
    }
    if not flat_shapes:
        arrays["shape"] = np.array([item.shape for item in items])
    if labels is not None:
        arrays["label"] = np.array(list(labels))
    np.savez(file, **arrays)


def _json_lines(stream: IO[str]) -> Iterator[np.ndarray[Any, Any] | None]:
    for number, line in enumerate(stream, 1):
        if line.strip():
            try:
                yield np.asarray(json.loads(line), dtype=np.float64)
            except (ValueError, TypeError) as e:
                print(f"Line {number} must be a JSON array of numbers. {e}", file=sys.stderr)
                yield None  # without a size, so the class prior answers it: one bad line must not end a stream
