"""The ratios that benchmarks print, appended to a file: a JSON line each, with commit and machine."""

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polydom_runtime.measuring.conditions import identity

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Ratio:
    """One printed ratio: of what to what, and what it should be."""

    what: str
    ratio: float
    target: str


_noted: list[Ratio] = []


def note(what: str, ratio: float, target: str = "") -> None:
    """Keep a ratio that a benchmark prints."""
    _noted.append(Ratio(what, float(ratio), target))


def taken() -> list[Ratio]:
    """Return the ratios noted since the last call."""
    ratios = _noted.copy()
    _noted.clear()
    return ratios


def commit() -> str:
    """Return the commit that is checked out, with "-dirty" if files differ; "unknown" without git or a repository."""
    command = ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def conditions() -> dict[str, Any]:
    """Return what a ratio may depend on: when, which code, which machine, and how busy it was."""
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": commit(),
        "machine": identity() | {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)},
    }


def append(file: Path, benchmark: str, ratios: Sequence[Ratio], where: Mapping[str, Any]) -> None:
    """Append a line for each ratio; what the file has stays."""
    with open(file, "a", encoding="utf-8") as stream:
        for ratio in ratios:
            stream.write(json.dumps({**where, "benchmark": benchmark, **asdict(ratio)}, ensure_ascii=False) + "\n")
