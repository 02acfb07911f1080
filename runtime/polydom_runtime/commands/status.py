"""``polydom-node status``: list the releases of a node."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from polydom_runtime.causes import printable
from polydom_runtime.delivery.on_trial import on_trial
from polydom_runtime.delivery.releases import Release, current_digest, releases

from .bundle_options import TRUST, loader_of
from .options import Option
from .outcome import ExitCode, Outcome
from .terminal import show

OPTIONS = Option("root ROOT", "the folder of releases"), TRUST


def run(arguments: Namespace) -> Outcome:
    """Print the releases, the newest copy first; return 1 if the current one is missing or damaged, else 0."""
    current, found = current_digest(Path(arguments.root)), releases(arguments.root, loader_of(arguments))
    tried = sorted(on_trial(Path(arguments.root)).keys() & {release.digest for release in found})
    if sys.stdout.isatty():
        from .summary_text import show_folded  # only here: often, a program reads

        show_folded([_sentence(release, current, tried) for release in found] or ["No release is installed."])
    else:
        for release in found:
            mark, date, size, state = _told(release, current, tried)
            state += f"  {release.name}" * (not release.fault)
            show(f"{mark:7} {release.digest}  {date}  {size}  {state}")
    is_sound = any(release.digest == current and not release.fault for release in found)
    return Outcome(
        {"current": current, "on_trial": tried, "releases": found}, ExitCode.DONE if is_sound else ExitCode.WRONG
    )


def _told(release: Release, current: str | None, tried: Sequence[str]) -> tuple[str, str, str, str]:
    """Return whether a release is the current one, when it was installed, its size and its state, in words."""
    state = "on trial" if release.digest in tried else "sound"
    return (
        "current" if release.digest == current else "",
        datetime.fromtimestamp(release.installed, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        f"{release.size_bytes / 1e6:8.2f} MB",
        f"cannot be used: {printable(release.fault)}" if release.fault else state,
    )


def _sentence(release: Release, current: str | None, tried: Sequence[str]) -> str:
    mark, date, size, state = _told(release, current, tried)
    known = filter(None, (mark, state, f"installed {date}", size.strip(), f"SHA-256 {release.digest[:12]}..."))
    return f"{printable(release.name) or 'unknown name'}: {', '.join(known)}"
