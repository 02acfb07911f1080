"""What the control groups of Linux (cgroups) allow to this process, in a container or in a unit of systemd.

Version 2 has one tree of groups, version 1 one for each kind of resource, and a machine may have both. A process is
held to the limits of its group and of all groups above, so the tightest one counts.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

USUAL_WEIGHTS = {"cpu.weight": 100, "cpu.shares": 1024}
"""The files with the weight of a group, in version 2 and 1, and what they hold if nobody has set it."""

NO_LIMIT = 1 << 62
"""Version 1 writes a larger number of bytes for no limit."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The processor time that a group gets in each period, in seconds."""

    seconds: float
    period: float

    @property
    def processors(self) -> float:
        """The number of processors that it is enough for."""
        return self.seconds / self.period


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """The limits of a process, each from the tightest of its groups; what cannot be read is no limit."""

    quota: Quota | None = None
    weight: float = 1.0
    """The smallest weight of a group when others want the processor, too: 1 is usual."""
    memory_bytes: int | None = None
    """The most bytes of memory; None without a limit."""
    may_swap: bool = True


class ControlGroups:
    """The groups of this process by the files below `root`, up to a hundred, which hardly change and are read once."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def limits(self) -> GroupLimits:
        """The limits of this process."""
        groups = self._groups
        weights = (w / usual for g in groups for f, usual in USUAL_WEIGHTS.items() for w in _counts(g / f))
        return GroupLimits(
            min((q for q in map(_quota, groups) if q), key=lambda q: (q.processors, -q.period), default=None),
            min(weights, default=1.0),
            min(self._memory.values(), default=None),
            not any(map(_forbids_swap, groups)),
        )

    def memory_left(self) -> int | None:
        """Return how much of the memory is free now, None without a limit; what only caches files counts as free."""
        return min((_left(group, limit) for group, limit in self._memory.items()), default=None)

    def throttled(self) -> int:
        """Return how often a quota was used up so far, and the threads were stopped until the end of the period."""
        return sum(_table(file).get("nr_throttled", 0) for file in self._stats)

    @cached_property
    def _groups(self) -> list[Path]:
        return [*_groups(self._root)]

    @cached_property
    def _stats(self) -> list[Path]:
        return [file for group in self._groups if os.path.isfile(file := group / "cpu.stat")]

    @cached_property
    def _memory(self) -> dict[Path, int]:
        files = "memory.max", "memory.high", "memory.limit_in_bytes"
        limits = {g: min((n for f in files for n in _counts(g / f)), default=NO_LIMIT) for g in self._groups}
        return {group: limit for group, limit in limits.items() if limit < NO_LIMIT}


def text_of(file: Path) -> str | None:
    """Return the text of a file without white space around it; None if it cannot be read."""
    try:
        return file.read_text(errors="replace").strip("\0\n\t ")
    except (OSError, ValueError):  # the latter for a name with a null character
        return None


def _groups(root: Path) -> Iterator[Path]:
    found: dict[Path, None] = {}
    for line in (text_of(root / "proc/self/cgroup") or "").splitlines():
        _, kinds, path = (line.split(":", 2) + [""] * 2)[:3]
        names = (kinds, *kinds.split(",")) if kinds else ("unified", ".")  # the latter if there is no version 1
        mounts = [root / "sys/fs/cgroup" / name for name in names]
        found |= dict.fromkeys(_path(next(filter(os.path.isdir, mounts), root), path))
    return iter(found)


def _path(mount: Path, path: str) -> Iterable[Path]:
    """Return a group and those above, up to the mount.

    A container may see the path of its group on the whole machine, while its own group is the top of the mount. So
    folders that are not there are left out from the start of the path.
    """
    parts = [part for part in path.split("/") if part not in ("", "..")]
    start = next(k for k in range(len(parts) + 1) if k == len(parts) or os.path.isdir(mount.joinpath(*parts[k:])))
    return [mount.joinpath(*parts[start:end]) for end in range(len(parts), start - 1, -1)]


def _quota(group: Path) -> Quota | None:
    for files in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):
        counts = [count for file in files for count in _counts(group / file)]
        if len(counts) == 2 and all(counts):
            return Quota(*(count / 1e6 for count in counts))
    return None


def _left(group: Path, limit: int) -> int:
    used = sum(count for file in ("memory.current", "memory.usage_in_bytes") for count in _counts(group / file))
    stat = _table(group / "memory.stat")
    cached = stat.get("total_inactive_file", stat.get("inactive_file", 0))
    return max(limit - max(used - cached, 0), 0)


def _forbids_swap(group: Path) -> bool:
    """Tell whether the limit of swap is 0, or that of memory and swap together is the limit of memory."""
    both, memory = (_counts(group / f"memory.{kind}limit_in_bytes") for kind in ("memsw.", ""))
    return _counts(group / "memory.swap.max") == [0] or (both == memory != [] and both[0] < NO_LIMIT)


def _counts(file: Path) -> list[int]:
    """Return the whole numbers that a file holds, without words such as ``max`` and negative numbers."""
    return [int(word) for word in (text_of(file) or "").split() if re.fullmatch(r"[0-9]{1,19}", word)]


def _table(file: Path) -> dict[str, int]:
    """Return the numbers of a file with a name and a number in each line."""
    found = {}
    for line in (text_of(file) or "").splitlines():
        with suppress(ValueError):
            name, number = line.split()
            found[name] = int(number)
    return found
