"""A build killed half-way goes on where it stopped, and ends as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polydom_builder.training.folds import MOST_BLOCKS
from polydom_runtime.bundles.index_file import load_bundle
from tests.builder import held_build
from tests.draws import draws

ROOT = Path(__file__).parents[2]
KILLS = draws(1, 2)


def start(cache: Path, out: Path, log: Path, *last: int) -> subprocess.Popen[bytes]:
    """Start a build that, at its `last` scoring, waits to be killed."""
    command = [sys.executable, "-c", "from tests.builder import held_build; held_build.main()"]
    return subprocess.Popen(
        [*command, *map(str, (cache, out, log, *last))], cwd=ROOT, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    )


def lines(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_killed_build_goes_on_and_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [str(tmp_path / name) for name in ("cache-whole", "whole.bundle", "whole.log")]
    monkeypatch.setattr(sys, "argv", ["held_build", *whole])
    held_build.main()
    total = lines(tmp_path / "whole.log")

    log = tmp_path / "killed.log"
    for kills in range(1, KILLS + 1):
        last = kills * total // (KILLS + 1)
        build = start(tmp_path / "cache", tmp_path / "killed.bundle", log, last)
        while lines(log) < last and build.poll() is None:
            time.sleep(0.01)
        build.send_signal(signal.SIGKILL)
        assert build.wait() == -signal.SIGKILL
        assert not (tmp_path / "killed.bundle").exists()
    rest = start(tmp_path / "cache", tmp_path / "killed.bundle", log)
    assert rest.wait(timeout=300) == 0

    # Each kill costs the set in work at most: 3 folds of one set, each scored as a whole and without each block.
    assert lines(log) <= total + KILLS * 3 * (1 + MOST_BLOCKS // 3)
    files = sorted(p.relative_to(tmp_path / "whole.bundle") for p in (tmp_path / "whole.bundle").rglob("*.*"))
    assert len(files) == 3 + len(load_bundle(tmp_path / "whole.bundle").models)
    for file in files:
        assert (tmp_path / "whole.bundle" / file).read_bytes() == (tmp_path / "killed.bundle" / file).read_bytes()
