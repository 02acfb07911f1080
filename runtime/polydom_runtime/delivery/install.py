"""Installing a bundle: it is copied whole, read again, and only then the current one. Then the oldest releases go."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from filecmp import cmp
from itertools import islice
from pathlib import Path

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.checks import memory_bytes
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.opened_folder import opened_folder
from polydom_runtime.exceptions import UpdateError
from polydom_runtime.files import replace_folder, sync_folder, write_file
from polydom_runtime.trust import SIGNATURE_FILE
from polydom_runtime.trust.statement import Statement

from .on_trial import on_trial, proved_before, put_on_trial
from .packed import MAX_ENTRIES, MAX_TAR_BYTES
from .releases import (
    HISTORY,
    NEW_LINK,
    RELEASES,
    TRIALS,
    Loader,
    current_digest,
    digests,
    fault,
    locked,
    release_path,
    switch,
    up_to_current,
)
from .succession import check_succession, stated_in

LEFTOVER = re.compile(r"\.[0-9a-f]{64}\.")
"""The start of the names of halves of releases. Other hidden files there belong to somebody else."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The result of an install; releases are named by their digests."""

    digest: str
    """The digest of the current release now."""
    before: str | None
    """The digest of the one before, if there was one."""
    copied: bool
    """False if it was there already, sound, and with the same signature."""
    removed: tuple[str, ...]


def install(
    bundle: Bundle,
    root: str | os.PathLike[str],
    *,
    keep: int = 3,
    load: Loader = load_bundle,
    allow_downgrade: bool = False,
) -> Installed:
    """Copy a bundle that was read from the disk into a folder of releases, and make it the current one.

    At any instant, also after a kill or a power cut, the current release is the whole old or the whole new one. `keep`
    releases stay, at least 2. Unless `allow_downgrade`, a signed release is followed only by one of its name with a
    higher release number, if it has a number.
    """
    assert bundle.path is not None
    if keep < 2:
        raise UpdateError(f"At least 2 releases must stay: the current one and the one before it. Got {keep}.")
    root = Path(root)
    _make_folders(root)
    with locked(root), _without_leftovers(root):
        before, digest = current_digest(root), bundle.sha256
        stated = stated_in(bundle.path)
        if before is not None and not allow_downgrade:
            check_succession(stated, stated_in(release_path(root, before)), same_bundle=before == digest)
        damaged = fault(release_path(root, digest), digest, load) != "" or _is_signed_anew(bundle, root)
        if before not in (None, digest) and (damaged or digest in on_trial(root)):
            put_on_trial(root, digest)  # before the release is there, which would count as one that proved itself
        if damaged:
            _put(bundle, root, load, stated)
        switch(root, digest, [*(d for d in up_to_current(root) if d != digest), digest])
        return Installed(digest, before, damaged, tuple(_prune(root, keep, load)))


def _make_folders(root: Path) -> None:
    try:
        missing = [parent for parent in reversed(root.absolute().parents) if not parent.exists()]
        for folder in (*missing, root, root / RELEASES):
            folder.mkdir(exist_ok=True)
            sync_folder(folder.parent)
    except OSError as e:
        raise UpdateError(f"{root} must be a folder that this user may write to, or may make. Got: {e}.") from e


def _put(bundle: Bundle, root: Path, load: Loader, stated: Statement | None) -> None:
    """Copy a bundle to its place among the releases, where there may be a copy that is damaged or signed otherwise."""
    release = release_path(root, bundle.sha256)
    part = release.with_name(f".{bundle.sha256}.part")
    _copy(bundle, part)
    if why := fault(part, bundle.sha256, load) or "its signature was replaced." * (stated_in(part) != stated):
        raise UpdateError(f"The copy of {bundle.path} must be the bundle that was checked. It is not: {why}")
    replace_folder(part, release)  # in one step: the one there may be sound, with another signature


def _is_signed_anew(bundle: Bundle, root: Path) -> bool:
    """Tell whether a bundle has a signature that its release has not, such as one with a later end."""
    assert bundle.path is not None
    new, old = (folder / SIGNATURE_FILE for folder in (bundle.path, release_path(root, bundle.sha256)))
    return new.is_file() and not (old.is_file() and cmp(new, old, shallow=False))


def _copy(bundle: Bundle, folder: Path) -> None:
    """Copy all files of a bundle, since a signature is over all of them."""
    assert bundle.path is not None
    left = MAX_TAR_BYTES
    with opened_folder(bundle.path) as source:
        if len(names := source.files()) > MAX_ENTRIES:
            raise UpdateError(f"{bundle.path} must have at most {MAX_ENTRIES} files. Got {len(names)}. Remove others.")
        folders = {(folder / name).parent for name in names} | {folder}
        for made in sorted(folders):
            made.mkdir()
        for name in names:
            content = source.read(name, min(left, memory_bytes() // 2))
            write_file(folder / name, content)
            left -= len(content)
    for made in folders:
        sync_folder(made)


def _prune(root: Path, keep: int, load: Loader) -> list[str]:
    """Remove all releases except the current one and the next sound ones, `keep` in all; return the removed ones.

    Those before the current one stay rather than those that were rolled back. The one right before it stays even if it
    cannot be used: perhaps it only could not be read now. So does the one that a failed trial leads back to.
    """
    *earlier, current = up_to_current(root)
    there = digests(root)
    ranked = dict.fromkeys([*(d for d in reversed(earlier) if d in there), *there])
    ranked.pop(current, None)
    sound = (d for d in ranked if not fault(release_path(root, d), d, load))
    stay = {current, *earlier[-1:], proved_before(root), *islice(sound, keep - 1)}
    removed = [digest for digest in there if digest not in stay]
    for path in (release_path(root, digest) for digest in removed):
        if path.exists():  # renamed first, so that no half of it is ever seen under its name: it is a leftover now
            path.rename(path.with_name(f".{path.name}.old"))
            sync_folder(path.parent)
    return removed


@contextmanager
def _without_leftovers(root: Path) -> Iterator[None]:
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
    lists = (path for name in (HISTORY, TRIALS) for path in root.glob(f".{name}.*.part"))
    for path in [*of_releases, *lists, root / NEW_LINK]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
