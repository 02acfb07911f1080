"""The records of the answers of ``polydom-node run``: metrics and a flight recording, as far as they are asked for."""

from argparse import Namespace
from typing import TYPE_CHECKING

from polydom_runtime.exceptions import RecordingError
from polydom_runtime.records.metrics import Metrics

from .terminal import say

if TYPE_CHECKING:
    from polydom_runtime.prediction import AnyPredictor, Prediction
    from polydom_runtime.records.metrics import Publishing
    from polydom_runtime.records.metrics_files import MetricsOutput, Regularly
    from polydom_runtime.records.recorder import FlightRecorder
    from polydom_runtime.stages import Trace

    from .lines import Lines


class Records:
    """Counts and records every answer; metrics are written once at the start, to show trouble then."""

    def __init__(self, arguments: Namespace, predictor: "AnyPredictor", lines: "Lines") -> None:
        self._arguments, self.lines = arguments, lines
        self._recorder = self._open_recorder(predictor) if arguments.record else None
        is_asked = arguments.metrics_json or arguments.metrics_prometheus
        self._metrics = Metrics(predictor) if is_asked else None
        self._files = [] if self._metrics is None else self._open_files(self._metrics)
        for file in self._files:
            file.write()

    def _open_files(self, metrics: Metrics) -> "list[Regularly[Metrics]]":
        from polydom_runtime.records.metrics_files import JsonLines, PrometheusText, Regularly  # only if asked for

        json, text = self._arguments.metrics_json, self._arguments.metrics_prometheus
        outputs: list[MetricsOutput] = [JsonLines(self.lines if json == "-" else json)] if json else []
        outputs += [PrometheusText(text)] if text else []
        return [Regularly(output, metrics, self._arguments.metrics_every, say=say) for output in outputs]

    def _open_recorder(self, predictor: "AnyPredictor") -> "FlightRecorder | None":
        from polydom_runtime.records.recorder import FlightRecorder

        try:
            return FlightRecorder(self._arguments.record, predictor, self._arguments.record_items)
        except RecordingError as e:
            if not self._arguments.record_optional:
                raise
            say(f"running without a recording. {e}")
            return None

    def __enter__(self) -> "Records":
        return self

    def __exit__(self, *_: object) -> None:
        """Write the metrics a last time and close the recording."""
        for file in self._files:
            file.write()
            if file.failures:
                say(f"metrics could not be written {file.failures} times")
        if self._recorder is not None:
            self._recorder.close()
            if n := self._recorder.n_dropped:
                say(f"{n} items could not be recorded")

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
                self._recorder = self._open_recorder(predictor)
            except RecordingError as e:
                self._recorder = None
                say(f"running without a recording. {e}")
        bundle = predictor.bundle
        name = f"{bundle.identity}, " if bundle.identity.name else ""
        say(f"answers by the bundle {name}{bundle.sha256[:12]} from here on")

    def on_slack(self, seconds_left: float) -> None:
        """Write the file that is due, one at a time, if there is time before the next item; check the recording."""
        any(file.on_slack(seconds_left) for file in self._files)
        if self._recorder is not None:
            self._recorder.on_slack(seconds_left)
