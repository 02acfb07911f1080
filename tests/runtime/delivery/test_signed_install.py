"""Installs of signed bundles: what was signed arrives whole, and nothing else becomes the current release."""

import shutil
from collections.abc import Callable
from datetime import date
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.delivery.install import install
from polydom_runtime.exceptions import UpdateError
from tests.runtime.delivery.disk import Disk
from tests.runtime.delivery.nodes import bundle_number
from tests.runtime.trust.signer import OWNER, STRANGER, public, sign, trust_in

Load = Callable[[Path], Bundle]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    return partial(load_bundle, trust=trust_in(tmp_path, public(OWNER, "name: lab")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a signed bundle with a proof, and with a folder of other files."""
    folder = bundle_number(tmp_path, 0).path
    assert folder is not None
    (folder / "proof.npz").write_bytes(b"proof")
    (folder / "more").mkdir()
    (folder / "more" / "sensor.py").write_bytes(b"code")
    sign(folder, OWNER)
    return folder


def test_all_that_was_signed_is_installed(folder: Path, tmp_path: Path, load: Load) -> None:
    install(load(folder), tmp_path / "root", load=load)

    signed = load(tmp_path / "root" / "current").signed
    assert signed is not None
    assert signed.key == "lab"


def test_nothing_is_installed_that_changed_since_it_was_loaded(folder: Path, tmp_path: Path, load: Load) -> None:
    bundle = load(folder)
    sign(folder, STRANGER)

    with pytest.raises(UpdateError, match="must be signed by a trusted key: lab"):
        install(bundle, tmp_path / "root", load=load)
    assert not (tmp_path / "root" / "current").exists()


def test_a_signature_with_a_later_end_replaces_the_one_before(folder: Path, tmp_path: Path, load: Load) -> None:
    install(load(folder), tmp_path / "root", load=load)
    sign(folder, OWNER, expires=date(2026, 6, 30))
    copied = [install(load(folder), tmp_path / "root", load=load).copied for _ in range(2)]

    signed = load(tmp_path / "root" / "current").signed
    assert signed is not None
    assert signed.expires == date(2026, 6, 30)
    assert copied == [True, False]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_kill_while_the_current_release_is_signed_anew_leaves_it_sound(
    after: bool, folder: Path, tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(load(folder), tmp_path / "start", load=load)
    sign(folder, OWNER, expires=date(2026, 6, 30))
    signed = set()
    for number in count():
        root = tmp_path / f"root-{number}"
        shutil.copytree(tmp_path / "start", root, symlinks=True)
        with monkeypatch.context() as patch:
            disk = Disk(root, patch)
            with disk.struck(number, after=after):
                install(load(folder), root, load=load)
        disk.close()
        signed.add(str(load(root / "current").signed).endswith("until 2026-06-30"))
        if not disk.was_struck:
            break

    assert number > 3
    assert signed == {False, True}
