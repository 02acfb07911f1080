"""The outcome of a command as JSON, in the same envelope for every command; see docs/json.md."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from os import PathLike
from typing import Any

from .exit_code import ExitCode

FORMAT = 1
"""It grows when a field of the envelope is left out or changes its meaning, not when fields are added."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command found."""

    result: Any
    """What ``--json`` prints: data that `plain` can take."""
    code: int = ExitCode.DONE
    """The exit code."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """What is around each outcome."""

    command: str
    """The program and the command, such as ``polydom inspect``."""
    version: str
    """Of the program."""

    def of(self, outcome: Outcome) -> str:
        """Return a JSON document with a result."""
        return self._text(outcome.code, result=plain(outcome.result))

    def of_error(self, kind: str, message: str, code: int) -> str:
        """Return a JSON document with an error: the name of its class, and its message."""
        return self._text(code, error={"type": kind, "message": message, "exit_code": int(code)})

    def _text(self, code: int, **part: Any) -> str:
        head = {"command": self.command, "version": self.version, "format": FORMAT, "exit_code": int(code)}
        return json.dumps(head | part, indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """Return data as JSON has it: dataclasses and named tuples as objects, numbers that are not finite as null.

    >>> plain({"p50": math.nan, 2: (1, ExitCode.WRONG)})
    {'p50': None, '2': [1, 1]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str | PathLike):
        return str(value)
    raise TypeError(f"A value for JSON must be plain data. Got {type(value).__name__}.")
