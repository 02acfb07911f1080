"""Values in a file: TensorProto and AttributeProto."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .wire import BYTES, FIXED32, MANY, Field, fields, remembered, unsound, varints

Array = NDArray[Any]

FLOAT, INT32, INT64, TEXTS = 1, 6, 7, 8

DTYPES: Mapping[int, np.dtype[Any]] = {
    FLOAT: np.dtype("<f4"),
    INT32: np.dtype("<i4"),
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
    """Return the name and numbers of a TensorProto, all in the file; or its texts, as objects, where these may be."""
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


MODES = ("LEAF", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""The modes of the nodes of trees."""

_MODE_NAMES: Mapping[bytes, str] = {bytes([9 << 3 | BYTES, len(mode)]) + mode.encode(): mode for mode in MODES}
"""The modes of nodes in trees, as they are in an AttributeProto."""

_MODE = re.compile(b"|".join(map(re.escape, _MODE_NAMES)))
_MODES = re.compile(b"(?:" + _MODE.pattern + b"){1,1000}")
"""Matches many modes at once: reading those of a forest one by one takes most of the time."""

_VALUES: Mapping[int, int] = {1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 8: 9}
"""The field of AttributeProto that holds the value, by the type that it states."""

_SINGLE: Mapping[int, Callable[[Field], Any]] = {
    2: lambda f: f.real,
    3: lambda f: f.number,
    4: lambda f: f.text,
    5: lambda f: tensor_of(f.data)[1],
}


@remembered
def attribute_of(data: memoryview) -> tuple[str, Any, list[memoryview]]:
    """Return the name and the one value of an AttributeProto, and its graphs. Lists may be packed or not."""
    name, kind, value, given = "", 0, None, 0
    texts: list[str] = []
    lists: list[Array] = []
    graphs: list[memoryview] = []
    for f in fields(data, _MODES):
        if f.tag == 1:
            name = f.text
        elif f.tag == 20:
            kind = f.number
        elif f.tag in _VALUES.values():
            if given not in (0, f.tag) or (given and f.tag < 7):
                raise unsound("one value of an attribute", f"several of {name}")
            given = f.tag
            if given == 6:
                graphs.append(f.data)
            elif given == 7:
                lists.append(reals_of(f))
            elif given == 8:
                lists.append(integers_of(f))
            elif f.kind == MANY:
                texts += map(_MODE_NAMES.__getitem__, _MODE.findall(f.many))
            elif given == 9:
                texts.append(f.text)
            else:
                value = _SINGLE[given](f)
        elif f.tag != 13:
            raise unsound("values of attributes that are known", f"field {f.tag} of {name}")
    if given not in (0, _VALUES.get(kind)):
        raise unsound(f"a value of type {kind} as {name}", "another type")
    if kind in (6, 7):
        value = np.concatenate([np.empty(0, np.float32 if kind == 6 else np.int64), *lists])
    elif not given or kind == 8:
        value = {1: 0.0, 2: 0, 3: "", 8: texts}.get(kind)
    return name, value, graphs
