"""Kills real installs at random instants: ``python -m tests.runtime.delivery.killing ROOT BUNDLE ...``.

Two processes install the bundles in turn, until they are killed. Afterwards the current release must be sound and, but
for the first one, known to be on trial, and another install must succeed. It is a program of its own, since it forks
and a test may have threads.
"""

import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.on_trial import on_trial
from polydom_runtime.delivery.rollback import roll_back
from polydom_runtime.exceptions import UpdateError
from tests.draws import draws
from tests.runtime.delivery.nodes import current_in, rubbish

KILLS = draws(8, 200)


def main(root: Path, folders: list[Path]) -> None:
    """Kill, look, and print how many kills left something behind that the next install removed."""
    bundles, choose, interrupted = [load_bundle(folder) for folder in folders], random.Random(1), 0
    install(bundles[0], root)
    for _ in range(KILLS):
        children = [started(root, bundles) for _ in range(2)]
        time.sleep(choose.uniform(0.0, 0.03))
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        current = current_in(root)
        assert current in {bundle.sha256 for bundle in bundles}
        assert current == bundles[0].sha256 or current in on_trial(root)
        interrupted += rubbish(root) != []
        install(choose.choice(bundles), root)
        assert rubbish(root) == []
    print(f"{KILLS} kills, {interrupted} of them in the middle of a change")


def started(root: Path, bundles: list[Bundle]) -> int:
    """Return the number of a new process that installs one bundle after another, and often goes back."""
    if number := os.fork():
        return number
    while True:
        for bundle in bundles:
            with suppress(UpdateError):  # the other process is at work
                install(bundle, root, keep=2)
                roll_back(root)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(text) for text in sys.argv[2:]])
