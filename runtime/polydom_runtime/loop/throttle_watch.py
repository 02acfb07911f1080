"""The board's throttle flags as an early warning: the slow-down is provided for before the first slow item."""

from collections.abc import Callable
from typing import Protocol

from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.device.board import Board

EVERY_NS = 1_000_000_000
MIN_SLACK = 0.002
"""Reading the system's files takes a few hundred microseconds."""


class Forewarned(Protocol):
    """What is asked of a predictor."""

    def expect_slowdown(self, at_least: float) -> None: ...  # noqa: D102


class ThrottleWatch:
    """Looks once a second whether the firmware holds the clock down; an `on_slack` of `Monitor`.

    Where it does, the processor is expected to be slower by as much as its clock is below the fastest that was seen.
    Where the system shows no flags nothing is done.

    Parameters
    ----------
    predictor : Forewarned
    board : Board, optional
    clock : Clock
    """

    def __init__(self, predictor: Forewarned, board: Board | None = None, clock: Clock = hardware_clock) -> None:
        self._tell: Callable[[float], None] = predictor.expect_slowdown
        self._board = board or Board()
        self._clock = clock
        self._fastest = self._board.state().clock_hz or 0.0
        self._due_ns = 0

    def on_slack(self, seconds_left: float) -> None:
        """Look, if it is time to and there is time for it."""
        now = self._clock()
        if now < self._due_ns or seconds_left < MIN_SLACK:
            return
        self._due_ns = now + EVERY_NS
        state = self._board.state()
        self._fastest = max(self._fastest, state.clock_hz or 0.0)
        self._tell(self._fastest / state.clock_hz if state.is_throttled and state.clock_hz else 1.0)
