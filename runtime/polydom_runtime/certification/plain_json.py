"""JSON from a file that may hold anything: finite numbers only, and values of annotated types."""

import json
import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

MAX_DIGITS = 18
"""Of an integer: more digits are no count, and may be no float."""


def plain_json(data: bytes) -> Any:
    """Return the value of a JSON text.

    Raises `ValueError` if it is no JSON, or a number in it is not finite or too long. Raises `RecursionError` if too
    many lists are inside each other.
    """
    return json.loads(data, parse_constant=_number, parse_float=_number, parse_int=_count)


def _number(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"a number that is not finite: {text[:40]}")
    return number


def _count(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def is_of(value: object, kind: Any) -> bool:
    """Tell whether a value, with all that is in it, is of a type as annotations state it; a bool is no number.

    >>> is_of({"p50": 0.5, "p99": None}, Mapping[str, float | None]), is_of(("x",), tuple[int, ...])
    (True, False)
    """
    form, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if form in (Union, UnionType):
        return any(is_of(value, part) for part in parts)
    if form is Literal:
        return value in parts
    if form is Mapping:
        return isinstance(value, dict) and all(is_of(k, parts[0]) and is_of(v, parts[1]) for k, v in value.items())
    if form is tuple:
        wanted = parts[:1] * len(value) if isinstance(value, tuple) and parts[-1] is ... else parts
        return isinstance(value, tuple) and len(value) == len(wanted) and all(map(is_of, value, wanted))
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        fields = get_type_hints(kind)
        return isinstance(value, kind) and all(is_of(getattr(value, name), fields[name]) for name in fields)
    return type(value) is kind or (kind is float and type(value) is int)
