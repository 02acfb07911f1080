"""The releases of a node: whole bundles in a folder, one of which is the current one.

In the folder ``ROOT`` a release is ``releases/DIGEST``, with the SHA-256 of the bundle's index as its name, and
``current`` is a relative symbolic link to one of them. ``history`` has the digests in the order of their installs,
``trials`` those that have not proved themselves yet (see `on_trial`).
"""

import errno
import fcntl
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.exceptions import PolyDomError, UpdateError
from polydom_runtime.files import followed, open_kept, replace_file, sync_folder, without_waiting

RELEASES, CURRENT, HISTORY, TRIALS, LOCK = "releases", "current", "history", "trials", "lock"
NEW_LINK = f".{CURRENT}.part"

MAX_LIST_BYTES = 16 << 20
"""The bytes of 250,000 installs in the history; no more is read."""

Loader = Callable[[Path], Bundle]
"""Reads a bundle, with a `PolyDomError` if it is not sound or not to be trusted."""

_DIGEST = re.compile("[0-9a-f]{64}")


class CurrentRelease(NamedTuple):
    """The release that a node is to use: its folder never holds another bundle."""

    digest: str
    path: Path


@dataclass(frozen=True, slots=True)
class Release:
    """A release as it is on the disk."""

    digest: str
    """The SHA-256 of its index in hexadecimal."""
    name: str
    """The name and the version of the bundle; empty if it cannot be read."""
    installed: float
    """When it was copied, in seconds since 1970, by the clock of the node."""
    size_bytes: int
    fault: str = ""
    """Why it cannot be used; empty if it is sound."""


def current_release(root: str | os.PathLike[str]) -> CurrentRelease:
    """Return the current release, by reading one link; `UpdateError` if there is none."""
    link = Path(root) / CURRENT
    try:
        target = os.readlink(link)
    except OSError as e:
        raise _no_release(link, str(e.strerror)) from e
    folder, _, digest = target.rpartition("/")
    if folder != RELEASES or not is_digest(digest):
        raise _no_release(link, target)
    return CurrentRelease(digest, release_path(root, digest))


def _no_release(link: Path, got: str) -> UpdateError:
    return UpdateError(f"{link} must be a link to a release. Got: {got}. Install a bundle with `polydom-node install`.")


def current_digest(root: Path) -> str | None:
    """Return the digest of the current release, or None if there is none."""
    try:
        return current_release(root).digest
    except UpdateError:
        return None


def release_path(root: str | os.PathLike[str], digest: str) -> Path:
    """Return the folder of a release."""
    return Path(root, RELEASES, digest)


def digests(root: Path) -> list[str]:
    """Return the digests of all releases on the disk, the newest copy first."""
    found = [entry for entry in os.scandir(root / RELEASES) if is_digest(entry.name)]
    copied = {entry.name: entry.stat(follow_symlinks=False).st_mtime_ns for entry in found}
    return sorted(copied, key=lambda digest: (-copied[digest], digest))


def history(root: Path) -> list[str]:
    """Return the digests of releases in the order of their installs; none if the file is missing or damaged."""
    words = (word for line in words_of_lines(root / HISTORY) for word in line)
    return list(dict.fromkeys(filter(is_digest, words)))


def words_of_lines(file: Path) -> list[list[str]]:
    """Return the words of the lines of a list in the folder of releases; none if it is missing."""
    try:
        with open(file, "rb", opener=without_waiting) as stream:
            lines = (stream.read(MAX_LIST_BYTES) or b"").decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [words for line in lines if (words := line.split())]


def is_digest(word: str) -> bool:
    """Tell whether a word is a digest in hexadecimal, as releases are named."""
    return _DIGEST.fullmatch(word) is not None


def up_to_current(root: Path) -> list[str]:
    """Return the history up to the current release, which comes last: without those that were rolled back."""
    known, current = history(root), current_digest(root)
    if current is None:
        return known
    return known[: known.index(current) + 1] if current in known else [current]


def checked(path: Path, digest: str, load: Loader) -> Bundle:
    """Read the bundle with this digest from a folder."""
    bundle = load(path)
    if bundle.sha256 != digest:
        raise UpdateError(f"{path} must hold the bundle {digest}. Got {bundle.sha256}. Install it again.")
    return bundle


def fault(path: Path, digest: str, load: Loader) -> str:
    """Return why the bundle with this digest cannot be used from a folder; an empty text if it can."""
    try:
        checked(path, digest, load)
    except PolyDomError as e:
        return str(e)
    return ""


def releases(root: str | os.PathLike[str], load: Loader = load_bundle) -> list[Release]:
    """Return all releases, the newest copy first."""
    try:
        return [_release(Path(root), digest, load) for digest in digests(Path(root))]
    except OSError as e:
        raise UpdateError(f"{root} must be a folder that `polydom-node install` made. Got: {e}.") from e


def _release(root: Path, digest: str, load: Loader) -> Release:
    path, name, reason = release_path(root, digest), "", ""
    size_bytes = sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir())
    try:
        name = str(checked(path, digest, load).identity)
    except PolyDomError as e:
        reason = str(e)
    return Release(digest, name, path.lstat().st_mtime, size_bytes, reason)


@contextmanager
def locked(root: Path, *, wait: bool = False) -> Iterator[None]:
    """Let no other process change the releases during the block. The system takes the lock back if this one dies.

    If another one does, `UpdateError`, or `wait` until it has ended.
    """
    try:
        for link in (root / name for name in (RELEASES, HISTORY, TRIALS, LOCK)):
            if link.is_symlink():
                followed(link)  # which says if it is somebody else's
                raise OSError(errno.ELOOP, "It must be no link, which would lead out of the folder", str(link))
        # Not for writing, so that a service can roll back releases that the superuser has installed.
        descriptor = open_kept(root / LOCK, os.O_RDONLY | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            yield
        finally:
            os.close(descriptor)
    except BlockingIOError as e:
        raise UpdateError(
            f"One process at a time may change the releases in {root}. Another one does. Try again when it has ended."
        ) from e
    except OSError as e:
        raise UpdateError(
            f"{root} must be a folder in which this user may write, with space left. Got: {e}. The current release is "
            f"{current_digest(root) or 'none'}. Correct that, and try again."
        ) from e


def switch(root: Path, digest: str, known: Sequence[str]) -> None:
    """Make a release the current one, and `known` the history, in which it must be.

    The history comes first: it counts only up to the current release, so that it is right before and after. Names are
    synced even if they are there already, since a process may have ended between a rename and its sync. Nothing that is
    right is written again: the way back writes only a link, for which a full disk mostly has space.
    """
    sync_folder(root / RELEASES)
    if list(known) != history(root):
        replace_file(root / HISTORY, "".join(f"{line}\n" for line in known).encode())
    if digest != current_digest(root):
        link = root / NEW_LINK
        link.unlink(missing_ok=True)
        link.symlink_to(f"{RELEASES}/{digest}")
        sync_folder(root)
        link.replace(root / CURRENT)
    sync_folder(root)
