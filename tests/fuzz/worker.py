"""The process that runs cases one after another, and says which one it is at, so that its death can be explained."""

import contextlib
import faulthandler
import io
import logging
import os
import resource
import signal
import traceback
import warnings
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

from polydom_runtime.exceptions import PolyDomError

from .faults import FAULTS
from .formats import FORMATS, Format

MEMORY = 200 << 20
"""What a case may take of memory, in bytes."""

HARD_MEMORY = 2 << 30
"""The address space of a case, so that no case takes the memory of the machine."""

ANSWERED, REFUSED = "answered", "refused"

KNOWN = {**FORMATS, **FAULTS}


class Job(NamedTuple):
    """Some runs of one seed over one format."""

    form: str
    seed: int
    start: int
    stop: int


def case(form: str, seed: int, run: int) -> bytes:
    """Return the file of one run of one seed."""
    rng = Random(f"{form}/{seed}/{run}")
    return KNOWN[form].mutated(rng.choice(KNOWN[form].seeds()), rng)


def work(jobs: Iterable[Job], folder: Path, descriptor: int, seconds: float) -> None:
    """Run cases; write a line before and a line after each."""
    _limit()
    for form, seed, start, stop in jobs:
        for data in KNOWN[form].seeds():  # what is imported and kept at first use is not of a case
            _use(KNOWN[form], data, folder)
        base = _memory()
        for run in range(start, stop):
            os.write(descriptor, f"{form} {seed} {run} ?\n".encode())
            found = outcome(KNOWN[form], case(form, seed, run), folder, seconds)
            if (more := _memory() - base) > MEMORY:
                found = f"memory: {more >> 20} MiB, then {found}"
            os.write(descriptor, f"{form} {seed} {run} {' '.join(found.split())}\n".encode())
            if more > MEMORY:
                return  # the next cases need a process without this peak


def outcome(form: Format, data: bytes, folder: Path, seconds: float) -> str:
    """Return what came of a file: `ANSWERED`, `REFUSED`, or what must not happen, in one line."""
    seen: list[str] = []
    warnings.showwarning = lambda text, kind, file, line, *_: seen.append(f"{kind.__name__} {_at(file, line)} {text}")
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        _use(form, data, folder)
        found = ANSWERED
    except PolyDomError:
        found = REFUSED
    except BaseException as e:  # whatever it is, it is a finding
        frames = traceback.extract_tb(e.__traceback__)
        last = [f for f in frames if "polydom" in f.filename][-1:] or frames[-1:]
        found = f"{type(e).__name__} {_at(last[0].filename, last[0].lineno or 0)} {e!s:.200}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return seen[0] if seen else found


def _use(form: Format, data: bytes, folder: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        form.use(data, folder)


def _at(file: str, line: int) -> str:
    return f"{'/'.join(Path(file).parts[-2:])}:{line}"


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _limit() -> None:
    faulthandler.enable(file=2)
    faulthandler.register(signal.SIGPROF, file=2, chain=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable()
    warnings.simplefilter("always")
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + HARD_MEMORY, size + HARD_MEMORY))
