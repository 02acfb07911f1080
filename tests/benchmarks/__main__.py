"""``python -m tests.benchmarks [name ...]``: side by side in one run, printed as ratios; nothing here is asserted."""

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path

from .ratios import append, conditions, taken

NAMES = (
    "lookup",
    "predict",
    "engines",
    "parity",
    "startup",
    "supervised",
    "faults",
    "updates",
    "wakeups",
    "records",
    "search",
    "trainings",
    "indexes",
    "scale",
)


def main(argv: Sequence[str] | None = None) -> None:
    """Run benchmarks one after the other; what is recorded of one is kept if a later one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"all if none is given: {', '.join(NAMES)}")
    parser.add_argument("--record", type=Path, metavar="FILE", help="append a JSON line for each ratio")
    arguments = parser.parse_args(argv)
    for name in arguments.names or NAMES:
        print(f"\n== {name}")
        where = conditions() if arguments.record else {}
        importlib.import_module(f"tests.benchmarks.{name}").main()
        ratios = taken()
        if arguments.record:
            append(arguments.record, name, ratios, where)


if __name__ == "__main__":
    main()
