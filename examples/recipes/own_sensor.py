"""A loop over a sensor of your own; answers go to a slow receiver through a queue, so that it delays no answer.

    python own_sensor.py my.bundle my_module:space

Ctrl-C, or SIGTERM from systemd, lets the current item be answered, and then the receiver empty the queue.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from queue import Full, Queue
from threading import Thread
from typing import Any

import numpy as np

from polydom_runtime import Monitor, Prediction, Predictor, space_of


class Sensor:
    """Put your own here: an iterator that gives an array, or None while there is nothing new; best without waiting."""

    def __init__(self, readings: int) -> None:
        self.left = readings

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return np.random.default_rng(self.left).normal(size=200)


def main(bundle: str, space: str, send: Callable[[str], object] = print, readings: int = 500) -> int:
    """Answer all readings, and return how many answers did not fit into the queue."""
    waiting: Queue[str | None] = Queue(maxsize=100)
    dropped = 0

    def on_answer(number: int, item: Any, answer: Prediction) -> None:
        nonlocal dropped
        try:
            waiting.put_nowait(f"{number}: {answer.label}")
        except Full:
            dropped += 1

    def work() -> None:
        while (text := waiting.get()) is not None:
            send(text)  # may take long

    predictor = Predictor.load(bundle, space_of(space))
    monitor = Monitor(Sensor(readings), predictor, max(0.02, predictor.deadline), on_answer)
    worker = Thread(target=work)
    worker.start()
    before = [(number, signal.signal(number, monitor.on_signal)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        summary = monitor.run()
    finally:
        for number, handler in before:
            signal.signal(number, handler)
        waiting.put(None)
        worker.join()
    print(f"{summary.counts.answered} answers, {summary.counts.late} late, {dropped} dropped", file=sys.stderr)
    return dropped


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
