"""Files that another user put into a folder, where the node is about to write."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime import write_packed
from polydom_runtime.delivery.releases import locked
from polydom_runtime.exceptions import PolyDomError
from polydom_runtime.files import followed, may_be_planted, open_kept, replace_file
from polydom_runtime.measuring.journal import FileJournal
from polydom_runtime.measuring.samples_so_far import SamplesHeader
from polydom_runtime.records.metrics import Metrics
from polydom_runtime.records.metrics_files import JsonLines, PrometheusText
from polydom_runtime.records.recorder import FlightRecorder

from .records.test_metrics import Watched

STRANGER = 12345


def lock(folder: Path) -> None:
    with locked(folder):
        pass


def record(folder: Path) -> None:
    FlightRecorder(folder / "flight", Watched(), 4).close()


def measure(folder: Path) -> None:
    FileJournal(folder / "a.costs").begin(SamplesHeader((), (), (), (), "", {}))


def add_line(folder: Path) -> None:
    JsonLines(folder / "a.jsonl").write(Metrics(Watched()))


KEPT = {"a.jsonl": add_line, "flight.part": record, "a.costs.part": measure, "lock": lock}

REPLACED: dict[str, Callable[[Path], object]] = {
    "any": lambda folder: replace_file(folder / "any", b"new"),
    "a.prom": lambda folder: PrometheusText(folder / "a.prom").write(Metrics(Watched())),
    "a.npz": lambda folder: write_packed(folder / "a.npz", [np.zeros(2)]),
}


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder as ``/tmp``."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file or a link be that of another user: only root can change its owner."""
    if os.geteuid() == 0:
        os.lchown(path, STRANGER, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)


@pytest.mark.parametrize(("name", "write"), [*(KEPT | REPLACED).items(), ("flight", record)])
def test_link_of_another_user_is_not_followed(
    name: str, write: Callable[[Path], object], shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So nobody can choose the file that the node writes."""
    aim = tmp_path / "aim"
    aim.write_bytes(b"")
    (shared / name).symlink_to(aim)
    give_away(shared / name, monkeypatch)

    with pytest.raises((OSError, PolyDomError), match=f"of this user or of root.*{shared / name}"):
        write(shared)
    assert aim.read_bytes() == b""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user")
@pytest.mark.parametrize(("name", "write"), KEPT.items())
def test_file_of_another_user_is_not_used_in_a_shared_folder(
    name: str, write: Callable[[Path], object], shared: Path
) -> None:
    """Its owner could read, change and shorten what the node writes."""
    (shared / name).write_bytes(b"")
    os.chown(shared / name, STRANGER, -1)

    with pytest.raises((OSError, PolyDomError), match="may be a trap"):
        write(shared)
    assert (shared / name).read_bytes() == b""


@pytest.mark.parametrize(
    ("mode", "owner", "names", "expected"),
    [
        (0o1777, STRANGER, 1, True),
        (0o777, STRANGER, 1, True),
        (0o775, STRANGER, 1, False),
        (0o1777, 0, 1, False),
        (0o1777, os.geteuid(), 1, False),
        (0o1777, 77, 1, False),
        (0o1777, os.geteuid(), 2, True),
    ],
)
def test_who_may_have_put_a_file_there(mode: int, owner: int, names: int, expected: bool) -> None:
    """The folder is that of user 77."""
    file = os.stat_result((0o100644, 1, 1, names, owner, 0, 0, 0, 0, 0))
    folder = os.stat_result((0o40000 | mode, 1, 1, 2, 77, 0, 0, 0, 0, 0))

    assert expected == may_be_planted(file, folder)


def test_old_and_new_links_of_this_user_are_followed(tmp_path: Path) -> None:
    """A link to a folder and one to a file, both relative."""
    (tmp_path / "data").mkdir()
    (tmp_path / "folder").symlink_to("data")
    (tmp_path / "data" / "link").symlink_to("../data/file")

    assert followed(tmp_path / "folder" / "link").resolve() == tmp_path.resolve() / "data" / "file"


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    with pytest.raises(OSError, match="Too many levels"):
        followed(tmp_path / "a")


def test_lines_may_go_to_a_pipe_behind_a_descriptor() -> None:
    """As to ``/dev/stderr``, whose link leads to no path."""
    reader, writer = os.pipe()
    os.close(open_kept(f"/dev/fd/{writer}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, special=True))
    JsonLines(f"/dev/fd/{writer}").write(Metrics(Watched()))

    assert os.read(reader, 9) == b'{"time": '
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize(("name", "write"), (KEPT | REPLACED).items())
def test_folder_in_which_anybody_may_replace_files_is_named(
    name: str, write: Callable[[Path], object], shared: Path
) -> None:
    shared.chmod(0o777)

    with pytest.warns(UserWarning, match=f"write to {shared}"):
        write(shared)


def test_new_file_has_a_stated_mode_whatever_the_old_one_had(tmp_path: Path) -> None:
    """The old one may be that of somebody else, who lets everybody write."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o666)
    before = os.umask(0)
    try:
        replace_file(file, b"new")
    finally:
        os.umask(before)

    assert file.stat().st_mode & 0o777 == 0o644


def test_no_two_writes_use_the_same_part_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So nobody can take its name before, and what a killed process left stops no later one."""
    parts = []
    monkeypatch.setattr(os, "replace", lambda part, target: parts.append(part))
    for _ in range(2):
        replace_file(tmp_path / "file", b"new")

    assert 2 == len({*parts}) == len([*tmp_path.iterdir()])
