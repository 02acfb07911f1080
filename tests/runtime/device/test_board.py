"""What files of the system say that cannot be true of a processor is left out."""

from pathlib import Path

import pytest

from polydom_runtime.device.board import Board, BoardState
from tests.runtime.measuring.test_conditions import CLOCK, HEAT, THROTTLED, write

OTHER_HEAT = "sys/class/thermal/thermal_zone1/temp"
HIGHEST = "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"
ALLOWED = "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq"


@pytest.mark.parametrize(
    "text", ["-273000", "0", "1000000", "255000", "127500", "-274000", "2147483647", "hot", "0x40"]
)
def test_implausible_temperature_is_none(text: str, tmp_path: Path) -> None:
    write(tmp_path, HEAT, text)
    assert Board(tmp_path).state().celsius is None

    write(tmp_path, OTHER_HEAT, "48312")
    assert Board(tmp_path).state().celsius == 48.312


@pytest.mark.parametrize(("text", "celsius"), [("-20000", -20.0), ("125000", 125.0), ("500", 0.5)])
def test_frost_and_heat_are_temperatures(text: str, celsius: float, tmp_path: Path) -> None:
    write(tmp_path, HEAT, text)

    assert Board(tmp_path).state().celsius == celsius


@pytest.mark.parametrize(
    ("file", "texts"),
    [
        (CLOCK, ["0", "-1", "ff", "0x10", "9" * 30, "9" * 5000, "<unknown>", ""]),
        (THROTTLED, ["-1", "100000000", "f" * 5000, "error", ""]),
    ],
)
def test_other_facts_that_cannot_be_true_are_none(file: str, texts: list[str], tmp_path: Path) -> None:
    for text in texts:
        write(tmp_path, file, text)

        assert Board(tmp_path).state() == BoardState(None, None, None)


@pytest.mark.parametrize(("allowed", "highest"), [("0", "0"), ("1000000", "0"), ("0", "1000000"), ("zz", "1000000")])
def test_clock_without_plausible_limits_is_not_lowered(allowed: str, highest: str, tmp_path: Path) -> None:
    write(tmp_path, ALLOWED, allowed)
    write(tmp_path, HIGHEST, highest)

    assert Board(tmp_path).clock_share == 1.0
