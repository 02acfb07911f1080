"""The process that watches a worker: a case that hangs or crashes is a finding, and the run goes on after it."""

import os
import select
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

from .worker import ANSWERED, KNOWN, REFUSED, Job, work

SECONDS = 5.0
"""What a case may take of the processor's time, so that it does not matter how busy the machine is."""

STUCK = 120.0
"""Seconds without a word of the worker, after which it waits for something that never comes."""


MEMORY_FOLDER = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where the files of cases are, so that no case waits for a disk."""


class Case(NamedTuple):
    """A run and what came of it."""

    form: str
    seed: int
    run: int
    outcome: str


@dataclass
class Tally:
    """Counts of outcomes, and the findings."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[Case] = field(default_factory=list)

    def add(self, case: Case) -> bool:
        """Count one case, and return whether it is a finding."""
        kind = case.outcome if case.outcome in (ANSWERED, REFUSED) else "finding"
        self.counts[case.form, kind] += 1
        if kind == "finding":
            self.findings.append(case)
        return kind == "finding"

    def __str__(self) -> str:
        kinds = ANSWERED, REFUSED, "finding"
        lines = [f"{'format':<12}" + "".join(f"{kind:>12}" for kind in kinds)]
        for form in sorted({form for form, _ in self.counts}):
            lines.append(f"{form:<12}" + "".join(f"{self.counts[form, kind]:>12,}" for kind in kinds))
        kinds_of_findings = Counter(f"{c.form}: {' '.join(c.outcome.split()[:2])}" for c in self.findings)
        return "\n".join([*lines, *(f"{n:>6} x {what}" for what, n in kinds_of_findings.most_common())])


def fuzz(jobs: Iterable[Job], until: float = float("inf"), seconds: float = SECONDS) -> Iterator[Case]:
    """Run jobs in workers, one after another, and yield every case.

    Parameters
    ----------
    jobs : iterable of Job
    until : float
        The reading of `time.monotonic` at which to stop.
    seconds : float
        What a case may take of the processor's time.
    """
    left = [job for job in jobs if job.start < job.stop]
    for job in left:
        KNOWN[job.form].seeds()  # once, not in each worker
    while left and time.monotonic() < until:
        for case in _of_one_worker(left, until, seconds):
            yield case
            left = _after(left, case)


def _after(jobs: list[Job], case: Case) -> list[Job]:
    """Return what is left of jobs after a case."""
    first, *rest = jobs
    return [first._replace(start=case.run + 1), *rest] if case.run + 1 < first.stop else rest


def _of_one_worker(jobs: list[Job], until: float, seconds: float) -> Iterator[Case]:
    """Yield the cases of a worker up to its end; the one at which it died, if it did, is the last."""
    reader, writer = os.pipe()
    with (
        open(reader, "rb", buffering=0) as stream,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryDirectory(dir=MEMORY_FOLDER) as folder,
    ):
        if not (worker := os.fork()):
            _in_worker(jobs, Path(folder), writer, seconds, errors.fileno())
        os.close(writer)
        began: list[str] | None = None
        for line in _lines(stream, until):
            *words, outcome = line.split(maxsplit=3)
            began = words if outcome == "?" else None
            if began is None:
                yield Case(words[0], int(words[1]), int(words[2]), outcome)
        stopped = time.monotonic() >= until
        if stopped or not select.select([stream], [], [], 0)[0]:  # neither words nor the end of the stream
            os.kill(worker, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
        said = _last(errors, code)
    if stopped:
        return
    if began is None and code:
        raise RuntimeError(f"The seeds must be sound. The worker said: {said}")
    if began is not None:
        yield Case(began[0], int(began[1]), int(began[2]), f"{_death(code)}: {said}")


def _in_worker(jobs: list[Job], folder: Path, writer: int, seconds: float, errors: int) -> NoReturn:
    """Run the jobs in a copy of the watching process, which has imported all that they need, and end it."""
    try:
        os.dup2(errors, 2)
        work(jobs, folder, writer, seconds)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _lines(stream: IO[bytes], until: float) -> Iterator[str]:
    """Yield lines until the stream ends, or nothing comes for too long, or the time is up."""
    rest = b""
    while (left := until - time.monotonic()) > 0.0 and select.select([stream], [], [], min(left, STUCK))[0]:
        if not (data := stream.read(1 << 16)):
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from map(bytes.decode, lines)


def _death(code: int) -> str:
    if code == -signal.SIGPROF:
        return "took too-long"
    if code == -signal.SIGKILL:
        return "stuck"
    return f"crash-{-code}" if code < 0 else f"exit-{code}"


def _last(stream: IO[bytes], code: int) -> str:
    """Return the innermost line of this project in what faulthandler wrote at a signal, or the last line."""
    stream.seek(0)
    lines = stream.read().decode(errors="replace").splitlines()
    ours = [line.strip() for line in lines if code < 0 and "polydom" in line and line.strip().startswith("File")]
    return (ours or lines[-1:] or ["nothing"])[0][-150:]


def saved(case: Case, data: bytes, folder: Path) -> Path:
    """Write the file of a finding, and what came of it, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{case.form}-{case.seed}-{case.run}"
    file.write_bytes(data)
    return file
