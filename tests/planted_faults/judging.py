"""Which tests find each fault: first those of its room, then, if asked for, all others."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from .copied_tree import MOST_S, CopiedTree, Tests
from .fault import Fault

LEAST_S, SLOWER = 60.0, 4.0
"""Tests that take this number of seconds and this number of times as long as without a fault do not end."""


FURTHER: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("tests/property",), ("--maxfail=3",)),
    ((), ("-n", "2", "--dist", "loadfile", "-x")),
)
"""Tests beyond the room, with options: the laws, then all of ``make test``."""

Run = tuple[int, list[str], float, tuple[str, ...]]
"""The stage, the tests (all if there are none), the seconds that they may take, and options of pytest."""


class Verdict(NamedTuple):
    """Whether a fault is found, as a line of JSON.

    Attributes
    ----------
    fault, room : str
    how : str
        As of `Tests`; empty if nothing found it.
    tests : list of str
        The first tests that failed.
    stage : int
        1 if it was looked for in its room only, or found there; else 2.
    seconds : float
    """

    fault: str
    room: str
    how: str
    tests: list[str]
    stage: int
    seconds: float

    def __str__(self) -> str:
        if not self.how:
            return "not found" if self.stage > 1 else "not found by the room's tests"
        marks = {"tests": "", "does not end": "does not end; ", "collection": "**only in collection**; "}
        return f"{marks[self.how]}{', '.join(self.tests)}".removesuffix("; ")


def tests_of_room(faults: Iterable[Fault], root: Path) -> list[tuple[str, ...]]:
    """Return the tests of the room that some faults share, in the parts in which they are run."""
    return list(dict.fromkeys(tuple(tests) for fault in faults for tests in (fault.near(root), fault.around(root))))


def judged(fault: Fault, tree: CopiedTree, usual_s: float, everything: bool) -> Verdict:
    """Plant a fault and look for it.

    Parameters
    ----------
    fault : Fault
    tree : CopiedTree
    usual_s : float
        The seconds of the tests of its room without a fault.
    everything : bool
        Whether to go on with all tests if those of the room find nothing.
    """
    near, around, limit = fault.near(tree.root), fault.around(tree.root), LEAST_S + SLOWER * usual_s
    steps = [near, around] if len(near) > 1 else [[*near, *around]]  # not a process for doctests only
    runs: list[Run] = [(1, tests, limit, ("--maxfail=3",)) for tests in steps]
    runs += [(2, [*tests], MOST_S, options) for tests, options in FURTHER] if everything else []
    stage, seconds, found = 1, 0.0, Tests("", [], 0.0)
    with tree.planted(fault):
        while runs and not found.how:
            stage, tests, limit, options = runs.pop(0)
            found = tree.run(tests, limit, *options)
            seconds += found.seconds
    return Verdict(fault.name, fault.room, found.how, found.failing, stage, round(seconds, 1))


def read(file: Path) -> list[Verdict]:
    """Return the verdicts in a file; none if it is not there. The last one of each fault counts."""
    lines = file.read_text().splitlines() if file.is_file() else []
    return list({verdict.fault: verdict for verdict in (Verdict(**json.loads(line)) for line in lines)}.values())


def append(file: Path, verdict: Verdict) -> None:
    """Add a verdict to a file."""
    with open(file, "a") as stream:
        stream.write(f"{json.dumps(verdict._asdict())}\n")
        stream.flush()
        os.fsync(stream.fileno())


def table(files: Sequence[Path]) -> str:
    """Return a Markdown table of the verdicts in some files, and the counts."""
    columns = [{verdict.fault: verdict for verdict in read(file)} for file in files]
    rooms = {verdict.fault: verdict.room for column in columns for verdict in column.values()}
    lines = [
        f"| fault | room | {' | '.join(f'found by ({file.stem})' for file in files)} |",
        "| --- " * (2 + len(files)) + "|",
    ]
    for fault, room in rooms.items():
        cells = [str(column[fault]) if fault in column else "-" for column in columns]
        lines.append(f"| {fault} | {room} | {' | '.join(cells)} |")
    for file, column in zip(files, columns, strict=True):
        found = sum(bool(verdict.how) for verdict in column.values())
        lines.append(f"\n{file.stem}: {found} of {len(column)} found.")
    return "\n".join(lines)
