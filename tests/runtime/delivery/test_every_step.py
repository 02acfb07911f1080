"""A fault at each single step of each change: the current release is the whole old or the whole new one."""

import errno
import os
import random
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.on_trial import on_trial
from polydom_runtime.delivery.releases import releases
from polydom_runtime.delivery.rollback import roll_back
from polydom_runtime.exceptions import UpdateError
from tests.draws import draws
from tests.runtime.delivery.disk import Disk, Fault, failing, kill
from tests.runtime.delivery.nodes import current_in, damage, installed, rubbish


class Change(NamedTuple):
    """A change of releases: those before, the change, the current one before and after, a damaged one, and leftovers.

    Bundles are given by their numbers; None stands for no release.
    """

    before: tuple[int, ...]
    run: Callable[[Path, list[Bundle]], object]
    old: int | None
    new: int
    damaged: int | None = None
    leftovers: bool = False


CHANGES = {
    "first install": Change((), lambda root, b: install(b[0], root), None, 0),
    "install": Change((0, 1), lambda root, b: install(b[2], root, keep=2), 1, 2),
    "install over leftovers": Change((0, 1), lambda root, b: install(b[2], root), 1, 2, leftovers=True),
    "install of the current one": Change((0, 1), lambda root, b: install(b[1], root), 1, 1),
    "install of an earlier one": Change((0, 1), lambda root, b: install(b[0], root), 1, 0),
    "repair": Change((0, 1), lambda root, b: install(b[0], root), 1, 0, damaged=0),
    "rollback": Change((0, 1), lambda root, b: roll_back(root), 1, 0),
    "rollback past a damaged one": Change((0, 1, 2), lambda root, b: roll_back(root), 2, 0, damaged=1),
    "rollback to a named one": Change((0, 1, 2), lambda root, b: roll_back(root, to=b[0].sha256), 2, 0),
}


class Bench:
    """Repeats a change from the same start, with a fault at each of its steps."""

    def __init__(self, change: Change, folder: Path, bundles: list[Bundle]) -> None:
        self.change, self.folder, self.bundles = change, folder, bundles
        self.start = folder / "start"
        self.start.mkdir()
        if change.before:
            root = installed(self.start / "root", *(bundles[n] for n in change.before))
            if change.damaged is not None:
                damage(root / "releases" / bundles[change.damaged].sha256 / "index.msgpack")
            if change.leftovers:
                shutil.copytree(root / "releases" / bundles[0].sha256, root / "releases" / f".{'0' * 64}.part")
                (root / ".current.part").symlink_to("releases/none")
                (root / ".history.1-2.part").write_bytes(b"")

    def struck(self, fault: Fault = kill, **how: bool) -> Iterator[Disk]:
        """Yield the disk after a fault at each step; the last time, the change has no fault."""
        for number in count():
            folder = self.folder / "disk"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.start, folder, symlinks=True, copy_function=os.link)  # no file is changed where it is
            with pytest.MonkeyPatch.context() as patch:
                disk, refused = Disk(folder, patch, watched=fault is kill), False
                try:
                    with disk.struck(number, fault, **how):
                        self.change.run(folder / "root", self.bundles)
                except UpdateError:
                    refused = True
                assert refused == (disk.was_struck and fault is not kill)
                is_last = not disk.was_struck
                yield disk
            disk.close()
            if is_last:
                assert number > 3
                return

    def check(self, root: Path, following: int = 4) -> None:
        """Check that the old or the new release is current, and that the following install succeeds and cleans up."""
        allowed = {self.change.new, self.change.old}
        if (root / "current").exists() or None not in allowed:
            assert current_in(root) in {self.bundles[n].sha256 for n in allowed if n is not None}
            if self.change.new == 2:
                assert current_in(root) != self.bundles[2].sha256 or self.bundles[2].sha256 in on_trial(root)
        if (root / "releases").exists():
            damaged = [release.digest for release in releases(root) if release.fault]
            assert damaged in ([], [self.bundles[n].sha256 for n in [self.change.damaged] if n is not None])
        install(self.bundles[following], root)
        assert current_in(root) == self.bundles[following].sha256
        assert rubbish(root) == []


@pytest.fixture(params=CHANGES)
def bench(request: pytest.FixtureRequest, tmp_path: Path, bundles: list[Bundle]) -> Bench:
    return Bench(CHANGES[request.param], tmp_path, bundles)


def test_kill_at_any_step_leaves_a_sound_release_and_the_change_after_it_lasts(bench: Bench, tmp_path: Path) -> None:
    """What a process did before it was killed need not be on the disk; the next one may not rely on it."""
    choose = random.Random(2)
    for disk in bench.struck(after=True):
        bench.check(disk.folder / "root", bench.change.new)

        left = disk.after_power_cut(tmp_path / "left", choose) / "root"
        assert current_in(left) == bench.bundles[bench.change.new].sha256
        shutil.rmtree(tmp_path / "left")


def test_power_cut_at_any_step_leaves_a_sound_release(bench: Bench, tmp_path: Path) -> None:
    choose = random.Random(1)
    for disk in bench.struck(after=True):
        for _ in range(draws(1, 3)):
            bench.check(disk.after_power_cut(tmp_path / "left", choose) / "root")
            shutil.rmtree(tmp_path / "left")


def test_error_at_any_step_is_reported_and_leaves_a_sound_release(bench: Bench) -> None:
    for disk in bench.struck(failing(errno.EIO)):
        bench.check(disk.folder / "root")


def test_disk_that_stays_full_is_reported_and_leaves_a_sound_release(bench: Bench) -> None:
    for disk in bench.struck(failing(errno.ENOSPC), lasting=True):
        new = bench.bundles[bench.change.new].sha256
        assert [*disk.folder.glob(f"root/releases/.{new}.*")] == []
        bench.check(disk.folder / "root")
