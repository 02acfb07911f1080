"""The command polydom."""

import argparse
import importlib
from pathlib import Path

import pytest

from polydom_builder.__main__ import COMMANDS, main
from polydom_builder.commands.arguments import deadlines
from polydom_runtime import Predictor
from polydom_runtime.items import write_packed
from tests.builder import task

SPACE = "tests.builder.task:space"


@pytest.fixture
def items(tmp_path: Path) -> Path:
    write_packed(tmp_path / "items.npz", *task.items(90))
    return tmp_path / "items.npz"


@pytest.mark.parametrize("source", ["FILE", "tests.builder.task:pairs"])
def test_build_writes_a_bundle(source: str, items: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, cache = tmp_path / "built.bundle", tmp_path / "cache"
    command = ["build", SPACE, "--items", source.replace("FILE", str(items)), "--deadline", "1s", "--out", str(out)]
    assert main([*command, "--alpha", "1.5", "--cache", str(cache)]) == 0

    assert "feature sets of" in capsys.readouterr().out
    assert Predictor.load(out, task.space).deadline == 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"--items": "no_such_file.npz"},
        {"--items": "tests.runtime.test_items:labelled"},
        {"--deadline": "0s"},
        {"--alpha": "0.5"},
        {"--estimator": "sklearn.linear_model:NoSuchModel"},
        {"--out": "/proc/no/such.bundle"},
    ],
    ids=lambda c: next(iter(c)) + next(iter(c.values())),
)
def test_user_errors_are_one_line_and_exit_code_2(
    changes: dict[str, str], items: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = {"--items": str(items), "--deadline": "1s", "--out": str(tmp_path / "x.bundle"), "--alpha": "2"}
    pairs = [word for pair in (arguments | changes).items() for word in pair]

    assert main(["build", SPACE, *pairs]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("polydom: ")


def test_malformed_deadline_is_a_usage_error() -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["build", SPACE, "--items", "x.npz", "--deadline", "soon", "--out", "x"])
    assert deadlines("1ms:4ms") == (0.001, 0.004)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_describes_each_of_its_arguments(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = argparse.ArgumentParser()
    importlib.import_module(f"polydom_builder.commands.{name}").add_arguments(command)

    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    said = "".join(capsys.readouterr().out.split())
    for argument in command._actions:
        assert argument.help
        assert "".join(argument.help.split()) in said
