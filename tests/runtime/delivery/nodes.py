"""Nodes in folders, with releases that are small bundles."""

import os
from pathlib import Path

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.releases import current_release
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write


def bundle_number(folder: Path, number: int) -> Bundle:
    """Write one of many bundles that differ, and read it."""
    bundle, models = make_bundle()
    return load_bundle(write(folder / f"{number}.bundle", changed(bundle, prior=(0, 0.5 + number / 1000)), models))


def installed(root: Path, *bundles: Bundle) -> Path:
    """Install bundles one after another."""
    for bundle in bundles:
        install(bundle, root)
    return root


def current_in(root: Path) -> str:
    """Return the digest of the bundle that a node finds: it is read and checked."""
    bundle = load_bundle(root / "current")
    assert current_release(root).digest == bundle.sha256
    return bundle.sha256


def damage(file: Path) -> None:
    """Cut a file in half."""
    os.truncate(file, file.stat().st_size // 2)


def rubbish(root: Path) -> list[str]:
    """Return what is in a folder of releases and does not belong there."""
    names = {p.name for p in root.iterdir()} - {"current", "releases", "history", "trials", "lock"}
    return sorted(names) + sorted(p.name for p in (root / "releases").iterdir() if len(p.name) != 64)
