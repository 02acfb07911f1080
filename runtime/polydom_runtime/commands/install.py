"""``polydom-node install``: check a bundle and make it the current release."""

import argparse
import sys
from dataclasses import asdict

from polydom_runtime.delivery.fitness import check_fitness
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.packed import unpacked
from polydom_runtime.device.board import Board
from polydom_runtime.device.probe import probe
from polydom_runtime.findings import as_text
from polydom_runtime.items.sources import space_of

from .arguments import add_trust
from .outcome import Outcome
from .terminal import show
from .tuned_bundle import loader_of


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node install``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder, or a .tar file from `polydom pack`")
    command.add_argument("--into", required=True, metavar="ROOT", help="the folder of releases; made if it is missing")
    command.add_argument(
        "--space", metavar="MODULE:SPACE", help="the feature space, to compare its numbers with those of the build"
    )
    command.add_argument(
        "--keep", type=int, default=3, metavar="RELEASES", help="the number of releases that stay (default 3)"
    )
    add_trust(command)


def run(arguments: argparse.Namespace) -> Outcome:
    """Check the bundle on this machine, install it, and say what changed.

    Raises `UpdateError` if it cannot work on this machine, or cannot be installed. Raises `PolyDomError` if the bundle
    or the feature space cannot be used.
    """
    space = space_of(arguments.space) if arguments.space else None
    load = loader_of(arguments)
    with unpacked(arguments.bundle) as folder:
        bundle = load(folder)
        if warnings := check_fitness(bundle, Board(), probe(), space):
            print(as_text(warnings), file=sys.stderr)
        done = install(bundle, arguments.into, keep=arguments.keep, load=load)
    show(f"{arguments.into}: {done.digest} {_how(done.copied, done.digest == done.before)}")
    if done.before not in (None, done.digest):
        keys = "".join(f" --trust {file}" for file in arguments.trust or ())
        show(f"before: {done.before}; back to it: polydom-node rollback --into {arguments.into}{keys}")
    for digest in done.removed:
        show(f"removed: {digest}")
    return Outcome({"root": arguments.into, **asdict(done), "warnings": warnings})


def _how(copied: bool, was_current: bool) -> str:
    """Say what an install has done to the release."""
    if was_current:
        repaired = "is the current release, and was damaged or signed anew: it is repaired"
        return repaired if copied else "is the current release already"
    return "is the current release now" + ", and was already there" * (not copied)
