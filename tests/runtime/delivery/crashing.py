"""Nodes whose new release kills the process after some answers: ``python -m tests.runtime.delivery.crashing [TRIALS]``.

Each node is started again until it ends by itself. Whatever comes first, a crash or the end of the trial, decides
whether it has the old release then, or the new one.
"""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from polydom_runtime import CostFunction
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.on_trial import MOST_STARTS, on_trial
from polydom_runtime.supervision.keeper import own_command, own_environment
from tests.bundle_parts import changed
from tests.runtime.conftest import US, make_bundle, write
from tests.runtime.delivery.nodes import current_in

TRIAL = 100

WARM_UP_CALLS = 5
"""Also the old bundle calls the feature, when it is warmed up."""

ROOT = Path(__file__).parents[3]


def releases_in(folder: Path) -> tuple[str, str]:
    """Install a bundle that has no time for the feature that crashes, and one that has; return their digests."""
    bundle, models = make_bundle()
    never = (CostFunction.of(10 * US), CostFunction.of(20 * US), CostFunction.of(9.0))
    digests = []
    for k, one in enumerate((changed(bundle, budgets=(1e-3, 1.0), costs=never), changed(bundle, budgets=(1e-3, 1.0)))):
        found = load_bundle(write(folder / f"{k}", one, models))
        install(found, folder / "root")
        digests.append(found.sha256)
    return digests[0], digests[1]


def crashed(root: Path, crash_after: int) -> bool:
    """Run the node until it ends, and return whether it was killed."""
    module = "tests.runtime.delivery.crashing_space"
    words = [str(root / "current"), f"{module}:space", "--items", f"{module}:items", "--trial", str(TRIAL)]
    command = own_command("polydom_runtime", "run", *words, "--deadline", "1s", "--follow", "--quiet")
    environment = {**own_environment(), "POLYDOM_CRASH_AFTER": str(crash_after)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode != 0


def tried(folder: Path, crash_after: int) -> tuple[bool, int]:
    """Return whether the new release is current after all, and the number of crashes."""
    old, new = releases_in(folder)
    root, crashes = folder / "root", 0
    while crashed(root, crash_after) and crashes < MOST_STARTS + 2:
        crashes += 1
        assert current_in(root) == new
        assert new not in on_trial(root) or (on_trial(root)[new].starts == (crashes,) and crashes <= MOST_STARTS)
    assert current_in(root) == old or new not in on_trial(root)
    return current_in(root) == new, crashes


def main(trials: int) -> None:
    """Print for each trial how many answers came before a crash, and how it ended."""
    choose = random.Random(1)
    for _ in range(trials):
        with TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
            crash_after = choose.randrange(WARM_UP_CALLS, TRIAL + 60)
            stays, crashes = tried(Path(folder), crash_after)
            print(f"crash after {crash_after}: {crashes} crashes, {'the new' if stays else 'the old'} one", flush=True)
            assert stays == (crash_after > TRIAL + 2) or TRIAL - 2 <= crash_after <= TRIAL + 2, crash_after


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
