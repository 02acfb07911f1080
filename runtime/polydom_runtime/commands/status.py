"""``polydom-node status``: list the releases of a node."""

from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

from polydom_runtime.causes import printable
from polydom_runtime.delivery.on_trial import on_trial
from polydom_runtime.delivery.releases import current_digest, releases

from .bundle_options import TRUST, loader_of
from .options import Option
from .outcome import ExitCode, Outcome
from .terminal import show

OPTIONS = Option("root ROOT", "the folder of releases"), TRUST


def run(arguments: Namespace) -> Outcome:
    """Print the releases, the newest copy first; return 1 if the current one is missing or damaged, else 0."""
    current, found = current_digest(Path(arguments.root)), releases(arguments.root, loader_of(arguments))
    tried = sorted(on_trial(Path(arguments.root)).keys() & {release.digest for release in found})
    for release in found:
        mark = "current" if release.digest == current else ""
        date = datetime.fromtimestamp(release.installed, UTC).strftime("%Y-%m-%d %H:%M UTC")
        sound = f"{'on trial' if release.digest in tried else 'sound'}  {release.name}"
        state = f"cannot be used: {printable(release.fault)}" if release.fault else sound
        show(f"{mark:7} {release.digest}  {date}  {release.size_bytes / 1e6:8.2f} MB  {state}")
    is_sound = any(release.digest == current and not release.fault for release in found)
    return Outcome(
        {"current": current, "on_trial": tried, "releases": found}, ExitCode.DONE if is_sound else ExitCode.WRONG
    )
