"""The outcome of a command: its exit code, and JSON in the same envelope for every command; see docs/json.md."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import IntEnum
from os import PathLike
from typing import Any

FORMAT = 1
"""It grows when a field of the envelope is left out or changes its meaning, not when fields are added."""


class ExitCode(IntEnum):
    """What the end of a command means; after signal n the code is `AFTER_SIGNAL` + n, such as 130 after Ctrl-C."""

    DONE = 0
    """Done, and nothing is wrong with what was looked at."""

    WRONG = 1
    """Done, and something is wrong: what the command looked at, or what it was given to answer."""

    ERROR = 2
    """Not done: a fault of the command line, a file, the machine or the user's code, in one line on standard error."""

    OPEN = 3
    """Done, without a verdict: neither proven nor refuted."""

    AFTER_SIGNAL = 128
    NOT_READ = 141
    """The reader of the output has gone."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command found."""

    result: Any
    """The document that ``--json`` prints: data that `plain_data` can take."""
    code: int = ExitCode.DONE


def document(command: str, version: str, code: int, **part: Any) -> str:
    """Return the JSON of a command, such as ``polydom inspect``: its ``result`` or its ``error`` in the envelope."""
    head = {"command": command, "version": version, "format": FORMAT, "exit_code": int(code)}
    return json.dumps(head | plain_data(part), indent=2, allow_nan=False)


def plain_data(value: Any) -> Any:
    """Return data as JSON has it: dataclasses and named tuples as objects, numbers that are not finite as null.

    >>> plain_data({"p50": math.nan, 2: (1, ExitCode.WRONG)})
    {'p50': None, '2': [1, 1]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain_data(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): plain_data(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_data(one) for one in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str | PathLike):
        return str(value)
    raise TypeError(f"A value for JSON must be plain data. Got {type(value).__name__}.")
