"""The same build gives the same bytes: at any time, in any order of sets, whether its models were kept or not."""

import os
import subprocess
import sys
from pathlib import Path

from tests.builder.searches import fit, search

LATER = 100_000_007
"""Seconds."""


def build(folder: str) -> None:
    fit(search(memory=None, alpha=1.0)).export(folder)


AT_ANOTHER_TIME = f"""
import time
now = time.time
time.time = lambda: now() + {LATER}
time.time_ns = lambda: int(time.time() * 1e9)
from tests.builder.test_same_bytes import build
build({{}})
"""


def test_process_with_another_clock_and_other_hashes_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    """`folder` was written by this process, with a cache."""
    other = tmp_path / folder.name
    environment = os.environ | {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu"}

    subprocess.run([sys.executable, "-c", AT_ANOTHER_TIME.format(repr(str(other)))], env=environment, check=True)

    files = sorted(file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    assert sorted(file.relative_to(other) for file in other.rglob("*") if file.is_file()) == files
    assert [str(file) for file in files if (folder / file).read_bytes() != (other / file).read_bytes()] == []
