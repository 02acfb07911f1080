"""The file of what ``polydom-node run`` learns, which is written while it runs and at the end."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, cast

from polydom_runtime.records.metrics_files import Regularly

from .terminal import say

if TYPE_CHECKING:
    from polydom_runtime.prediction import AnyPredictor

SAVE_EVERY, EXPECTED = 300.0, 0.02
"""Seconds between two writes, and those that the first one is expected to take at most."""


class Remembering(Protocol):
    """A predictor that can write what it learned."""

    def save_learned(self, file: str, *, period: float, sync: bool) -> None:
        """Write it to a file."""


class LearnedOutput:
    """Replaces a file as a whole by what a predictor learned, at each write."""

    def __init__(self, file: str, period: float) -> None:
        self._file, self._period = file, period
        self.sync = False  # while the loop runs: a wait for the disk would take time from it

    def __str__(self) -> str:
        return self._file

    def write(self, predictor: Remembering) -> None:
        """Replace the file."""
        predictor.save_learned(self._file, period=self._period, sync=self.sync)


@contextmanager
def saving(arguments: Namespace, predictor: "AnyPredictor") -> Iterator[Regularly[Remembering]]:
    """Write what the predictor learned to the file of a command, every few minutes in slack, and at the end."""
    output = LearnedOutput(arguments.learned, arguments.period or 0.0)
    file = Regularly(output, cast(Remembering, predictor), SAVE_EVERY, say=say, expected=EXPECTED)
    try:
        yield file
    finally:
        output.sync = True
        file.write()
