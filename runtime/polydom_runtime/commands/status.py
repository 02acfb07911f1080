"""``polydom-node status``: list the releases of a node."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from polydom_runtime.causes import printable
from polydom_runtime.delivery.releases import current_digest, releases

from .arguments import add_trust
from .exit_code import ExitCode
from .outcome import Outcome
from .terminal import show
from .tuned_bundle import loader_of


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node status``."""
    command.add_argument("root", metavar="ROOT", help="the folder of releases")
    add_trust(command)


def run(arguments: argparse.Namespace) -> Outcome:
    """Print the releases, the newest copy first; return 1 if the current one is missing or damaged, else 0.

    Raises `UpdateError` if the folder cannot be read.
    """
    current, found = current_digest(Path(arguments.root)), releases(arguments.root, loader_of(arguments))
    for release in found:
        mark = "current" if release.digest == current else ""
        date = datetime.fromtimestamp(release.installed, UTC).strftime("%Y-%m-%d %H:%M UTC")
        state = f"cannot be used: {printable(release.fault)}" if release.fault else f"sound  {release.name}"
        show(f"{mark:7} {release.digest}  {date}  {release.size_bytes / 1e6:8.2f} MB  {state}")
    is_sound = any(release.digest == current and not release.fault for release in found)
    return Outcome({"current": current, "releases": found}, ExitCode.DONE if is_sound else ExitCode.WRONG)
