"""Installing a bundle: it is copied whole, read again, and only then the current one."""

import os
from dataclasses import dataclass
from filecmp import cmp
from pathlib import Path

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.limits import memory_bytes
from polydom_runtime.bundles.opened_folder import opened_folder
from polydom_runtime.exceptions import UpdateError
from polydom_runtime.files import replace_folder, sync_folder, write_file
from polydom_runtime.trust import SIGNATURE_FILE

from .packed import MAX_BYTES, MAX_ENTRIES
from .releases import RELEASES, Loader, current_digest, fault, release_path, up_to_current
from .retention import prune, without_leftovers
from .switching import locked, switch


@dataclass(frozen=True, slots=True)
class Installed:
    """What an install has done."""

    digest: str
    """Of the release that is the current one now."""
    before: str | None
    """The digest of the one that was before; None if there was none."""
    copied: bool
    """Whether it was copied; False if it was there already, sound, and with the same signature."""
    removed: tuple[str, ...]
    """The digests of releases that were removed."""


def install(bundle: Bundle, root: str | os.PathLike[str], *, keep: int = 3, load: Loader = load_bundle) -> Installed:
    """Copy a bundle into a folder of releases and make it the current one.

    At any instant, also after a kill or a power cut, the current release is the whole old or the whole new one.

    `bundle`: as it was read from the disk. `root`: the folder of releases. It is made if it is missing, with its
    parents. `keep`: the number of releases that stay, at least 2. `load`: what reads a bundle from a folder, checks it
    and returns it.

    Raises `UpdateError` if another process changes the releases, a file cannot be written, the bundle was changed
    meanwhile, or `keep` is too small.
    """
    if keep < 2:
        raise UpdateError(f"At least 2 releases must stay: the current one and the one before it. Got {keep}.")
    root = Path(root)
    _make_folders(root)
    with locked(root), without_leftovers(root):
        before, digest = current_digest(root), bundle.sha256
        damaged = fault(release_path(root, digest), digest, load) != "" or _is_signed_anew(bundle, root)
        if damaged:
            _put(bundle, root, load)
        switch(root, digest, [*(d for d in up_to_current(root) if d != digest), digest])
        return Installed(digest, before, damaged, tuple(prune(root, keep, load)))


def _make_folders(root: Path) -> None:
    try:
        missing = [parent for parent in reversed(root.absolute().parents) if not parent.exists()]
        for folder in (*missing, root, root / RELEASES):
            folder.mkdir(exist_ok=True)
            sync_folder(folder.parent)
    except OSError as e:
        raise UpdateError(f"{root} must be a folder that this user may write to, or may make. Got: {e}.") from e


def _put(bundle: Bundle, root: Path, load: Loader) -> None:
    """Copy a bundle to its place among the releases, where there may be a copy that is damaged or signed otherwise."""
    release = release_path(root, bundle.sha256)
    part = release.with_name(f".{bundle.sha256}.part")
    _copy(bundle, part)
    if why := fault(part, bundle.sha256, load):
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
    left = MAX_BYTES
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
