"""Which reports are fit to be a profile, and the profile that follows from one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime.boards.profile import profile_of, refusals, shipped_profile
from polydom_runtime.boards.report import BoardReport
from polydom_runtime.device.board import BoardState
from polydom_runtime.device.device_profile import DeviceProfile, dump
from polydom_runtime.exceptions import ProfileError
from tests.runtime.boards.reports import COOL, FACTS, a_report, a_session


def with_session(**changes: Any) -> BoardReport:
    """Return a report with one session that is changed."""
    return a_report(sessions=(a_session(), a_session(**changes), a_session()))


def few_runs() -> BoardReport:
    kernels = {name: replace(times, runs=99) for name, times in a_session().kernels.items()}
    return with_session(kernels=kernels)


def without_onnxruntime() -> BoardReport:
    kernels = {name: times for name, times in a_session().kernels.items() if not name.startswith("onnx_")}
    session = a_session(kernels=kernels)
    return a_report(onnx=None, facts=replace(FACTS, onnxruntime="none"), sessions=(session,) * 3)


def test_a_sound_report_is_fit() -> None:
    assert refusals(a_report()) == []


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (a_report(before=replace(COOL, throttled=0x1)), "was throttled"),
        (a_report(after=replace(COOL, throttled=0x20000)), "was throttled"),
        (a_report(before=replace(COOL, throttled=0x50000), after=replace(COOL, throttled=0x50000)), "restart it"),
        (with_session(after=replace(COOL, throttled=0x4)), "was throttled"),
        (a_report(after=replace(COOL, celsius=80.0)), "limit of its temperature: 80 °C"),
        (with_session(processor_share=0.79), "got 79 % of a processor, and 80 % is needed"),
        (a_report(facts=replace(FACTS, governors=("powersave",))), "governor must be performance. It was powersave"),
        (a_report(facts=replace(FACTS, cores=None)), "lacks one"),
        (with_session(warnings=("the clock fell while measuring",)), "The clock fell while the kernels ran"),
        (few_runs(), "must run each kernel 100 times or more. One ran one 99 times"),
        (with_session(slower=1.26), "differ by 1.26"),
        (a_report(sessions=(a_session(6.0),) * 3), " took .* shipped profile of Raspberry Pi 4 Model B says"),
        (a_report(sessions=(a_session(0.15),) * 3), " took .* shipped profile of Raspberry Pi 4 Model B says"),
        (without_onnxruntime(), "needs the times of onnxruntime"),
    ],
)
def test_an_unfit_report_is_refused_as_a_profile_with_the_reason(report: BoardReport, reason: str) -> None:
    with pytest.raises(ProfileError, match=f"{reason}"):
        profile_of(report)


@pytest.mark.parametrize(
    "report",
    [
        a_report(after=replace(COOL, celsius=79.9)),
        with_session(slower=1.24),
        with_session(processor_share=0.8),
        a_report(before=(nothing := BoardState(None, None, None)), after=nothing),
    ],
    ids=["warm", "sessions differ", "some other work", "nothing known"],
)
def test_what_is_within_the_limits_or_not_known_is_no_reason(report: BoardReport) -> None:
    assert refusals(report) == []


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("Raspberry Pi 4 Model B Rev 1.4", "Raspberry Pi 4 Model B"),
        ("Raspberry Pi 3 Model B Plus Rev 1.3", "Raspberry Pi 3 Model B+"),
        ("Raspberry Pi Compute Module 4 Rev 1.0", "Raspberry Pi Compute Module 4"),
        ("Raspberry Pi 5 Model B Rev 1.0", "Raspberry Pi 5"),
        ("Raspberry Pi Zero 2 W Rev 1.0", "Raspberry Pi Zero 2 W"),
        ("Raspberry Pi 3 Model B Rev 1.2", None),
        ("A toaster", None),
    ],
)
def test_the_shipped_profile_of_a_board_is_found_by_its_name(device: str, name: str | None) -> None:
    found = shipped_profile(device)

    assert (found and found.name) == name


def test_the_profile_has_medians_of_sessions_and_their_spread(tmp_path: Path) -> None:
    report = a_report(sessions=(a_session(1.2), a_session(), a_session(1.1)))

    dump(profile_of(report), tmp_path / "pi.toml")

    found, cold = DeviceProfile.load(tmp_path / "pi.toml"), report.sessions[2].cold_seconds
    sort = found.calibration["sort"]
    assert (sort.seconds, sort.provenance) == (report.sessions[2].kernels["sort"].median, "measured")
    assert sort.uncertainty == pytest.approx(1.2)
    assert found.cold_seconds is not None
    assert (found.cold_seconds.value, found.onnx.opset.value, found.name) == (cold, 22, "Raspberry Pi 4 Model B")
    assert found.system.busy_watts is None
