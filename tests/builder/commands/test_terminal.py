"""The commands of the host on other terminals, and where nobody reads their output."""

import os
from pathlib import Path

import pytest

from tests.draws import draws
from tests.runtime.commands.test_terminal import GOLDEN, started

INSPECT = ("inspect", GOLDEN)
HOST = "polydom_builder"


@pytest.mark.parametrize("encoding", draws(["ascii"], ["ascii", "latin-1"]))
def test_every_terminal_gets_readable_text(encoding: str, tmp_path: Path) -> None:
    done = started(INSPECT, tmp_path, program=HOST, PYTHONIOENCODING=encoding)

    assert (done.returncode, done.stderr) == (0, b"")
    assert "\\u" not in done.stdout.decode(encoding)


def test_nobody_reads(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        gone = started(INSPECT, tmp_path, out, program=HOST)
    with open("/dev/full", "wb") as out:
        full = started(INSPECT, tmp_path, out, program=HOST)
    closed = started(INSPECT, tmp_path, shell=">&- 2>&-", program=HOST)

    assert [gone.returncode, full.returncode, closed.returncode] == [141, 2, 0]
    assert gone.stderr + closed.stderr + closed.stdout == b""
    assert full.stderr == b"polydom: [Errno 28] No space left on device\n"
