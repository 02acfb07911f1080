"""Packed items: many arrays of one type in an .npz file, with their labels, groups and weights."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polydom_runtime.exceptions import ItemError
from polydom_runtime.files import replacing

ARRAYS = ("signal", "offset", "shape", "label", "group", "weight")
CURE = "Write one with polydom_runtime.write_packed, or give MODULE:FUNCTION, a function that returns the items."


class Packed(NamedTuple):
    """The content of a packed file."""

    items: list[np.ndarray[Any, Any]]
    labels: list[Any] | None
    groups: list[Any] | None
    """Items of one group never stand on both sides of a fold."""
    weights: list[Any] | None


def read_packed(file: str | Path) -> Packed:
    """Read a packed .npz file.

    The items lie end to end in ``signal``; item i is ``signal[offset[i]:offset[i + 1]]``, reshaped to ``shape[i]`` if
    the file has ``shape``. ``label``, ``group`` and ``weight`` are optional. Nothing is unpickled.
    """
    try:
        with open(file, "rb") as stream, np.errstate(all="ignore"), np.load(stream, allow_pickle=False) as packed:
            arrays = {name: _array(packed[name]) for name in ARRAYS if name in packed}
        details = [arrays[name].tolist() if name in arrays else None for name in ARRAYS[3:]]
    except OSError as e:
        raise ItemError(f"{file} must be a readable file, or MODULE:FUNCTION. {e}") from e
    except Exception as e:  # a broken archive raises many kinds of errors, up to MemoryError, and so does a .npy file
        raise ItemError(
            f"{file} must be a packed .npz file of plain arrays (no pickled objects). It is not. {CURE}"
        ) from e
    if missing := {"signal", "offset"} - arrays.keys():
        raise ItemError(f"{file} must hold the arrays 'signal' and 'offset'. Missing: {sorted(missing)}. {CURE}")
    signal, offset = arrays["signal"], arrays["offset"]
    if offset.ndim != 1 or offset.dtype.kind not in "iu" or len(offset) < 2 or offset[0] < 0:
        raise ItemError(f"'offset' of {file} must hold one integer more than there are items. Got {offset!r:.80}.")
    if (np.diff(offset.astype(np.int64)) < 0).any() or offset[-1] > len(signal):
        raise ItemError(f"'offset' of {file} must rise and end within 'signal' ({len(signal)} entries).")
    items = [signal[a:b] for a, b in pairwise(offset)]
    for name in ARRAYS[2:]:
        if name in arrays and len(arrays[name]) != len(items):
            raise ItemError(
                f"{name!r} of {file} must have {len(items)} entries, as many as items. Got {len(arrays[name])}."
            )
    if "shape" in arrays:
        try:
            items = [item.reshape(shape) for item, shape in zip(items, arrays["shape"], strict=True)]
        except (ValueError, TypeError, OverflowError) as e:
            raise ItemError(f"'shape' of {file} must fit the items. {e}") from e
    return Packed(items, *details)


def _array(found: Any) -> np.ndarray[Any, Any]:
    if not isinstance(found, np.ndarray) or not found.ndim:  # numpy returns another file as bytes
        raise ValueError(f"Each entry must be an array with a length. Got {found!r:.40}.")
    return found


def write_packed(
    file: str | Path,
    items: Iterable[np.ndarray[Any, Any]],
    labels: Iterable[Any] | None = None,
    groups: Iterable[Any] | None = None,
    weights: Iterable[float] | None = None,
) -> None:
    """Write items of one dtype in the format of `read_packed`; without ``shape`` if all items are 1-D.

    The file is replaced in one step. As numpy does it, a name without ``.npz`` gets it.

    Raises
    ------
    ItemError
        If the items are no arrays, or there are none; if there are not as many labels, groups or weights as items, or
        they are not all numbers or all texts.
    """
    items, path = list(items), Path(file)
    if not items or not all(isinstance(item, np.ndarray) for item in items):
        got = next((type(item).__name__ for item in items if not isinstance(item, np.ndarray)), "none")
        raise ItemError(
            f"The items must be numpy arrays, at least one. Got {got}. Make each one an array (np.asarray)."
        )
    arrays: dict[str, Any] = {
        "signal": np.concatenate([item.reshape(-1) for item in items]),
        "offset": np.cumsum([0, *(item.size for item in items)]),
    }
    if any(item.ndim != 1 for item in items):
        arrays["shape"] = np.array([item.shape for item in items])
    for name, values in zip(ARRAYS[3:], (labels, groups, weights), strict=True):
        if values is not None:
            arrays[name] = _alike(name, list(values), len(items))
    with replacing(path if path.suffix == ".npz" else f"{path}.npz") as stream:
        np.savez(stream, **arrays)


def _alike(name: str, values: list[Any], n_items: int) -> np.ndarray[Any, Any]:
    """Make an array of values of one kind, since 1 and "1" would become equal in it."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in plain}
    if len(plain) != n_items or not (kinds <= {int, float} or kinds in ({str}, {bool})):
        raise ItemError(
            f"There must be one {name} for each item, all numbers, all texts or all booleans. Got {len(plain)} for "
            f"{n_items} items, of {sorted(kind.__name__ for kind in kinds)}."
        )
    return np.array(plain)
