"""Numbers in a file: TensorProto, and lists of float32 numbers."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .wire import BYTES, FIXED32, Field, fields, unsound, varints

Array = NDArray[Any]

FLOAT, INT64, TEXTS = 1, 7, 8

DTYPES: Mapping[int, np.dtype[Any]] = {
    FLOAT: np.dtype("<f4"),
    6: np.dtype("<i4"),
    INT64: np.dtype("<i8"),
    9: np.dtype("?"),
    11: np.dtype("<f8"),
}
"""The number types of ONNX that are known, by their numbers in TensorProto.DataType."""

MAX_LENGTH, MAX_DIMENSIONS = 1 << 30, 8
"""The longest axis, since an array without numbers could have any; and the most axes."""


def reals_of(f: Field) -> Array:
    """Return float32 numbers, one or many."""
    if f.kind == FIXED32:
        return np.array([f.real], dtype=np.float32)
    if len(f.data) % 4:
        raise unsound("whole float32 numbers", f"{len(f.data)} bytes")
    return np.frombuffer(f.data, dtype="<f4")


def integers_of(f: Field) -> Array:
    """Return integers, one or many."""
    return varints(f.data) if f.kind == BYTES else np.array([f.number], dtype=np.int64)


def tensor_of(data: memoryview, *, texts: bool = False) -> tuple[str, Array]:
    """Return the name and the numbers of a TensorProto; or its texts, as objects, if they are let in.

    Raises `BundleFormatError` if they are not as many as its shape says, or not all in the file.
    """
    name, dtype, raw = "", None, None
    shape: list[int] = []
    values: list[Array] = []
    for f in fields(data):
        if f.tag == 1:
            shape += integers_of(f).tolist()
        elif f.tag == 2:
            dtype = np.dtype(object) if texts and f.number == TEXTS else DTYPES.get(f.number)
        elif f.tag == 4:
            values.append(reals_of(f))
        elif f.tag in (5, 7):
            values.append(integers_of(f))
        elif f.tag == 8:
            name = f.text
        elif f.tag == 9:
            raw = f.data
        elif f.tag == 10 and f.kind == BYTES and len(f.data) % 8 == 0:
            values.append(np.frombuffer(f.data, dtype="<f8"))
        elif f.tag == 6 and texts:
            values.append(np.array([f.text], dtype=object))
        elif f.tag == 13 or (f.tag == 14 and f.number):
            raise unsound("numbers inside the file", "a reference to another one")
        elif f.tag not in (12, 14):
            raise unsound("numbers of a known type", f"field {f.tag} of a tensor")
    if dtype is None:
        raise unsound("a tensor of a known type", "another type")
    is_text = dtype.kind == "O"
    if raw is None or is_text:
        found: Array = np.concatenate([np.empty(0, dtype), *values]).astype(dtype)
    elif len(raw) % dtype.itemsize:
        raise unsound("whole numbers in a tensor", f"{len(raw)} bytes")
    else:
        found = np.frombuffer(raw, dtype=dtype)
    if len(shape) > MAX_DIMENSIONS or any(not 0 <= n <= MAX_LENGTH for n in shape) or math.prod(shape) != len(found):
        raise unsound(f"a tensor of shape {shape[: MAX_DIMENSIONS + 1]}", f"{len(found)} numbers")
    if not is_text and not np.isfinite(found).all():
        raise unsound("finite numbers", "others")
    return name, found.reshape(shape)
