"""Commands write something readable wherever they are started, and end with the right code when nobody reads it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from polydom_runtime.items.packed import write_packed

ROOT = Path(__file__).parents[3]
GOLDEN = str(ROOT / "tests" / "golden" / "format_9.bundle")
SPACE = "tests.runtime.node_space:space"
COMMANDS = {
    "info": ("info", GOLDEN),
    "doctor": ("doctor", "--bundle", GOLDEN, "--space", SPACE),
    "run": ("run", GOLDEN, SPACE, "--items", "items.npz", "--deadline", "3600s"),
    "help": ("run", "--help"),
}
EACH = pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
WRITING = pytest.mark.parametrize("words", [*COMMANDS.values()][:-1], ids=[*COMMANDS][:-1])
"""Without the help: argparse ignores that it cannot be written."""


def started(
    words: Sequence[str],
    folder: Path,
    out: int | IO[bytes] = subprocess.PIPE,
    shell: str = "",
    program: str = "polydom_runtime",
    **environment: str,
) -> "subprocess.CompletedProcess[bytes]":
    write_packed(folder / "items.npz", [np.arange(n, dtype=np.float32) for n in (3, 40)])
    command = [sys.executable, "-W", "ignore", "-m", program, *words]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    variables = {**os.environ, "PYTHONPATH": paths, **environment}
    return subprocess.run(command, cwd=folder, env=variables, stdout=out, stderr=subprocess.PIPE, check=False)


@EACH
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_every_terminal_gets_readable_text(words: Sequence[str], encoding: str, tmp_path: Path) -> None:
    done = started(words, tmp_path, PYTHONIOENCODING=encoding)

    text = done.stdout.decode(encoding)
    assert done.returncode in (0, 1)
    assert done.stderr == b""
    assert "\\u" not in text
    if words[0] == "run" and "--help" not in words:
        assert [*map(json.loads, text.splitlines())]


@WRITING
def test_reader_that_has_gone_ends_a_command_with_its_code(words: Sequence[str], tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        done = started(words, tmp_path, out)

    assert (done.returncode, done.stderr) == (141, b"")


@WRITING
def test_full_disk_is_one_line(words: Sequence[str], tmp_path: Path) -> None:
    with open("/dev/full", "wb") as out:
        done = started(words, tmp_path, out)

    assert done.returncode == 2
    assert [line.split(b": ", 1)[1] for line in done.stderr.splitlines()] == [b"[Errno 28] No space left on device"]


@EACH
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_end_no_command(words: Sequence[str], closed: str, tmp_path: Path) -> None:
    done = started(words, tmp_path, shell=closed)

    assert done.returncode in (0, 1)
    assert done.stderr == b""
    assert bool(done.stdout) == (closed == "2>&-")


def test_error_without_a_place_for_it_is_not_written_among_the_answers(tmp_path: Path) -> None:
    done = started(["info", "no.bundle"], tmp_path, shell="2>&-")

    assert (done.returncode, done.stdout) == (2, b"")


def test_control_characters_of_an_error_do_not_reach_the_terminal(tmp_path: Path) -> None:
    done = started(["info", "no\x1b[2J\nsuch.bundle"], tmp_path)

    assert done.returncode == 2
    assert b"\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
