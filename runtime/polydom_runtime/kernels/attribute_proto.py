"""One attribute of an operator, as it is in a file: AttributeProto."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .tensor_proto import Array, integers_of, reals_of, tensor_of
from .wire import BYTES, MANY, Field, fields, unsound

MODES = ("LEAF", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""What nodes of trees may do."""

_MODE_NAMES: Mapping[bytes, str] = {bytes([9 << 3 | BYTES, len(mode)]) + mode.encode(): mode for mode in MODES}
"""The modes of nodes in trees, as they are in an AttributeProto."""

_MODE = re.compile(b"|".join(map(re.escape, _MODE_NAMES)))
_MODES = re.compile(b"(?:" + _MODE.pattern + b"){1,1000}")
"""As many at once: a forest has so many that reading them one by one takes most of the time."""

_VALUES: Mapping[int, int] = {1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 8: 9}
"""The field of AttributeProto that holds the value, by the type that it states."""

_SINGLE: Mapping[int, Callable[[Field], Any]] = {
    2: lambda f: f.real,
    3: lambda f: f.number,
    4: lambda f: f.text,
    5: lambda f: tensor_of(f.data)[1],
}


def attribute_of(data: memoryview, graphs: list[memoryview]) -> tuple[str, Any]:
    """Return the name and the value of an AttributeProto; graphs go to a list. Lists may be packed or not.

    Raises `BundleFormatError` if it has not one value, of the type that it states.
    """
    name, kind, value, given = "", 0, None, 0
    texts: list[str] = []
    lists: list[Array] = []
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
    return name, value
