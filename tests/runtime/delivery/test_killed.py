"""Real processes that are killed at random instants."""

import subprocess
import sys
from pathlib import Path

from polydom_runtime.bundles.bundle import Bundle

ROOT = Path(__file__).parents[3]


def test_each_kill_leaves_a_sound_release(tmp_path: Path, bundles: list[Bundle]) -> None:
    folders = [str(bundle.path) for bundle in bundles]
    command = [sys.executable, "-m", "tests.runtime.delivery.killing", str(tmp_path / "root"), *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
