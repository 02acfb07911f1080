"""The board's throttle flags as an early warning: plans account for a slow-down before the first slow item."""

from collections.abc import Callable

from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.device.board import Board

CHECK_EVERY_NS = 1_000_000_000
SLACK_S = 0.002
"""The slack that a check needs: reading the system's files takes a few hundred microseconds."""


class ThrottleWatch:
    """Checks once a second, in the slack of a `Monitor`, whether the firmware lowers the clock.

    It tells `expect`, such as `Predictor.expect_slowdown`, the slow-down: the fastest clock so far / the present one.
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
        if now < self._due_ns or seconds_left < SLACK_S:
            return
        self._due_ns = now + CHECK_EVERY_NS
        state = self._board.state()
        self._fastest = max(self._fastest, state.clock_hz or 0.0)
        self._expect(self._fastest / state.clock_hz if state.is_throttled and state.clock_hz else 1.0)
