"""The node's part: answer a window every 50 ms, and raise an alarm when several in a row are bad."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from polydom_runtime import LoopSummary, Monitor, MqttPublisher, Prediction, Predictor

from .machine import SOUND, Signal

PERIOD = 0.05  # seconds
IN_A_ROW = 5


@dataclass(frozen=True, slots=True)
class Alarm:
    """A message for whoever repairs the machine, with the number and the label of the window that raised it."""

    window: int
    fault: str


class Watch:
    """Raises an alarm when a number of windows in a row are bad, and ends it after as many sound ones."""

    def __init__(self, in_a_row: int = IN_A_ROW) -> None:
        self.labels: list[str] = []
        self.is_raised = False
        self._in_a_row, self._against = in_a_row, 0

    def hear(self, label: str) -> Alarm | None:
        """Take the answer to the next window; return the alarm that it raises, if it does."""
        self.labels.append(label)
        self._against = self._against + 1 if (label != SOUND) != self.is_raised else 0
        if self._against < self._in_a_row:
            return None
        self.is_raised, self._against = not self.is_raised, 0
        return Alarm(len(self.labels) - 1, label) if self.is_raised else None


def run_loop(
    source: Iterable[Signal],
    predictor: Predictor,
    on_alarm: Callable[[Alarm], object],
    publisher: MqttPublisher | None = None,
) -> tuple[list[str], LoopSummary]:
    """Answer the windows of a source, one in each period, until it ends; return the answers and the summary."""
    watch = Watch()

    def on_answer(number: int, window: Signal, answer: Prediction) -> None:
        if alarm := watch.hear(str(answer.label)):
            on_alarm(alarm)
        if publisher:
            publisher.on_answer(number, window, answer)

    on_slack = publisher.on_slack if publisher else lambda _: None
    summary = Monitor(source, predictor, PERIOD, on_answer, on_slack=on_slack).run()
    return watch.labels, summary
