"""Writing metrics as lines of JSON or in Prometheus' text format: never in the time of an item, and never fatal."""

import errno
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from polydom_runtime.exceptions import RecordingError
from polydom_runtime.files import open_kept, replace_file
from polydom_runtime.histogram import Histogram

from .metrics import TIME_QUANTILES, Metrics, known_as

if TYPE_CHECKING:
    from polydom_runtime.learning.summary import MovedUnit

EDGES_NS = tuple(step << k for k in range(13, 33) for step in (2, 3))
"""Two buckets for each factor of 2, from 16 µs to 13 s, at edges of the histogram's buckets: counts are exact."""

MQTT_HELP = {
    "published": "Answers that the broker has.",
    "dropped": "Answers that were not published, and will not be.",
    "pending": "Answers that wait for the broker.",
    "reconnects": "Connections to the broker after the first.",
}

Samples = Iterator[tuple[str, Mapping[str, str], float]]
"""Samples of a metric: the suffix of its name, labels, value."""


T_contra = TypeVar("T_contra", contravariant=True)
T = TypeVar("T")


class Output(Protocol[T_contra]):
    """A destination of something, such as metrics."""

    def write(self, content: T_contra, /) -> None:
        """Write it; OSError if that fails."""
        ...


MetricsOutput = Output[Metrics]


class Stream(Protocol):
    """A stream of text; `flush` is called after each line."""

    def write(self, text: str, /) -> object: ...  # noqa: D102
    def flush(self) -> object: ...  # noqa: D102


class JsonLines:
    """Adds one line of JSON, whole or not at all, to a file or a stream at each write.

    A file is opened for each line, so that it can be moved away at any time.
    """

    def __init__(self, target: str | os.PathLike[str] | Stream, *, wall_clock: Callable[[], float] = time.time) -> None:
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

    Every sample has the name of the file as its label ``node``: node_exporter merges files, and nodes must differ.
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
        # Not synced: a wait for the disk would take time from the loop, and the next metrics come in seconds.
        replace_file(self._path, prometheus_text(metrics, self._labels).encode("utf-8", "replace"), sync=False)


