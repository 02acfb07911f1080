"""``polydom-node rollback``: make an earlier release the current one."""

import argparse

from polydom_runtime.delivery.rollback import SHORTEST, roll_back

from .arguments import add_trust
from .outcome import Outcome
from .terminal import say, show
from .tuned_bundle import loader_of


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node rollback``."""
    command.add_argument("--into", required=True, metavar="ROOT", help="the folder of releases")
    command.add_argument(
        "--to",
        metavar="DIGEST",
        help=f"the digest of the release to use, or its first {SHORTEST} or more characters (default: the last sound "
        "release before the current one)",
    )
    add_trust(command)


def run(arguments: argparse.Namespace) -> Outcome:
    """Roll back, and say to which release.

    Raises `UpdateError` if there is no such release, or it is damaged.
    """
    done = roll_back(arguments.into, to=arguments.to, load=loader_of(arguments))
    for digest, fault in done.passed_over.items():
        say(f"passed over {digest}: {fault}")
    show(f"{arguments.into}: {done.digest} is the current release now")
    return Outcome({"root": arguments.into, **done._asdict()})
