"""A build killed half-way goes on where it stopped, and ends as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from polydom_builder.training.blocks import MOST_BLOCKS
from polydom_runtime.bundles.index_file import load_bundle

ROOT = Path(__file__).parents[2]


def start(cache: Path, out: Path, log: Path, *last: int) -> subprocess.Popen[bytes]:
    """Start a build that, at its `last` scoring, waits to be killed."""
    command = [sys.executable, "-m", "tests.builder.held_build", *map(str, (cache, out, log, *last))]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})


def lines(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_killed_build_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    whole = start(tmp_path / "cache-whole", tmp_path / "whole.bundle", tmp_path / "whole.log")
    assert whole.wait(timeout=300) == 0
    total = lines(tmp_path / "whole.log")

    log = tmp_path / "killed.log"
    for kills in (1, 2):
        last = kills * total // 3
        build = start(tmp_path / "cache", tmp_path / "killed.bundle", log, last)
        while lines(log) < last and build.poll() is None:
            time.sleep(0.01)
        build.send_signal(signal.SIGKILL)
        assert build.wait() == -signal.SIGKILL
        assert not (tmp_path / "killed.bundle").exists()
    rest = start(tmp_path / "cache", tmp_path / "killed.bundle", log)
    assert rest.wait(timeout=300) == 0

    # Each kill costs the set in work at most: 3 folds of one set, each scored as a whole and without each block.
    assert lines(log) <= total + 2 * 3 * (1 + MOST_BLOCKS // 3)
    files = sorted(p.relative_to(tmp_path / "whole.bundle") for p in (tmp_path / "whole.bundle").rglob("*.*"))
    assert len(files) == 3 + len(load_bundle(tmp_path / "whole.bundle").models)
    for file in files:
        assert (tmp_path / "whole.bundle" / file).read_bytes() == (tmp_path / "killed.bundle" / file).read_bytes()
