"""What an install leaves, refuses, repairs and removes."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.delivery.install import Installed, install
from polydom_runtime.delivery.on_trial import note, on_trial
from polydom_runtime.delivery.releases import current_release, digests, releases
from polydom_runtime.exceptions import UpdateError
from tests.runtime.delivery.nodes import bundle_number, current_in, damage, installed, rubbish


def test_current_is_a_relative_link_to_the_bundle(tmp_path: Path, bundles: list[Bundle]) -> None:
    done = install(bundles[0], tmp_path / "root")
    (tmp_path / "root").rename(tmp_path / "moved")

    digest = bundles[0].sha256
    assert Installed(digest, None, True, ()) == done
    assert f"releases/{digest}" == os.readlink(tmp_path / "moved" / "current")
    assert (digest, tmp_path / "moved" / "releases" / digest) == current_release(tmp_path / "moved")
    assert digest == current_in(tmp_path / "moved")


def test_installed_bundle_is_not_copied_again(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", bundles[0])
    before = [(path, path.lstat().st_ino, path.lstat().st_mtime_ns) for path in sorted(root.rglob("*"))]

    done = install(bundles[0], root)

    assert Installed(bundles[0].sha256, bundles[0].sha256, False, ()) == done
    assert before == [(path, path.lstat().st_ino, path.lstat().st_mtime_ns) for path in sorted(root.rglob("*"))]


@pytest.mark.parametrize("harm", ["cut model", "no index", "file", "another bundle"])
def test_damaged_release_is_repaired(tmp_path: Path, bundles: list[Bundle], harm: str) -> None:
    root = installed(tmp_path / "root", bundles[0], bundles[1])
    release = current_release(root).path
    if harm == "cut model":
        damage(release / "models" / "0001.onnx")
    elif harm == "no index":
        (release / "index.msgpack").unlink()
    else:
        shutil.rmtree(release)
        if harm == "file":
            release.write_bytes(b"")
        else:
            shutil.copytree(root / "releases" / bundles[0].sha256, release)

    done = install(bundles[1], root)

    assert done.copied
    assert bundles[1].sha256 == current_in(root)
    assert rubbish(root) == []


def test_last_releases_stay_and_older_ones_go(tmp_path: Path, bundles: list[Bundle]) -> None:
    """Only the first one has proved itself, and stays as the one that a failed trial leads back to."""
    root = installed(tmp_path / "root", *bundles[:3])

    done = install(bundles[3], root, keep=2)

    assert (bundles[1].sha256,) == done.removed
    assert {bundles[0].sha256, bundles[2].sha256, bundles[3].sha256} == set(digests(root))

    for digest in on_trial(root):
        note(root, digest, None)
    assert {bundles[0].sha256, bundles[2].sha256} == set(install(bundles[4], root, keep=2).removed)


def test_damaged_release_takes_no_place_of_a_sound_one(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", *bundles[:2])
    damage(current_release(root).path / "index.msgpack")

    assert install(bundles[2], root, keep=2).removed == ()
    assert install(bundles[3], root, keep=3).removed == (bundles[1].sha256,)
    assert {bundles[0].sha256, bundles[2].sha256, bundles[3].sha256} == set(digests(root))


def test_too_few_releases_are_refused(tmp_path: Path, bundles: list[Bundle]) -> None:
    with pytest.raises(UpdateError, match=r"At least 2 releases must stay.*Got 1\."):
        install(bundles[0], tmp_path / "root", keep=1)

    assert [*tmp_path.iterdir()] == []


def test_bundle_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    bundle = bundle_number(tmp_path, 0)
    other = bundle_number(tmp_path / "other", 1)
    assert bundle.path is not None
    assert other.path is not None
    shutil.copy(other.path / "index.msgpack", bundle.path / "index.msgpack")

    with pytest.raises(UpdateError, match="must be the bundle that was checked"):
        install(bundle, tmp_path / "root")
    assert rubbish(tmp_path / "root") == []
    assert digests(tmp_path / "root") == []


def test_second_install_at_the_same_time_is_refused(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", bundles[0])
    with open(root / "lock") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        with pytest.raises(UpdateError, match=r"Another one does\. Try again"):
            install(bundles[1], root)
    assert bundles[0].sha256 == current_in(root)


def test_leftovers_of_a_living_install_stay(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", bundles[0])
    part = root / "releases" / f".{bundles[2].sha256}.part"
    part.mkdir()
    with open(root / "lock") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UpdateError):
            install(bundles[1], root)

    assert part.is_dir()


def test_the_first_install_makes_all_folders(tmp_path: Path, bundles: list[Bundle]) -> None:
    """So the first command on a new node needs no `mkdir` before it."""
    root = tmp_path / "lib" / "polydom" / "releases"

    install(bundles[0], root)
    assert bundles[0].sha256 == current_release(root).digest


@pytest.mark.parametrize("kind", ["file", "folder at current", "file above"])
def test_root_that_is_none_is_refused(tmp_path: Path, bundles: list[Bundle], kind: str) -> None:
    root = tmp_path / "root"
    if kind == "folder at current":
        (root / "current" / "mine").mkdir(parents=True)
    else:
        root.write_bytes(b"")
        root /= "inner" * (kind == "file above")

    with pytest.raises(UpdateError, match=r"root.* must be a folder .* Got: "):
        install(bundles[0], root)
    assert (tmp_path / "root" / "current" / "mine").exists() == (kind == "folder at current")


def test_keys_or_other_checks_are_those_of_the_loader(tmp_path: Path, bundles: list[Bundle]) -> None:
    """A release of which the loader thinks nothing is copied again, and the copy is not used either."""

    def load(folder: Path) -> Bundle:
        raise UpdateError(f"{folder} must be signed. It is not.")

    root = installed(tmp_path / "root", bundles[0])

    with pytest.raises(UpdateError, match="must be signed"):
        install(bundles[1], root, load=load)
    assert bundles[0].sha256 == current_in(root)
    assert [release.fault[-10:] for release in releases(root, load)] == ["It is not."]
