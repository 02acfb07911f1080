"""Packed items: many arrays of one type in an .npz file, with their labels, groups and weights."""

from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polydom_runtime.causes import printable
from polydom_runtime.exceptions import ItemError

ARRAYS = ("signal", "offset", "shape", "label", "group", "weight")
ALIKE = 0.75
"""How like one of these a name must be, by `difflib`, to be taken for it."""

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
    the file has ``shape``. ``label``, ``group`` and ``weight`` are optional. Nothing is unpickled. Other arrays are
    left alone, but ``groups`` without ``group`` is an error: groups would be missed.
    """
    try:
        with open(file, "rb") as stream, np.errstate(all="ignore"), np.load(stream, allow_pickle=False) as packed:
            others = [name for name in packed.files if name not in ARRAYS]
            arrays = {name: _array(packed[name]) for name in ARRAYS if name in packed}
        details = [arrays[name].tolist() if name in arrays else None for name in ARRAYS[3:]]
    except OSError as e:
        raise ItemError(f"{file} must be a readable file, or MODULE:FUNCTION. {e.strerror}.{_beside(file)}") from e
    except Exception as e:  # a broken archive raises many kinds of errors, up to MemoryError, and so does a .npy file
        raise ItemError(
            f"{file} must be a packed .npz file of plain arrays (no pickled objects). It is not. {CURE}"
        ) from e
    if {"signal", "offset"} - arrays.keys():
        there = ", ".join(map(printable, [*arrays, *others][:9])) or "none"
        raise ItemError(f"{file} must have the arrays signal and offset. Got {there:.200}. {CURE}")
    for name in others:
        if (meant := _meant(name)) and meant not in arrays:
            raise ItemError(
                f"{file} must name its arrays {', '.join(ARRAYS)}. Got {printable(name):.60}. Rename it to {meant}."
            )
    signal, offset = arrays["signal"], arrays["offset"]
    if offset.ndim != 1 or offset.dtype.kind not in "iu" or len(offset) < 2 or offset[0] < 0:
        raise ItemError(
            f"The array offset of {file} must hold one integer more than there are items. Got {offset!r:.80}."
        )
    if (np.diff(offset.astype(np.int64)) < 0).any() or offset[-1] > len(signal):
        raise ItemError(f"The array offset of {file} must rise and end within signal ({len(signal)} entries).")
    items = [signal[a:b] for a, b in pairwise(offset)]
    for name in ARRAYS[2:]:
        if name in arrays and (len(arrays[name]) != len(items) or (name in ARRAYS[3:] and arrays[name].ndim > 1)):
            raise ItemError(
                f"The array {name} of {file} must have {len(items)} entries, as many as items. Got an array of shape "
                f"{arrays[name].shape}."
            )
    if "shape" in arrays:
        try:
            items = [item.reshape(shape) for item, shape in zip(items, arrays["shape"], strict=True)]
        except (ValueError, TypeError, OverflowError) as e:
            raise ItemError(f"The array shape of {file} must fit the items. {e}") from e
    return Packed(items, *details)


def _beside(file: str | Path) -> str:
    """Return the question whether another file of the same folder was meant; an empty text if there is none like it."""
    from polydom_runtime.codec.near_names import did_you_mean  # only here: it is about an error

    with suppress(OSError):  # of a folder that may not be listed
        return did_you_mean(Path(file).name, [one.name for one in Path(file).parent.iterdir()])
    return ""


def _meant(name: str) -> str | None:
    """Return the one of `ARRAYS` that a name is like, as ``groups`` and ``sample_weight`` are; None for others."""
    from polydom_runtime.codec.near_names import near_names  # only here: most files have no other arrays

    end = next((known for known in ARRAYS[3:] if name.lower().rstrip("s").endswith(known)), None)
    return end or next(iter(near_names(name, ARRAYS, ALIKE)), None)


def _array(found: Any) -> np.ndarray[Any, Any]:
    if not isinstance(found, np.ndarray) or not found.ndim:  # numpy returns another file as bytes
        raise ValueError(f"Each entry must be an array with a length. Got {found!r:.40}.")
    return found
