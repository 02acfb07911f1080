"""``python -m tests.benchmarks.updates --updates 500``: whether a loop notices that its bundle is updated.

Two nodes run side by side at the same period. One gets installs and rollbacks; every tenth is a broken bundle, or an
install that is killed half-way. Nothing here is asserted.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.releases import current_release
from polydom_runtime.delivery.rollback import roll_back
from polydom_runtime.exceptions import PolyDomError, UpdateError
from polydom_runtime.supervision.keeper import own_command, own_environment
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write

from .ratios import note

PERIOD, DEADLINE = "20ms", "5ms"
KINDS = 4
"""So many bundles, each with labels of its own, take turns."""

TAKEN_S = 3.0
"""How long a node has to take an update over before the next one comes."""


def items() -> Any:
    """Yield items of different sizes for ever."""
    rng = np.random.default_rng(0)
    while True:
        yield rng.standard_normal(rng.integers(20, 900)).astype(np.float32)


def labels(kind: int) -> tuple[str, str]:
    """Return the labels of one of the bundles."""
    return f"no {kind}", f"yes {kind}"


class Node:
    """A node at work, whose answers go to a file."""

    def __init__(self, root: Path, more: Sequence[str]) -> None:
        self._out = root / "answers"
        options = ["--items", "tests.benchmarks.updates:items", "--period", PERIOD, "--deadline", DEADLINE, *more]
        command = own_command(
            "polydom_runtime", "run", str(root / "current"), "tests.runtime.node_space:space", *options
        )
        with open(self._out, "w") as out, open(root / "told", "w") as told:
            self.process = subprocess.Popen(command, env=own_environment(), stdout=out, stderr=told)

    def last(self) -> dict[str, Any]:
        """Return the last whole answer so far."""
        with open(self._out, "rb") as stream:
            stream.seek(max(os.path.getsize(self._out) - 4096, 0))
            lines = stream.read().split(b"\n")
        return dict(json.loads(lines[-2])) if len(lines) > 2 else {}

    def wait_for(self, digest: str) -> None:
        """Wait until a bundle answers, for some time."""
        end = time.monotonic() + TAKEN_S
        while time.monotonic() < end and self.last().get("bundle") != digest[:12]:
            time.sleep(0.05)

    def end(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Stop the node; return its answers and its summary."""
        self.process.terminate()
        self.process.wait()
        *answers, last = [json.loads(line) for line in self._out.read_text().splitlines()]
        return answers, last["summary"]


def update(root: Path, kind: int, number: int, rng: random.Random) -> str:
    """Change the releases of a node in one of the ways of an update, and return which one."""
    bundle = root / f"bundle {kind}"
    if number % 10 == 9:
        if number % 20 == 9:
            broken = root / "broken"
            shutil.rmtree(broken, ignore_errors=True)
            shutil.copytree(bundle, broken)
            file = rng.choice([file for file in broken.rglob("*") if file.is_file()])
            file.write_bytes(file.read_bytes()[: rng.randrange(40)])
            with suppress(PolyDomError):
                install(load_bundle(broken), root)
            return "broken"
        with subprocess.Popen(
            own_command("polydom_runtime", "install", str(bundle), "--into", str(root)), **QUIET
        ) as it:
            time.sleep(rng.uniform(0.1, 1.0))
            it.kill()
        return "killed"
    if number % 5 == 4:
        with suppress(PolyDomError):
            roll_back(root)
        return "rolled back"
    try:
        install(load_bundle(bundle), root)
    except UpdateError:  # the node rolls a release back just now
        return "not installed"
    return "installed"


QUIET: dict[str, Any] = {"env": own_environment(), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def run(folder: Path, updates: int, more: Sequence[str]) -> None:
    """Run both nodes and print what became of their items."""
    rng, bundle_and_models = random.Random(0), make_bundle()
    roots = [folder / name for name in ("updated", "left alone")]
    digests = []
    for kind in range(KINDS):
        bundle = changed(bundle_and_models[0], classes=labels(kind), budgets=(1e-3, 5e-3))
        for root in roots:
            written = write(root / f"bundle {kind}", bundle, bundle_and_models[1])
        digests.append(load_bundle(written).sha256)
    for root in roots:
        install(load_bundle(root / "bundle 0"), root)
    nodes = [Node(roots[0], ["--follow", "--trial", "10", *more]), Node(roots[1], more)]
    done: Counter[str] = Counter()
    try:
        for node in nodes:
            while not node.last():
                time.sleep(0.1)
        for number in range(updates):
            done[update(roots[0], (number + 1) % KINDS, number, rng)] += 1
            nodes[0].process.send_signal(signal.SIGHUP)
            nodes[0].wait_for(current_release(roots[0]).digest)
    finally:
        ended = [node.end() for node in nodes]
    print(", ".join(f"{n} {what}" for what, n in done.items()))
    shares = []
    for root, (answers, summary) in zip(roots, ended, strict=True):
        mixed = sum(a["label"] not in labels(digests.index(digest_of(a, digests))) for a in answers if "bundle" in a)
        lost = len({*range(answers[-1]["item"] + 1)} - {a["item"] for a in answers})
        shares.append(max(summary["missed"], 1) / len(answers))
        print(
            f"{root.name}: {len(answers)} items, {lost} lost, {mixed} with labels of another bundle, "
            f"{summary['missed']} late, {summary['loop']['skipped']} periods skipped, {summary.get('reloads', {})}"
        )
    what, ratio, target = "share of late answers with updates / without", shares[0] / shares[1], "<= 1.5"
    note(what, ratio, target)
    print(f"{what}: {shares[0]:.4f} / {shares[1]:.4f} = {ratio:.2f}   (target {target})")


def digest_of(answer: dict[str, Any], digests: Sequence[str]) -> str:
    """Return the digest of the bundle that an answer names."""
    return next(digest for digest in digests if digest.startswith(answer["bundle"]))


def main(argv: Sequence[str] | None = None) -> None:
    """Run the two nodes, alone and then under supervision unless one is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.updates", description=__doc__)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--supervised", action="store_true", help="only under supervision")
    arguments = parser.parse_args([] if argv is None else argv)
    for more in [["--supervised"]] if arguments.supervised else [[], ["--supervised"]]:
        print(" ".join(["nodes", *more]))
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder), arguments.updates, more)


if __name__ == "__main__":
    main(sys.argv[1:])
