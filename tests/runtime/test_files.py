"""Files that are replaced in one step: their links, their folders, and what is no file."""

import os
import stat
from pathlib import Path

import pytest

from polydom_runtime.files import replace_file


def test_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    file, link = tmp_path / "data" / "file", tmp_path / "link"
    file.write_bytes(b"old")
    link.symlink_to(file)
    replace_file(link, b"new")

    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert [*tmp_path.glob("data/*")] == [file]


def test_link_that_points_at_nothing_yet_gets_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    replace_file(tmp_path / "link", b"new")

    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_left_alone(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir() if kind == "folder" else os.mkfifo(place)
    before = stat.S_IFMT(place.stat().st_mode)

    with pytest.raises(OSError, match="must be a file"):
        replace_file(place, b"new")
    assert stat.S_IFMT(place.stat().st_mode) == before
    assert [*tmp_path.iterdir()] == [place]


def test_name_is_on_the_disk_after_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append(("folder", (tmp_path / "file").exists()) if is_folder else ("file", (tmp_path / "file").exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(tmp_path / "file", b"new")

    assert synced == [("file", False), ("folder", True)]
