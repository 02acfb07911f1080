"""Raw results on disk: a table is a CSV file, so that figures can be drawn again without the experiment."""

import csv
import json
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polydom_runtime.exceptions import PolyDomError

Value = str | int | float
Row = dict[str, Value]


class ResultsError(PolyDomError, ValueError):
    """Raw results are missing or damaged."""


def save_rows(rows: Sequence[Row], file: Path) -> None:
    """Write a table; all rows have the columns of the first."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def load_rows(file: Path) -> list[Row]:
    """Read a table that `save_rows` wrote.

    Raises
    ------
    ResultsError
        If the file is missing, damaged or without rows.
    """
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            rows = [{k: _value(v) for k, v in row.items()} for row in csv.DictReader(stream)]
    except (OSError, UnicodeDecodeError, csv.Error, TypeError) as e:
        raise ResultsError(f"Figures need the raw results in {file}. {_reason(e)} Run without --redraw first.") from e
    if not rows:
        raise ResultsError(f"Figures need the raw results in {file}. It has no rows. Run without --redraw first.")
    return rows


def save_facts(facts: dict[str, Any], file: Path) -> None:
    """Write the facts of a run: its parameters, and the software and processor that it ran on."""
    here = {"python": platform.python_version(), "numpy": np.__version__, "processor": _processor()}
    file.write_text(json.dumps(facts | here, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_facts(file: Path) -> dict[str, Any]:
    """Read the facts that `save_facts` wrote.

    Raises
    ------
    ResultsError
        If the file is missing or damaged.
    """
    try:
        facts: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise ResultsError(f"Figures need the raw results in {file}. {_reason(e)} Run without --redraw first.") from e
    return facts


def where(rows: Iterable[Row], **columns: Value) -> list[Row]:
    """Return the rows with these values.

    >>> where([{"kind": "cf1", "seed": 0}, {"kind": "cfinf", "seed": 0}], kind="cf1")
    [{'kind': 'cf1', 'seed': 0}]
    """
    return [row for row in rows if all(row[k] == v for k, v in columns.items())]


def column(rows: Iterable[Row], name: str) -> list[float]:
    """Return one column as numbers."""
    return [float(row[name]) for row in rows]


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _reason(e: Exception) -> str:
    return f"{(e.strerror if isinstance(e, OSError) else str(e)) or type(e).__name__}.".replace("..", ".")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
