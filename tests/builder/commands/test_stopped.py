"""What a user hears who has stopped a command of ``polydom``."""

import importlib
import signal

import pytest

from polydom_builder.__main__ import main
from polydom_runtime.commands.signals import Stopped

BUILD = ["build", "a:space", "--items", "a:items", "--deadline", "1ms", "--out", "a.bundle"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*BUILD, "--cache", ".cache"], "To go on where it was stopped, give the same command again.\n"),
        (BUILD, "With --cache FOLDER, a build that was stopped can go on.\n"),
        (["demo"], "To go on where it was stopped, give the same command again.\n"),
        (["inspect", "a.bundle"], "polydom: stopped.\n"),
    ],
    ids=lambda part: part if isinstance(part, str) else part[0],
)
def test_stopped_command_says_how_to_go_on_if_it_can(
    words: list[str], said: str, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(arguments: object) -> None:
        raise Stopped(number)

    monkeypatch.setattr(importlib.import_module(f"polydom_builder.commands.{words[0]}"), "run", stop)
    assert main(words) == 128 + number

    assert capsys.readouterr().err.endswith(said)