class Regularly(Generic[T]):
    """Writes metrics every `every` seconds, in the slack of the loop; the first failure is said, and all are counted.

    A write that is due waits for slack of twice the time that writes took lately, at first `expected` seconds. While
    there is no such slack, that time is halved after every further interval, so that one slow write does not prevent
    all later ones.
    """

    def __init__(
        self,
        output: Output[T],
        metrics: T,
        every: float,
        *,
        expected: float = 0.0,
        say: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failures = 0
        self._output, self._metrics, self._every, self._say, self._clock = output, metrics, every, say, clock
        self._due, self._took = clock(), expected

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


def prometheus_text(metrics: Metrics, labels: Mapping[str, str] | None = None) -> str:
    """Return the metrics in the text format, every sample with these labels, times in seconds."""
    lines = []
    for name, kind, text, samples in _families(metrics):
        lines += [f"# HELP polydom_{name} {text}", f"# TYPE polydom_{name} {kind}"]
        for suffix, own, value in samples:
            pairs = ",".join(f'{k}="{escaped(v)}"' for k, v in {**(labels or {}), **own}.items())
            lines.append(f"polydom_{name}{suffix}{{{pairs}}} {_number(value)}")
    return "\n".join(lines) + "\n"


def escaped(value: str) -> str:
    r"""Return a label value with backslashes, quotes and line ends escaped.

    >>> escaped('C:\\ "new"\n')
    'C:\\\\ \\"new\\"\\n'
    """
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _families(metrics: Metrics) -> Iterator[tuple[str, str, str, Samples]]:
    """Yield name, type, help and samples of each metric."""
    watched, stages = metrics.watched, dict(zip(metrics.names, metrics.stages, strict=True))
    failures, out = watched.failures, {name: float(name in watched.out) for name in metrics.names}
    yield "bundle_info", "gauge", "The bundle, by its labels.", iter([("", known_as(watched.bundle), 1.0)])
    yield "items_total", "counter", "Items answered.", _one(metrics.elapsed.count)
    yield "deadline_misses_total", "counter", "Answers after the deadline.", _one(metrics.misses)
    yield "abstained_total", "counter", "Answers that were withheld, since they were unsure.", _one(metrics.abstained)
    yield "answers_total", "counter", "Answers by feature set.", _each("features", metrics.answers)
    yield "reasons_total", "counter", "Answers by reason.", _each("reason", metrics.reasons)
    if changes := metrics.bundle_changes:
        yield "bundle_changes_total", "counter", "New bundles by what became of them.", _each("outcome", changes)
    for name, n in metrics.publishing.items():
        kind = "gauge" if name == "pending" else "counter"
        yield f"mqtt_{name}{'' if kind == 'gauge' else '_total'}", kind, MQTT_HELP[name], _one(n)
    yield "elapsed_seconds", "histogram", "From the arrival of the item to the answer.", _buckets(metrics.elapsed)
    yield "elapsed_max_seconds", "gauge", "The longest of all.", _one(metrics.elapsed.longest_ns / 1e9)
    yield "waited_seconds", "summary", "From the arrival of the item to the call.", _summary(metrics.waited, {})
    yield "feature_seconds", "summary", "From a feature's start to the next one or the model.", _summaries(stages)
    yield "model_seconds", "summary", "From the start of the model to the answer.", _summary(metrics.model, {})
    yield "deadline_seconds", "gauge", "The deadline.", _one(watched.deadline)
    yield "slowdown_ratio", "gauge", "How much slower than measured at the last item.", _one(metrics.slowdown)
    yield "slowdown_max_ratio", "gauge", "How much slower at worst.", _one(metrics.largest_slowdown)
    if (learning := metrics.learning) is not None:
        yield "margin_ratio", "gauge", "The factor on planned times that keeps the promise.", _one(learning.margin)
        late = {"work": learning.late - learning.beyond, "pause": learning.paused, "beyond the margin": learning.beyond}
        yield "late_total", "counter", "Late answers by cause.", _each("cause", late)
        yield "plans_total", "counter", "Plans that were laid out for learned times.", _one(learning.plans)
        yield "tried_units_total", "counter", "Units that were tried outside of answers.", _one(learning.tried)
        yield "moved_ratio", "gauge", "Times of units that moved, divided by the shipped ones.", _moved(learning.moved)
    yield "feature_failures", "gauge", "Failures in a row.", _each("feature", {n: failures.get(n, 0) for n in out})
    yield "feature_out", "gauge", "1 while a feature is left out after failures.", _each("feature", out)


def _one(value: float) -> Samples:
    yield "", {}, value


def _each(label: str, values: Mapping[str, float]) -> Samples:
    for key, value in values.items():
        yield "", {label: key}, value


def _moved(units: "Sequence[MovedUnit]") -> Samples:
    for one in units:
        yield "", {"regime": one.regime, "unit": one.unit}, one.ratio


def _buckets(histogram: Histogram) -> Samples:
    count = histogram.count
    for edge_ns, below in zip(EDGES_NS, histogram.counts_below(EDGES_NS), strict=True):
        yield "_bucket", {"le": _number((edge_ns - 1) / 1e9)}, below  # durations are whole nanoseconds: below the edge
    yield "_bucket", {"le": "+Inf"}, count
    yield "_sum", {}, histogram.total_ns / 1e9
    yield "_count", {}, count


def _summaries(histograms: Mapping[str, Histogram]) -> Samples:
    for feature, histogram in histograms.items():
        yield from _summary(histogram, {"feature": feature})


def _summary(histogram: Histogram, labels: Mapping[str, str]) -> Samples:
    shares = list(TIME_QUANTILES.values())
    for share, ns in zip(shares, histogram.quantiles(shares), strict=True):
        yield "", {**labels, "quantile": _number(share)}, ns / 1e9
    yield "_sum", labels, histogram.total_ns / 1e9
    yield "_count", labels, histogram.count


def _number(value: float) -> str:
    """Return a number in the format that Go reads, with NaN, +Inf and -Inf."""
    return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}.get(text := repr(value), text)
