"""Processes that keep the machine busy, to see how many answers are late under load.

This file is also the script of those processes: they import only the standard library, and end with the process
that started them, however that one ends.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

MAX_PROCESSES = 1024
COPIED_BYTES = 64_000_000
"""More bytes than the caches of a node hold."""

CHUNK_BYTES = 4_000_000
READY_LINE = b"busy\n"


class Load(NamedTuple):
    """A number of busy processes of one kind."""

    kind: str
    """The kind of load, one of `LOAD_KINDS`."""
    processes: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.processes}"


def loads(text: str) -> tuple[Load, ...]:
    """Return the loads that a text stands for; a type for argparse.

    >>> loads("cpu:2,memory:1")
    (Load(kind='cpu', processes=2), Load(kind='memory', processes=1))
    """
    found = []
    for part in text.split(","):
        kind, _, count = part.partition(":")
        if kind not in LOAD_KINDS or not count.isdecimal() or not 0 < int(count) <= MAX_PROCESSES:
            raise argparse.ArgumentTypeError(
                f"must be KIND:PROCESSES, several with commas, of the kinds {', '.join(LOAD_KINDS)}, "
                f"such as cpu:2,memory:1. Got {text}"
            )
        found.append(Load(kind, int(count)))
    return tuple(found)


class UnderLoad:
    """Keeps the machine busy within a ``with`` block, by processes that have the priority of this process."""

    def __init__(self, parts: Sequence[Load] = ()) -> None:
        self._parts = parts
        self.processes: list[tuple[str, subprocess.Popen[bytes]]] = []

    def __enter__(self) -> "UnderLoad":
        try:
            for kind, processes in self._parts:
                self.processes += [(kind, _started(kind)) for _ in range(processes)]
            for kind, process in self.processes:
                assert process.stdout is not None
                if process.stdout.readline() != READY_LINE:
                    raise _stopped(kind, process)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        ended = [_stopped(*entry) for entry in self.processes if entry[1].poll() is not None]
        self._stop()
        if ended and error is None:
            raise ended[0]

    def _stop(self) -> None:
        for _, process in self.processes:
            process.kill()
        for _, process in self.processes:
            process.communicate()
        self.processes.clear()


def _started(kind: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-I", "-S", __file__, kind, str(os.getpid())]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _stopped(kind: str, process: "subprocess.Popen[bytes]") -> Exception:
    from polydom_runtime.exceptions import CertificateError  # not at the top: there is no package in the processes

    said = process.communicate()[1].decode(errors="replace").strip().splitlines() or ["no message"]
    return CertificateError(
        f"A process that keeps the machine busy ({kind}) must go on until it is stopped. It ended with code "
        f"{process.returncode}: {said[-1]}. Free memory or disk space, or choose another load."
    )


def compute() -> Iterator[None]:
    """Keep a core busy with arithmetic."""
    x = 1
    while True:
        for _ in range(50_000):
            x = (x * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        yield


def copy_memory() -> Iterator[None]:
    """Copy more memory than caches hold, again and again."""
    source, target = memoryview(bytearray(b"\1" * COPIED_BYTES)), memoryview(bytearray(COPIED_BYTES))
    while True:
        for start in range(0, COPIED_BYTES, CHUNK_BYTES):
            target[start : start + CHUNK_BYTES] = source[start : start + CHUNK_BYTES]
        source, target = target, source
        yield


def write_disk() -> Iterator[None]:
    """Write an unnamed temporary file and force it onto the disk, again and again."""
    data = os.urandom(CHUNK_BYTES)
    with tempfile.TemporaryFile(buffering=0) as file:
        while True:
            file.seek(0)
            file.write(data)
            os.fsync(file.fileno())
            yield


LOAD_KINDS = {"cpu": compute, "memory": copy_memory, "disk": write_disk}


def main(kind: str, parent: int) -> None:
    """Do one kind of work until the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this
    work = LOAD_KINDS[kind]()
    next(work)
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), READY_LINE)
    while os.getppid() == parent:  # the parent of an orphan is another process
        next(work)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
