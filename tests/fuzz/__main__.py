"""Reads changed files of all formats, and looks for anything but an answer or the error that says what is wrong.

``python -m tests.fuzz --minutes 60``, or one run again: ``python -m tests.fuzz --format index --seed 3 --run 1234``.
"""

import argparse
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from .formats import FORMATS
from .watching import SECONDS, Tally, fuzz, saved
from .worker import KNOWN, Job, case

BATCH = 500
"""Runs of a format before the next format has its turn."""


def main() -> int:
    """Return 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--format", choices=KNOWN, action="append", help="only this format; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the changes (default 0)")
    parser.add_argument("--run", type=int, help="only this run, with a traceback")
    parser.add_argument("--file", type=Path, help="only this file, such as a finding, with a traceback")
    parser.add_argument("--runs", type=int, default=10**9, help="the number of runs of each format")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the processor's time of a case (default 5)")
    parser.add_argument("--minutes", type=float, default=1.0, help="the time after which no case begins (default 1)")
    parser.add_argument("--findings", type=Path, default=Path("build/fuzz"), help="the folder for files of findings")
    chosen = parser.parse_args()
    forms = chosen.format or list(FORMATS)
    if chosen.run is not None or chosen.file:
        data = chosen.file.read_bytes() if chosen.file else case(forms[0], chosen.seed, chosen.run)
        with tempfile.TemporaryDirectory() as folder:
            KNOWN[forms[0]].use(data, Path(folder))
        return 0
    tally, until = Tally(), time.monotonic() + 60.0 * chosen.minutes
    try:
        for start in count(0, BATCH):
            stop = min(start + BATCH, chosen.runs)
            if start >= stop or time.monotonic() >= until:
                break
            for found in fuzz([Job(form, chosen.seed, start, stop) for form in forms], until, chosen.seconds):
                if tally.add(found):
                    file = saved(found, case(*found[:3]), chosen.findings)
                    print(f"{file}: {found.outcome}", flush=True)
    finally:  # also of a run that is interrupted
        print(tally)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
