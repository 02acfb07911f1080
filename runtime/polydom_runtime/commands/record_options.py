"""The options of ``polydom-node run`` for records of its answers: metrics and a flight recording."""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

from polydom_runtime.exceptions import RecordingError
from polydom_runtime.records.metrics import Metrics
from polydom_runtime.records.metrics_files import JsonLines, MetricsOutput, PrometheusText, Regularly
from polydom_runtime.records.recorder import FlightRecorder

from .arguments import duration
from .terminal import say

if TYPE_CHECKING:
    from polydom_runtime.prediction import AnyPredictor, Prediction
    from polydom_runtime.records.metrics import Publishing
    from polydom_runtime.trace import Trace


class Records:
    """Counts and records every answer, as far as the options ask for it.

    `files`: the files that the metrics are written to. `reopen`: returns the recorder of another predictor, after that
    of the one before was closed.
    """

    def __init__(
        self,
        metrics: Metrics | None = None,
        files: Sequence[Regularly] = (),
        recorder: FlightRecorder | None = None,
        reopen: Callable[["AnyPredictor"], FlightRecorder | None] = lambda _: None,
    ) -> None:
        self._metrics = metrics
        self._files = files
        self._recorder = recorder
        self._reopen = reopen

    def __enter__(self) -> "Records":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def add(self, prediction: "Prediction", trace: "Trace", number: int) -> None:
        """Count and record one answer, after it was given; never raises."""
        if self._recorder is not None:
            self._recorder.add(prediction, trace, number)
        if self._metrics is not None:
            self._metrics.add(prediction, trace)

    def count(self, publisher: "Publishing") -> None:
        """Add the counts of a publisher to the metrics."""
        if self._metrics is not None:
            self._metrics.publisher = publisher

    def follow(self, predictor: "AnyPredictor") -> None:
        """Go on with the answers of another predictor."""
        if self._metrics is not None:
            self._metrics.watch(predictor)
        if self._recorder is not None:
            self._recorder.close()
            try:
                self._recorder = self._reopen(predictor)
            except RecordingError as e:
                self._recorder = None
                say(f"running without a recording. {e}")
        bundle = predictor.bundle
        name = f"{bundle.identity}, " if bundle.identity.name else ""
        say(f"answers by the bundle {name}{bundle.sha256[:12]} from here on")

    def on_slack(self, seconds_left: float) -> None:
        """Write the file that is due, one at a time, if there is enough time before the next item."""
        any(file.on_slack(seconds_left) for file in self._files)

    def close(self) -> None:
        """Write the metrics a last time and close the recording."""
        for file in self._files:
            file.write()
            if file.failures:
                say(f"metrics could not be written {file.failures} times")
        if self._recorder is not None:
            self._recorder.close()


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of metrics and recordings to ``run``."""
    group = command.add_argument_group("records")
    group.add_argument(
        "--metrics-json", metavar="FILE", help="the file to which lines of metrics are added; - for standard output"
    )
    group.add_argument(
        "--metrics-prometheus", metavar="NAME.prom", help="the metrics file for node_exporter's textfile collector"
    )
    group.add_argument(
        "--metrics-every",
        type=duration,
        default=10.0,
        metavar="TIME",
        help="the interval between two writes of the metrics, such as 30s (default 10s)",
    )
    group.add_argument(
        "--record", metavar="FILE", help="the flight recording: the last items, in a file that survives kill -9"
    )
    group.add_argument(
        "--record-items",
        type=int,
        default=10_000,
        metavar="N",
        help="the number of items that the recording holds (default 10000)",
    )
    group.add_argument(
        "--record-optional", action="store_true", help="run without a recording if its file cannot be opened"
    )


def open_records(arguments: argparse.Namespace, predictor: "AnyPredictor") -> Records:
    """Open the files that the command line asks for; metrics are written once now, to show trouble at the start.

    Raises `RecordingError` if the recording cannot be opened, unless it is optional.
    """
    outputs: list[MetricsOutput] = []
    if arguments.metrics_json:
        outputs.append(JsonLines(sys.stdout if arguments.metrics_json == "-" else arguments.metrics_json))
    if arguments.metrics_prometheus:
        outputs.append(PrometheusText(arguments.metrics_prometheus))
    recorder = _recorder(arguments, predictor) if arguments.record else None
    metrics = Metrics(predictor) if outputs else None
    files = [Regularly(output, metrics, arguments.metrics_every, say=say) for output in outputs if metrics]
    for file in files:
        file.write()
    return Records(metrics, files, recorder, partial(_recorder, arguments))


def _recorder(arguments: argparse.Namespace, predictor: "AnyPredictor") -> FlightRecorder | None:
    try:
        return FlightRecorder(arguments.record, predictor, arguments.record_items)
    except RecordingError as e:
        if not arguments.record_optional:
            raise
        say(f"running without a recording. {e}")
        return None
