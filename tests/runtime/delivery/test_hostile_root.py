"""Folders of releases, and bundles, in which somebody has put what does not belong there."""

import os
from pathlib import Path

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.delivery import install as install_module
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.releases import releases
from polydom_runtime.delivery.rollback import roll_back
from polydom_runtime.exceptions import BundleFormatError, UpdateError
from tests.runtime.delivery.nodes import bundle_number, current_in, installed, rubbish

NO_RELEASE = "ab" * 32


def test_nothing_is_written_or_removed_behind_a_link(tmp_path: Path, bundles: list[Bundle]) -> None:
    """Not even what looks like a leftover."""
    (outside := tmp_path / "outside").mkdir()
    (leftover := outside / f".{NO_RELEASE}.part").write_bytes(b"")
    (root := tmp_path / "root").mkdir()
    (root / "releases").symlink_to(outside)

    with pytest.raises(UpdateError, match=r"It must be no link, .*: '.*/root/releases'"):
        install(bundles[0], root)
    assert [leftover] == [*outside.iterdir()]


@pytest.mark.parametrize("name", ["history", "trials", "lock"])
def test_no_file_is_written_behind_a_link(tmp_path: Path, bundles: list[Bundle], name: str) -> None:
    """Such links come with a folder that was copied from elsewhere."""
    root = installed(tmp_path / "root", *bundles[:2])
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to(outside := tmp_path / "outside")

    for change in (lambda: install(bundles[2], root), lambda: roll_back(root, to=bundles[0].sha256)):
        with pytest.raises(UpdateError, match=f"It must be no link, .*: '.*/root/{name}'"):
            change()
    assert not outside.exists()


def test_only_leftovers_of_releases_are_removed(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", bundles[0])
    (root / "releases" / f".{NO_RELEASE}.part").mkdir()
    (root / "releases" / ".notes").write_bytes(b"mine")

    install(bundles[1], root)

    assert rubbish(root) == [".notes"]


@pytest.mark.parametrize("aim", ["nowhere", NO_RELEASE])
def test_link_to_nothing_is_a_damaged_release(tmp_path: Path, bundles: list[Bundle], aim: str) -> None:
    """Also one in a circle."""
    root = installed(tmp_path / "root", *bundles[:2])
    (root / "releases" / NO_RELEASE).symlink_to(aim)

    assert {NO_RELEASE} == {release.digest for release in releases(root) if release.fault}
    assert bundles[0].sha256 == roll_back(root, to=bundles[0].sha256).digest
    assert install(bundles[2], root, keep=4).removed == (NO_RELEASE,)


def test_link_to_nothing_in_the_place_of_a_release_is_replaced(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", bundles[0])
    (root / "releases" / bundles[1].sha256).symlink_to("nowhere")

    install(bundles[1], root)

    assert bundles[1].sha256 == current_in(root)
    assert rubbish(root) == []


def test_pipe_in_the_place_of_the_history_is_not_waited_for(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", bundles[0])
    (root / "history").unlink()
    os.mkfifo(root / "history")

    with pytest.raises(UpdateError, match="There must be a sound release before"):
        roll_back(root)


@pytest.mark.parametrize("name", ["data", "signature.json"])
def test_file_that_is_larger_than_any_memory_is_refused(tmp_path: Path, name: str) -> None:
    """It takes no space on the disk, since all of it is a hole."""
    bundle = bundle_number(tmp_path, 0)
    assert bundle.path is not None
    root = installed(tmp_path / "root", bundle)
    (bundle.path / name).touch()
    os.truncate(bundle.path / name, 1 << 40)
    (root / "releases" / bundle.sha256 / "index.msgpack").unlink()

    with pytest.raises(BundleFormatError, match=f"{name} must have at most"):
        install(bundle, root)
    assert rubbish(root) == []


def test_number_of_files_has_a_limit(tmp_path: Path, bundles: list[Bundle], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_module, "MAX_ENTRIES", 4)

    with pytest.raises(UpdateError, match=r"must have at most 4 files\. Got 5"):
        install(bundles[0], tmp_path / "root")
