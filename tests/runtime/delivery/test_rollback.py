"""The way back: one release further with each call, past damaged ones, or to a named one."""

import os
from pathlib import Path

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.releases import current_release
from polydom_runtime.delivery.rollback import roll_back
from polydom_runtime.exceptions import UpdateError
from tests.runtime.delivery.nodes import current_in, damage, installed


def test_each_rollback_goes_further_back_and_none_forward(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", *bundles[:3])

    assert bundles[1].sha256 == roll_back(root).digest == current_in(root)
    assert bundles[0].sha256 == roll_back(root).digest == current_in(root)
    with pytest.raises(UpdateError, match=r"There is none\. Install a bundle, or name a later release with --to"):
        roll_back(root)
    assert bundles[0].sha256 == current_in(root)


def test_release_that_was_rolled_back_is_not_before_the_next_one(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", *bundles[:2])
    roll_back(root)
    install(bundles[2], root)

    assert bundles[0].sha256 == roll_back(root).digest


def test_release_that_is_installed_again_stands_at_its_new_place_only(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", bundles[0], bundles[1], bundles[0])

    assert bundles[1].sha256 == roll_back(root).digest
    with pytest.raises(UpdateError, match="must be a sound release before"):
        roll_back(root)


def test_damaged_release_is_passed_over_and_named(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", *bundles[:3])
    damage(root / "releases" / bundles[1].sha256 / "index.msgpack")

    digest, passed_over = roll_back(root)

    assert bundles[0].sha256 == digest == current_in(root)
    assert [bundles[1].sha256] == [*passed_over]
    assert "SHA-256" in passed_over[bundles[1].sha256]


def test_without_a_current_release_the_last_sound_one_is_taken(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", *bundles[:2])
    (root / "current").unlink()

    assert bundles[1].sha256 == roll_back(root).digest == current_in(root)


def test_later_release_can_be_named_and_keeps_its_place(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", *bundles[:3])
    roll_back(root)
    roll_back(root)

    assert bundles[2].sha256 == roll_back(root, to=bundles[2].sha256[:6]).digest == current_in(root)
    assert bundles[1].sha256 == roll_back(root).digest


def test_damaged_release_is_refused_if_it_is_named(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", *bundles[:3])
    damage(root / "releases" / bundles[0].sha256 / "models" / "0000.onnx")

    with pytest.raises(UpdateError, match=r"must be sound\. It is not: .*0000\.onnx"):
        roll_back(root, to=bundles[0].sha256)
    assert bundles[2].sha256 == current_in(root)


@pytest.mark.parametrize("start", ["", "abc", "0000", "/etc/passwd"])
def test_name_must_be_that_of_one_release(tmp_path: Path, bundles: list[Bundle], start: str) -> None:
    root = installed(tmp_path / "root", *bundles[:2])

    with pytest.raises(UpdateError, match=f"Got '{start}', which 0 have"):
        roll_back(root, to=start)


def test_another_current_release_than_expected_stays(tmp_path: Path, bundles: list[Bundle]) -> None:
    root = installed(tmp_path / "root", *bundles[:2])

    with pytest.raises(UpdateError, match="must still be"):
        roll_back(root, expected=bundles[0].sha256)
    assert bundles[1].sha256 == current_in(root)
    assert bundles[0].sha256 == roll_back(root, expected=bundles[1].sha256).digest


def test_lock_of_another_user_is_only_read(
    tmp_path: Path, bundles: list[Bundle], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service rolls back in its folder what the superuser has installed there."""
    root = installed(tmp_path / "root", *bundles[:2])
    opened = os.open

    def refuse(path: Path, flags: int, *others: int, **options: int) -> int:
        if Path(path).name == "lock" and flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(path)
        return opened(path, flags, *others, **options)

    monkeypatch.setattr(os, "open", refuse)

    assert bundles[0].sha256 == roll_back(root).digest


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"../../etc\n"])
def test_damaged_history_leaves_the_named_way_back(tmp_path: Path, bundles: list[Bundle], content: bytes) -> None:
    root = installed(tmp_path / "root", *bundles[:2])
    (root / "history").write_bytes(content)

    with pytest.raises(UpdateError, match="name a later release with --to"):
        roll_back(root)
    assert bundles[0].sha256 == roll_back(root, to=bundles[0].sha256).digest


@pytest.mark.parametrize("target", ["../elsewhere", "releases/x", f"/releases/{'0' * 64}", f"releases/{'0' * 64}/.."])
def test_link_to_anything_but_a_release_is_none(tmp_path: Path, target: str) -> None:
    os.symlink(target, tmp_path / "current")

    with pytest.raises(UpdateError, match=r"must be a link to a release\. Got: "):
        current_release(tmp_path)
