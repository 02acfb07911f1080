"""A disk that can fail at each step: processes end there, calls fail, or the power goes."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CALLS = ("mkdir", "rename", "replace", "symlink", "unlink", "rmdir", "fsync")
"""The functions of `os` that change what is on a disk, or wait for it."""

FREEING = (os.unlink, os.rmdir, os.fsync)
"""Those that succeed on a full disk."""

MKDIR = os.mkdir

Fault = Callable[[], None]


class Killed(BaseException):
    """The process ended here. No line of it runs any more that changes the disk."""


def kill() -> None:
    raise Killed


def failing(number: int) -> Fault:
    """Return a fault that is an error of the system."""

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return fail


class Disk:
    """A folder of which it is known what is on the disk for certain: what has been synced.

    Parameters
    ----------
    folder : Path
        All that is in it at first is on the disk.
    monkeypatch : MonkeyPatch
    watched : bool
        Whether it is noted what is on the disk, for a power cut.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, watched: bool = True) -> None:
        self.folder = folder
        self.certain: dict[int, bytes | dict[str, int | str]] = {}
        self.held: list[int] = []
        self.calls, self.number, self.fault = 0, -1, kill
        self.after = self.lasting = self.is_dead = self.was_struck = False
        self.watched = watched
        for path in [folder, *folder.rglob("*")] if watched else ():
            self._settle(path)
        for name in CALLS:
            monkeypatch.setattr(os, name, self._step(self.fsync if name == "fsync" else getattr(os, name)))
        monkeypatch.setattr("polydom_runtime.files.open", self._step(open), raising=False)

    def fsync(self, descriptor: int) -> None:
        """Note that a file or the names in a folder are on the disk. The real call would only take time."""
        if self.watched:
            self._settle(Path(os.readlink(f"/proc/self/fd/{descriptor}")))

    def _step(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            if self.is_dead:
                raise Killed
            if real is MKDIR and os.path.isdir(args[0]):  # which the system sees before any fault
                return real(*args, **options)
            is_here = self._is_here(real)
            if is_here and not self.after:
                self._strike()
            result = None
            try:
                result = real(*args, **options)
            finally:
                if is_here and self.after:
                    if result is not None:
                        result.close()
                    self._strike()
            return result

        return step

    def _is_here(self, real: Callable[..., Any]) -> bool:
        """Count a call, and tell whether the fault is at it. A lasting one leaves only calls that free space."""
        self.calls += 1
        if self.lasting:
            return self.calls > self.number >= 0 and real not in FREEING
        return self.calls == self.number + 1

    def _strike(self) -> None:
        self.was_struck, self.is_dead = True, self.fault is kill
        self.fault()

    @contextmanager
    def struck(self, number: int, fault: Fault = kill, *, after: bool = False, lasting: bool = False) -> Iterator[None]:
        """Let a fault happen before or after one call of the block, by its number; or at all calls from there on."""
        self.calls, self.was_struck = 0, False
        self.number, self.fault, self.after, self.lasting = number, fault, after, lasting
        try:
            yield
        except Killed:
            pass
        finally:
            self.number, self.is_dead = -1, False

    def _settle(self, path: Path) -> None:
        if not path.is_symlink():
            self.certain[self._number(path)] = self._names(path) if path.is_dir() else path.read_bytes()

    def _names(self, folder: Path) -> dict[str, int | str]:
        """Return the links in a folder by name, and the numbers of its files and folders."""
        return {p.name: os.readlink(p) if p.is_symlink() else self._number(p) for p in folder.iterdir()}

    def _number(self, path: Path) -> int:
        """Return the number of a file or folder, which is opened, so that nothing else ever gets this number."""
        number = path.stat().st_ino
        if number not in self.certain:
            self.held.append(os.open(path, os.O_RDONLY))
        return number

    def after_power_cut(self, target: Path, choose: random.Random) -> Path:
        """Write what may be left of the folder: each name is old or new, a file that was not synced whole or not."""
        now = {p.stat().st_ino: p for p in [self.folder, *self.folder.rglob("*")] if not p.is_symlink()}
        self._write(self.folder.stat().st_ino, now, target, choose)
        return target

    def _write(self, number: int, now: dict[int, Path], target: Path, choose: random.Random) -> None:
        path, old = now.get(number), self.certain.get(number)
        if isinstance(old, bytes) or (path and path.is_file()):
            was = old if isinstance(old, bytes) else b""
            new = path.read_bytes() if path else was
            half = len(new) // 2
            damaged = [b"", new[:half], new[:half] + bytes(len(new) - half), bytes(len(new)), new]
            target.write_bytes(new if new == old else choose.choice([*damaged, was]))
            return
        target.mkdir()
        names, old_names = self._names(path) if path else {}, old or {}
        assert isinstance(old_names, dict)
        for name in sorted({*names, *old_names}):
            entry = choose.choice([names.get(name), old_names.get(name)])
            if isinstance(entry, str):
                (target / name).symlink_to(entry)
            elif entry is not None:
                self._write(entry, now, target / name, choose)

    def close(self) -> None:
        for descriptor in self.held:
            os.close(descriptor)
