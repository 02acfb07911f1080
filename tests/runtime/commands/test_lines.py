"""Lines on standard output: each is whole or counted, on a pipe that does not block as on a full disk."""

import errno
import json
import os
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any, TextIO

import numpy as np
import pytest

from polydom_runtime.__main__ import main
from polydom_runtime.commands import lines as lines_module
from polydom_runtime.commands.lines import Lines
from tests.runtime.records.test_metrics import files_of_at_most

SPACE = "tests.runtime.node_space:space"
LONG = "x" * 9000
"""Longer than what a pipe takes as a whole or not at all."""


@pytest.fixture
def pipe() -> Iterator[tuple[int, TextIO]]:
    """Return the end to read, and one to write that does not block."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with os.fdopen(write, "w") as stream:
        yield read, stream
    os.close(read)


def slowly_read(descriptor: int, found: list[bytes]) -> Thread:
    """Read all of a pipe in small parts, in another thread."""

    def read() -> None:
        while part := os.read(descriptor, 700):
            found.append(part)

    thread = Thread(target=read)
    thread.start()
    return thread


def test_line_waits_for_the_reader_of_a_pipe_that_does_not_block(pipe: tuple[int, TextIO]) -> None:
    (descriptor, stream), found = pipe, list[bytes]()
    lines, expected = Lines(stream), [f"{k} {LONG}\n" for k in range(100)]
    thread = slowly_read(descriptor, found)
    for line in expected:
        lines.write(line)
    stream.close()
    thread.join()

    assert b"".join(found).decode() == "".join(expected)
    assert lines.lost == 0


def test_line_that_nobody_reads_is_given_up_when_the_loop_is_to_stop(
    pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "WAIT_MS", 1)
    asked = iter([False, False, *[True] * 100])
    lines = Lines(pipe[1], lambda: next(asked))
    for _ in range(100):
        lines.write(f"{LONG}\n")
    there = os.read(pipe[0], 1 << 20)

    assert lines.lost == 100 - there.count(b"\n")
    assert next(asked)


def test_line_that_was_cut_is_ended_before_the_next(pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "WAIT_MS", 1)
    lines = Lines(pipe[1], lambda: True)
    while not lines.lost:
        lines.write(f"{LONG}\n")
    before = os.read(pipe[0], 1 << 20)
    lines.write("next\n")
    lines.write("last\n")

    assert not before.endswith(b"\n")
    assert os.read(pipe[0], 1 << 20) == b"\nnext\nlast\n"


def test_full_disk_loses_lines_by_count_and_glues_none_together(tmp_path: Path) -> None:
    file, text = tmp_path / "out", [f"{k} {'x' * 60}\n" for k in range(9)]
    with open(file, "w") as stream:
        lines = Lines(stream)
        with files_of_at_most(200):
            for line in text[:6]:
                lines.write(line)
        for line in text[6:]:
            lines.write(line)

    assert lines.lost == 3
    assert file.read_text().splitlines(keepends=True) == [*text[:3], text[3][:11] + "\n", *text[6:]]


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EBADF])
def test_any_other_error_is_counted(code: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def put(data: bytes) -> int:
        raise OSError(code, os.strerror(code))

    with open(tmp_path / "out", "w") as stream:
        (lines := Lines(stream))._put = put
        for _ in range(11):
            lines.write("1\n")

    assert lines.lost == 11
    assert [os.strerror(code) in message for message in caplog.messages] == [True] * 2  # the first and the tenth


def test_reader_that_has_gone_is_an_error() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as stream, pytest.raises(BrokenPipeError):
        Lines(stream).write("1\n")


def test_stream_that_is_no_file_gets_the_lines() -> None:
    Lines(stream := StringIO()).write("1\n")

    assert stream.getvalue() == "1\n"


def items() -> list[Any]:
    return [np.arange(1.0, 9.0)] * 60


WAYS = pytest.mark.parametrize("more", [[], ["--period", "20ms"]], ids=["one by one", "period"])


@WAYS
@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_run_prints_each_answer_to_a_pipe_that_does_not_block(
    more: list[str], bundle_folder: Path, pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    (descriptor, stream), found = pipe, list[bytes]()
    monkeypatch.setattr("sys.stdout", stream)
    os.write(stream.fileno(), b" " * 60_000)  # of 65,536
    command = ["run", str(bundle_folder), SPACE, "--items", "tests.runtime.commands.test_lines:items"]
    thread = slowly_read(descriptor, found)

    code = main([*command, "--deadline", "20ms", *more])
    stream.close()
    thread.join()

    *answers, last = map(json.loads, b"".join(found).splitlines())
    assert code == 0
    assert [answer["item"] for answer in answers] == [*range(60)]
    assert (last["summary"]["items"], last["summary"]["lost_lines"]) == (60, 0)


@WAYS
@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_run_counts_the_answers_that_a_full_disk_did_not_take(
    more: list[str], bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["run", str(bundle_folder), SPACE, "--items", "tests.runtime.commands.test_lines:items", "--json"]
    taken: list[str] = []

    def full_for_some(self: Lines, text: str) -> None:
        taken.append(text)
        if 10 < len(taken) <= 30:
            self._lose(OSError(errno.ENOSPC, "No space left on device"), b"")

    monkeypatch.setattr(Lines, "write", full_for_some)
    monkeypatch.setattr("sys.stdout", out := StringIO())
    code = main([*[word for word in command if word != "--json"], "--deadline", "20ms", *more])

    assert code == 1
    assert json.loads(taken[-1])["summary"]["lost_lines"] == 20
    assert out.getvalue() == ""


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_failures_while_answers_are_handed_on_end_a_loop_with_code_1(
    bundle_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(self: Any, prediction: Any, trace: Any, number: int) -> None:
        if number in (3, 4):
            raise ValueError("no room")

    monkeypatch.setattr("polydom_runtime.commands.recording.Records.add", fails)
    command = ["run", str(bundle_folder), SPACE, "--items", "tests.runtime.commands.test_lines:items"]

    assert main([*command, "--deadline", "20ms", "--period", "20ms"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out.splitlines()[-1])["summary"]["loop"]["failures"] == {"on_answer": 2}
    assert "on_answer failed 2 times. The first time: ValueError: no room\n" in said.err
