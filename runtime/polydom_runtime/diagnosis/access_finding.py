"""A finding about who may change what the node reads and runs."""

import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from polydom_runtime.findings import Finding, finding


def check_access(paths: Iterable[Path]) -> Finding:
    """Check that not every user of the machine may write to files and folders, or put others in their places.

    `paths`: a path that does not exist is left out, and the file or folder that a link leads to is checked.
    """
    found = {path.resolve() for path in paths}
    exposed = {path for path in found if _mode(path) & stat.S_IWOTH}
    # Where the sticky bit is set, as in /tmp, nobody can rename what belongs to others.
    above = {folder for path in found for folder in path.parents}
    exposed |= {folder for folder in above if _mode(folder) & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH}
    return finding(
        "access",
        "warning" if exposed else "ok",
        f"any user may write to {', '.join(map(str, sorted(exposed)))}" if exposed else "not for every user",
        "whoever changes the bundle, the keys or the code of the features decides what this node answers",
        "chmod o-w for each of them",
    )


def _mode(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_mode
    return 0
