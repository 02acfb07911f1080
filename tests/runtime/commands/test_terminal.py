"""Commands write something readable wherever they are started, and end with the right code when nobody reads it."""

import io
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from polydom_runtime.__main__ import main
from polydom_runtime.commands.terminal import warn
from polydom_runtime.items.packing import write_packed
from tests.draws import draws

ROOT = Path(__file__).parents[3]
GOLDEN = str(ROOT / "tests" / "golden" / "format_1.bundle")
SPACE = "tests.runtime.node_space:space"
COMMANDS = {
    "info": ("info", GOLDEN),
    "doctor": ("doctor", "--bundle", GOLDEN, "--space", SPACE),
    "run": ("run", GOLDEN, SPACE, "--items", "items.npz", "--deadline", "3600s"),
    "help": ("run", "--help"),
}
ENCODINGS, CLOSED = ("ascii", "latin-1", "cp1252", "utf-8"), ("<&- >&- 2>&-", ">&-", "2>&-")
READ = draws([*product(["info", "run", "help"], ENCODINGS), ("doctor", "ascii")], [*product(COMMANDS, ENCODINGS)])
WRITTEN = draws(["run"], ["info", "doctor", "run"])
"""Without the help: argparse ignores that it cannot be written."""
UNHEARD = draws([*product(["run"], CLOSED), ("doctor", CLOSED[0])], [*product(COMMANDS, CLOSED)])
"""The doctor starts another process."""


def write_items(folder: Path) -> None:
    write_packed(folder / "items.npz", [np.arange(n, dtype=np.float32) for n in (3, 40)])


def started(
    words: Sequence[str],
    folder: Path,
    out: int | IO[bytes] = subprocess.PIPE,
    shell: str = "",
    program: str = "polydom_runtime",
    **environment: str,
) -> "subprocess.CompletedProcess[bytes]":
    write_items(folder)
    command = [sys.executable, "-W", "ignore", "-m", program, *words]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    variables = {**os.environ, "PYTHONPATH": paths, **environment}
    return subprocess.run(command, cwd=folder, env=variables, stdout=out, stderr=subprocess.PIPE, check=False)


@pytest.mark.parametrize(("name", "encoding"), READ)
@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_every_terminal_gets_readable_text(
    name: str, encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the words of a process, which prepares its streams."""
    write_items(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["polydom-node", *COMMANDS[name]])
    monkeypatch.setattr("warnings.showwarning", warnings.showwarning)
    out, error = io.BytesIO(), io.BytesIO()
    for stream, written in (("sys.stdout", out), ("sys.stderr", error)):
        monkeypatch.setattr(stream, io.TextIOWrapper(written, encoding))
    with pytest.raises(SystemExit, match="0") if name == "help" else nullcontext():
        assert main() in (0, 1)
    sys.stdout.flush()

    check_readable(name, out.getvalue().decode(encoding), error.getvalue())


def check_readable(name: str, text: str, error: bytes) -> None:
    assert text
    assert error == b""
    assert "\\u" not in text
    if name == "run":
        assert [*map(json.loads, text.splitlines())]


def test_terminal_of_a_process_gets_readable_text(tmp_path: Path) -> None:
    done = started(COMMANDS["info"], tmp_path, PYTHONIOENCODING="ascii")

    assert done.returncode == 0
    check_readable("info", done.stdout.decode("ascii"), done.stderr)


@pytest.mark.parametrize("name", WRITTEN)
def test_reader_that_has_gone_ends_a_command_with_its_code(name: str, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        done = started(COMMANDS[name], tmp_path, out)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("name", WRITTEN)
def test_full_disk_is_one_line(name: str, tmp_path: Path) -> None:
    """A run goes on, and counts what was lost."""
    with open("/dev/full", "wb") as out:
        done = started(COMMANDS[name], tmp_path, out)

    (said,) = done.stderr.splitlines()
    assert done.returncode == (1 if name == "run" else 2)
    assert b": [Errno 28] No space left on device" in said.replace(b"output failed.", b"output:")


@pytest.mark.parametrize(("name", "closed"), UNHEARD)
def test_closed_streams_end_no_command(name: str, closed: str, tmp_path: Path) -> None:
    done = started(COMMANDS[name], tmp_path, shell=closed)

    assert done.returncode in (0, 1)
    assert done.stderr == b""
    assert bool(done.stdout) == (closed == "2>&-")


def test_error_without_a_place_for_it_is_not_written_among_the_answers(tmp_path: Path) -> None:
    done = started(["info", "no.bundle"], tmp_path, shell="2>&-")

    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize(
    ("is_terminal", "variables", "is_coloured"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_warnings_are_in_colour_where_it_is_wanted_and_begin_with_the_word_everywhere(
    is_terminal: bool, variables: dict[str, str], is_coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = io.StringIO()
    monkeypatch.setattr(error, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stderr", error)
    for name, value in ({"TERM": "xterm", "NO_COLOR": ""} | variables).items():
        monkeypatch.setenv(name, value)
    warn("it is\x1b[2J\nlate")

    said = error.getvalue()
    assert said.replace("\x1b[1;33m", "").replace("\x1b[0m", "") == "polydom-node: warning: it is?[2J late\n"
    assert (said[:2] == "\x1b[") == is_coloured


def test_control_characters_of_an_error_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "no\x1b[2J\nsuch.bundle"]) == 2

    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert len(error.splitlines()) == 1
