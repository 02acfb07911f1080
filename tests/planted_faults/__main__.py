"""Plants faults into a copy of the code, one at a time, and tells which tests find each.

``python -m tests.planted_faults --out build/faults.jsonl``; an interrupted run goes on where it was. ``--table`` prints
such files side by side.
"""

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from .copied_tree import CopiedTree
from .fault import Fault
from .faults import FAULTS
from .judging import FURTHER, Verdict, append, judged, read, table, tests_of_room

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Return 1 if a fault is not found or the tests of its room fail without it, 2 if one cannot be planted."""
    chosen = _arguments()
    if chosen.table:
        print(table(chosen.table))
        return 0
    if problems := [f"{f.name}: {why} ({f.file})" for f in FAULTS if (why := f.problem(chosen.tree))]:
        print("\n".join(problems), file=sys.stderr)
        return 2
    done = {verdict.fault for verdict in read(chosen.out)} if chosen.out else set()
    rooms: dict[str, list[Fault]] = {}
    for fault in FAULTS:
        if fault.name not in done and (not chosen.only or fault.name in chosen.only):
            rooms.setdefault(fault.room, []).append(fault)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # the tests that run are then ended
    with ExitStack() as stack:
        trees: SimpleQueue[CopiedTree] = SimpleQueue()
        for _ in range(chosen.jobs):
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="planted-", ignore_cleanup_errors=True))
            trees.put(
                tree := CopiedTree(chosen.tree, Path(scratch), [f"--deselect={test}" for test in chosen.deselect])
            )
            print(f"tests import {tree.check_imports()}", flush=True)

        def look(faults: Sequence[Fault]) -> bool:
            tree = trees.get()
            try:
                found = [_told(verdict, chosen.out) for verdict in _verdicts(faults, tree, chosen.all)]
            finally:
                trees.put(tree)
            return len(found) == len(faults) and all(found)

        if chosen.jobs == 1:
            return int(not all([look(faults) for faults in rooms.values()]))
        pool = stack.enter_context(ThreadPoolExecutor(chosen.jobs))
        return int(not all(list(pool.map(look, rooms.values()))))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.planted_faults", description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to plant into (default: this one)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="a file that gets a line of JSON for each fault")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this fault; may be repeated")
    parser.add_argument("--all", action="store_true", help="look with all tests for what those of its room do not find")
    parser.add_argument("--jobs", type=int, default=1, help="the copies that are used side by side (default 1)")
    parser.add_argument("--deselect", metavar="TEST", action="append", default=[], help="a test that fails anyway")
    parser.add_argument("--table", type=Path, nargs="+", metavar="FILE", help="only print the results in some files")
    chosen = parser.parse_args()
    if unknown := set(chosen.only or ()) - {fault.name for fault in FAULTS}:
        parser.error(f"no fault is named {', '.join(sorted(unknown))}")
    return chosen


def _verdicts(faults: Sequence[Fault], tree: CopiedTree, everything: bool) -> Iterator[Verdict]:
    """Judge the faults of one room; none of them if its tests fail anyway."""
    usual = [tree.unaltered(tests) for tests in tests_of_room(faults, tree.root)]
    further = [tree.unaltered(tests, *options) for tests, options in FURTHER if everything]
    if wrong := [run for run in (*usual, *further) if run.how]:
        names = [name for run in wrong for name in run.failing or [run.how]]
        print(f"{faults[0].room}: tests fail without a fault: {', '.join(names)}", flush=True)
        return
    for fault in faults:
        yield judged(fault, tree, sum(run.seconds for run in usual), everything)


def _told(verdict: Verdict, out: Path | None) -> bool:
    """Print a verdict, keep it, and return whether the fault was found."""
    print(f"{verdict.room}: {verdict.fault}: {verdict} ({verdict.seconds:.0f} s)", flush=True)
    if out:
        append(out, verdict)
    return bool(verdict.how)


if __name__ == "__main__":
    sys.exit(main())
