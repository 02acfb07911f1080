"""The command that makes and checks reports about boards."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from polydom_runtime.__main__ import main
from polydom_runtime.boards.kernel_session import KernelSession
from polydom_runtime.boards.making import Making
from polydom_runtime.boards.report import BoardReport
from polydom_runtime.commands.outcome import ExitCode
from polydom_runtime.device.device_profile import DeviceProfile
from tests.runtime.boards.reports import COOL, FACTS, a_report

Printed = pytest.CaptureFixture[str]


def test_a_run_writes_one_report_that_can_be_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)

    code = main(["board-report", "--seconds", "1", "--note", "on a desk", "--watts", "3.5"])

    printed = capsys.readouterr()
    (file,) = tmp_path.iterdir()
    report = BoardReport.read(file)
    assert code == ExitCode.DONE
    assert (file.name.endswith(".board.json"), report.note, report.watts) == (True, "on a desk", 3.5)
    assert "this takes up to 1 min" in printed.err
    assert "no bundle was given" in printed.out
    assert main(["board-report"]) == ExitCode.ERROR
    assert "must be a new file" in capsys.readouterr().err


def test_one_that_is_planted_as_throttled_is_refused_as_a_profile(tmp_path: Path, capsys: Printed) -> None:
    a_report().write(fit := tmp_path / "fit.board.json")
    a_report(after=replace(COOL, throttled=0x50005)).write(throttled := tmp_path / "throttled.board.json")
    profile = tmp_path / "pi.toml"

    assert main(["board-report", "--check", str(fit), str(throttled)]) == ExitCode.WRONG
    printed = capsys.readouterr().out
    assert f"{fit}: {FACTS.device}, 2026-12-01: fit to be a profile\n" in printed
    assert f"{throttled}: {FACTS.device}, 2026-12-01: refused as a profile:\n- The board was throttled" in printed
    assert main(["board-report", "--check", str(throttled), "--profile-out", str(profile)]) == ExitCode.WRONG
    assert not profile.exists()


def test_a_report_that_is_fit_becomes_a_profile(tmp_path: Path, capsys: Printed) -> None:
    a_report().write(file := tmp_path / "fit.board.json")

    code = main(["board-report", "--check", str(file), "--profile-out", str(tmp_path / "pi.toml"), "--json"])

    (judged,) = json.loads(capsys.readouterr().out)["result"]["reports"]
    assert (code, judged["fit"], judged["reasons"]) == (ExitCode.DONE, True, [])
    assert DeviceProfile.load(tmp_path / "pi.toml").name == "Raspberry Pi 4 Model B"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--check", "a.json", "b.json", "--profile-out", "pi.toml"], "must come with one report"),
        (["--check", "a.json"], "must be a board report that can be read"),
        (["--profile-out", "pi.toml"], "--profile-out must come with --check"),
        (["--check", "a.json", "--profile-out", "a.json"], "must name another file than the report"),
        (["--bundle", "a.bundle"], "--bundle must come with --space and --items"),
        (["--items", "items.npz"], "--items must come with --space"),
        (["--out", "nowhere/pi.board.json"], "The folder of"),
    ],
)
def test_what_does_not_fit_together_is_refused_before_anything_is_measured(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["board-report", *words]) == ExitCode.ERROR
    assert message in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_ctrl_c_leaves_no_file_and_says_what_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    def stopped(self: Making, seconds: float, progress: object) -> KernelSession:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Making, "_measure", stopped)

    assert main(["board-report"]) == ExitCode.AFTER_SIGNAL + 2
    assert "No file was written. Done so far: doctor. Give the same command again." in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []
