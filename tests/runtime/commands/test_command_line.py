"""No command ends in a traceback: every error of the user's is one line, with the place in their code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from polydom_runtime.__main__ import main
from polydom_runtime.commands.command_line import TRACEBACK

GOLDEN = Path(__file__).parents[2] / "golden" / "format_1.bundle"

SOURCES = """
import numpy as np

def items():
    return [np.arange(5.0)]

def raises():
    raise KeyError("no such recording")

def leaves():
    raise SystemExit(3)

def breaks_off():
    yield np.arange(5.0)
    raise RuntimeError("the sensor is gone")

def forever():
    while True:
        yield np.arange(5.0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "broken_sources.py").write_text(SOURCES)
    (tmp_path / "broken_syntax.py").write_text("x = 1\ndef f(:\n")
    (tmp_path / "broken_module.py").write_text("import json\njson.loads('{')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("space", "items", "said"),
    [
        ("broken_syntax:space", "broken_sources:items", "broken_syntax.py, line 2"),
        ("broken_module:space", "broken_sources:items", "broken_module.py, line 2"),
        (".relative:space", "broken_sources:items", "Write relative:space."),
        ("no.such.module:space", "broken_sources:items", "There must be a module no in "),
        ("tests.runtime.node_space:space", "broken_sources:raises", "no such recording') ("),
        ("tests.runtime.node_space:space", "broken_sources:leaves", "SystemExit(3) ("),
    ],
)
@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_error_in_the_user_s_module_is_one_line(
    space: str, items: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(GOLDEN), space, "--items", items, "--deadline", "3600s"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("polydom-node: ")
    assert said in line


@pytest.mark.parametrize("period", [(), ("--period", "5ms")])
@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_source_that_breaks_off_keeps_what_was_answered(
    period: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = ("tests.runtime.node_space:space", "--items", "broken_sources:breaks_off", "--deadline", "5ms")
    assert main(["run", str(GOLDEN), *sources, *period]) == 1
    out, error = capsys.readouterr()
    assert json.loads(out.splitlines()[-1])["summary"]["items"] == 1
    assert "the sensor is gone" in error.splitlines()[-1]


def test_traceback_of_an_unexpected_error_is_there_for_who_asks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(RuntimeError, match="sensor"):
        main(["run", str(GOLDEN), "tests.runtime.node_space:space", "--items", "broken_sources:breaks_off", "--quiet"])


def started(folder: Path, items: str, stdout: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "polydom_runtime", "run", str(GOLDEN), "tests.runtime.node_space:space"]
    path = os.pathsep.join([str(Path(__file__).parents[3]), str(folder)])
    return subprocess.Popen(
        [*command, "--items", items], stdout=stdout, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    )


def test_reader_that_goes_away_ends_the_command_in_silence(folder: Path) -> None:
    with started(folder, "broken_sources:forever", subprocess.PIPE) as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["item"] == 0
        process.stdout.close()
        assert process.stderr
        assert process.stderr.read() == b""
    assert process.returncode == 141
