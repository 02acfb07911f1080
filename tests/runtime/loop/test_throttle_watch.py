"""Throttle flags as an early warning."""

from pathlib import Path

from polydom_runtime.device.board import Board
from polydom_runtime.learning.slowdown import SLOW, Slowdown
from polydom_runtime.loop.throttle_watch import ThrottleWatch
from polydom_runtime.testing import ManualClock


def set_board(root: Path, khz: int, flags: str) -> None:
    for file, text in {
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": str(khz),
        "sys/devices/platform/soc/soc:firmware/get_throttled": flags,
    }.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)


def test_held_down_clock_is_a_slowdown_before_any_item_is_slow(tmp_path: Path) -> None:
    """1.8 GHz, then 600 MHz with and without the flag; looked at once a second, and only in enough slack."""
    clock = ManualClock()
    told: list[float] = []
    set_board(tmp_path, 1_800_000, "0x50000")
    watch = ThrottleWatch(told.append, Board(tmp_path), clock)
    watch.on_slack(0.010)
    set_board(tmp_path, 600_000, "0x50004")
    watch.on_slack(0.010)
    clock.advance(seconds=1.0)
    watch.on_slack(0.001)
    watch.on_slack(0.010)
    set_board(tmp_path, 600_000, "0x50000")
    clock.advance(seconds=1.0)
    watch.on_slack(0.010)

    assert told == [1.0, 3.0, 1.0]


def test_board_without_flags_is_left_alone(tmp_path: Path) -> None:
    told: list[float] = []
    ThrottleWatch(told.append, Board(tmp_path)).on_slack(1.0)

    assert told == [1.0]


def test_expected_slowdown_holds_until_told_otherwise() -> None:
    slowdown = Slowdown()
    slowdown.expect(2.5)
    for _ in range(SLOW):
        slowdown.add(1.0)
    assert slowdown.value == 2.5

    for _ in range(3):
        slowdown.add(4.0)
    assert slowdown.value == 4.0

    slowdown.expect(1.0)
    for _ in range(SLOW):
        slowdown.add(1.0)
    assert slowdown.value == 1.0
