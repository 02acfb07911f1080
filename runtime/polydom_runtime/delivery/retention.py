"""Which releases stay, and the removal of the others."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from polydom_runtime.files import sync_folder

from .releases import HISTORY, RELEASES, Loader, digests, fault, release_path, up_to_current
from .switching import NEW_LINK

LEFTOVER = re.compile(r"\.[0-9a-f]{64}\.")
"""How the names of halves of releases begin. What else is hidden there belongs to somebody else."""


def prune(root: Path, keep: int, load: Loader) -> list[str]:
    """Remove all releases but the current one and the next sound ones, `keep` in all. Return what was removed.

    The ones before the current one, by which a rollback goes, come before those that were rolled back. The one right
    before it stays even if it cannot be used: perhaps it could only not be read now.
    """
    *earlier, current = up_to_current(root)
    there = digests(root)
    ranked = dict.fromkeys([*(d for d in reversed(earlier) if d in there), *there])
    ranked.pop(current, None)
    stay = {current, *earlier[-1:], *islice((d for d in ranked if not fault(release_path(root, d), d, load)), keep - 1)}
    removed = [digest for digest in there if digest not in stay]
    for digest in removed:
        put_aside(root, digest)
    return removed


def put_aside(root: Path, digest: str) -> None:
    """Take the name of a release away, so that no half of it is ever seen under this name. The rest is a leftover."""
    path = release_path(root, digest)
    if path.exists():
        path.rename(path.with_name(f".{digest}.old"))
        sync_folder(path.parent)


@contextmanager
def without_leftovers(root: Path) -> Iterator[None]:
    """Remove leftovers before and after the block. The caller has the lock, so that no other process needs them."""
    _remove_leftovers(root)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            _remove_leftovers(root)
        raise
    _remove_leftovers(root)


def _remove_leftovers(root: Path) -> None:
    of_releases = (path for path in (root / RELEASES).iterdir() if LEFTOVER.match(path.name))
    for path in [*of_releases, *root.glob(f".{HISTORY}.*.part"), root / NEW_LINK]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
