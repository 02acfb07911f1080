"""The board's throttle flags as an early warning: plans account for a slow-down before the first slow item."""

from collections.abc import Callable

from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.device.board import Board

EVERY_NS = 1_000_000_000
MIN_SLACK = 0.002
"""Seconds of slack that a look needs: reading the system's files takes a few hundred microseconds."""


class ThrottleWatch:
    """Checks once a second, in the slack of a `Monitor`, whether the firmware lowers the clock.

    Give its method `on_slack` to the monitor. While the clock is lowered, the predictor expects a slow-down: the ratio
    of the fastest clock seen so far to the present one. Without throttle flags, the expected slow-down stays 1.

    `expect`: told the expected slow-down at each check, such as `Predictor.expect_slowdown`. `board`: the source of
    clock and flags; by default this machine.
    """

    def __init__(
        self, expect: Callable[[float], object], board: Board | None = None, clock: Clock = hardware_clock
    ) -> None:
        self._expect = expect
        self._board = board or Board()
        self._clock = clock
        self._fastest = self._board.state().clock_hz or 0.0
        self._due_ns = 0

    def on_slack(self, seconds_left: float) -> None:
        """Check, if a second has passed and `seconds_left` are enough."""
        now = self._clock()
        if now < self._due_ns or seconds_left < MIN_SLACK:
            return
        self._due_ns = now + EVERY_NS
        state = self._board.state()
        self._fastest = max(self._fastest, state.clock_hz or 0.0)
        self._expect(self._fastest / state.clock_hz if state.is_throttled and state.clock_hz else 1.0)
