"""What ``--json`` prints in every case, exit codes, and completion."""

import json
import math
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from polydom_runtime import __version__
from polydom_runtime.__main__ import COMMANDS, main
from polydom_runtime.commands import info, measure
from polydom_runtime.commands.outcome import ExitCode, plain_data
from polydom_runtime.commands.signals import Stopped

HEAD = {"version": __version__, "format": 1}


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_fault_is_a_document_with_its_class_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "nowhere", "--json"]) == ExitCode.ERROR

    found = document(capsys)
    error = found.pop("error")
    assert found == {"command": "polydom-node info", "exit_code": 2, **HEAD}
    assert (error["type"], error["exit_code"]) == ("BundleFormatError", 2)
    assert "nowhere" in error["message"]


def test_words_that_are_not_as_they_must_be_are_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["info", "--json", "--no-such-option"])

    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert (ended.value.code, error["type"], error["exit_code"]) == (2, "UsageError", 2)
    assert error["message"] in said.err
    assert said.err.startswith("usage: polydom-node info")


@pytest.mark.parametrize(
    ("raised", "kind", "code"),
    [(KeyError("x"), "KeyError", 2), (KeyboardInterrupt(), "KeyboardInterrupt", 130)],
    ids=["of the code", "Ctrl-C"],
)
def test_what_nobody_expected_is_a_document_too(
    raised: BaseException, kind: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: object) -> None:
        raise raised

    monkeypatch.setattr(info, "run", fail)
    assert main(["info", "b", "--json"]) == code
    error = document(capsys)["error"]
    assert (error["type"], error["exit_code"]) == (kind, code)


@pytest.mark.parametrize(
    ("part", "said"),
    [(b"x", "give the same command with --resume"), (b"", "Nothing was measured yet"), (None, "Nothing was measured")],
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_measurement_that_is_stopped_says_whether_it_can_go_on(
    number: int,
    part: bytes | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(arguments: object) -> None:
        raise Stopped(number)

    if part is not None:
        (tmp_path / "board.costs.part").write_bytes(part)
    monkeypatch.setattr(measure, "run", stop)
    words = ["measure", "a:space", "--items", "a:items", "--out", str(tmp_path / "board.costs")]
    assert main(words) == 128 + number

    assert said in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_command_that_keeps_nothing_does_not_speak_of_going_on(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(arguments: object) -> None:
        raise Stopped(number)

    monkeypatch.setattr(info, "run", stop)
    assert main(["info", "b"]) == 128 + number

    assert capsys.readouterr().err == "polydom-node: stopped.\n"


def test_what_a_command_prints_for_people_is_not_in_the_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(info, "run", lambda arguments: print("for people"))

    assert main(["info", "b", "--json"]) == 0
    assert document(capsys)["result"] is None
    assert main(["info", "b"]) == 0
    assert capsys.readouterr().out == "for people\n"


class Pair(NamedTuple):
    before: float
    after: float


def test_data_becomes_plain() -> None:
    given = {"pair": Pair(1.0, math.inf), 3: (True, None, ExitCode.OPEN), "path": Path("a/b")}

    assert plain_data(given) == {"pair": {"before": 1.0, "after": None}, "3": [True, None, 3], "path": "a/b"}
    with pytest.raises(TypeError, match="must be plain data"):
        plain_data(object())


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_has_a_version(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*filter(None, [command]), "--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == " ".join(filter(None, ["polydom-node", command, __version__])) + "\n"


def test_completion_without_shtab_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)

    assert main(["--print-completion", "zsh"]) == 2
    assert "pip install 'polydom-runtime[completion]'" in capsys.readouterr().err
