"""Writing metrics as lines of JSON or as a file for Prometheus: never in the time of an item, and never fatal."""

import errno
import json
import os
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TextIO

from polydom_runtime.exceptions import RecordingError
from polydom_runtime.files import open_kept, replace_file

from .metrics import Metrics
from .prometheus import prometheus_text


class MetricsOutput(Protocol):
    """A destination of metrics."""

    def write(self, metrics: Metrics) -> None:
        """Write the metrics.

        Raises `OSError` if they cannot be written.
        """
        ...


class JsonLines:
    """Adds one line of JSON to a file or a stream at each write.

    A file is opened for each line, so that it can be moved away at any time. A line is written either whole or not at
    all.

    `target`: the file to append to, or the stream. `wall_clock`: seconds since 1970, the field ``time`` of each line.
    """

    def __init__(self, target: str | os.PathLike[str] | TextIO, *, wall_clock: Callable[[], float] = time.time) -> None:
        self._target = target
        self._wall_clock = wall_clock

    def __str__(self) -> str:
        return f"{self._target}" if isinstance(self._target, (str, os.PathLike)) else "the stream of metrics"

    def write(self, metrics: Metrics) -> None:
        """Add a line."""
        line = json.dumps({"time": round(self._wall_clock(), 3), **metrics.as_dict()}) + "\n"
        if isinstance(self._target, (str, os.PathLike)):
            _append(self._target, line.encode())
        else:
            self._target.write(line)
            self._target.flush()


class PrometheusText:
    """Replaces a file for the textfile collector of node_exporter, as a whole at each write.

    Every sample has the label ``node``, the name of the file without ``.prom``: node_exporter merges the files of a
    folder, and the samples of two nodes must differ.

    `path`: in the folder that node_exporter reads.

    Raises `RecordingError` if the name does not end in ``.prom``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        if self._path.suffix != ".prom":
            raise RecordingError(f"A file for node_exporter must be named NAME.prom, others are not read. Got {path}.")
        self._labels: Mapping[str, str] = {"node": self._path.stem}

    def __str__(self) -> str:
        return str(self._path)

    def write(self, metrics: Metrics) -> None:
        """Replace the file."""
        # Not synced: the next metrics come in seconds, and a wait for the disk would take time from the loop.
        replace_file(self._path, prometheus_text(metrics, self._labels).encode("utf-8", "replace"), sync=False)


class Regularly:
    """Writes metrics at regular intervals, in the slack of the loop, and goes on if they cannot be written.

    A write that is due waits for slack of twice the time that writes took lately. While there is no such slack, that
    time is halved after every further interval, so that one slow write does not prevent all later ones.

    `output`: where metrics are written. `every`: seconds from one write, or one failed attempt, to the next. `clock`:
    monotonic seconds. `say`: called with a message at the first failure, and only then.

    `failures`: the number of failed writes.
    """

    def __init__(
        self,
        output: MetricsOutput,
        metrics: Metrics,
        every: float,
        *,
        say: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failures = 0
        self._output = output
        self._metrics = metrics
        self._every = every
        self._say = say
        self._clock = clock
        self._due = clock()
        self._took = 0.0

    def on_slack(self, seconds_left: float) -> bool:
        """Write if a write is due and `seconds_left` are enough; return whether a write was tried."""
        if (now := self._clock()) < self._due:
            return False
        if seconds_left < 2.0 * self._took:
            if now >= self._due + self._every:
                self._took, self._due = 0.5 * self._took, now
            return False
        self.write()
        return True

    def write(self) -> None:
        """Write now; a failure is counted, and the first one is reported."""
        began = self._clock()
        try:
            self._output.write(self._metrics)
        except (OSError, ValueError) as e:  # ValueError from a stream that was closed
            self.failures += 1
            if self.failures == 1:
                self._say(f"{self._output} cannot be written: {e}. Trying again every {self._every:g} s.")
        self._due = (now := self._clock()) + self._every
        self._took = max(now - began, 0.5 * self._took)


def _append(path: str | os.PathLike[str], data: bytes) -> None:
    descriptor = open_kept(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, special=True)
    try:
        before = os.fstat(descriptor)
        if os.write(descriptor, data) < len(data):
            if stat.S_ISREG(before.st_mode):
                os.ftruncate(descriptor, before.st_size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)
