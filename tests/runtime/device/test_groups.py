"""Limits of control groups, on made-up trees of files."""

from pathlib import Path

import pytest

from polydom_runtime.device.board import Board
from polydom_runtime.device.groups import GroupLimits, Quota

V2, V1 = "sys/fs/cgroup", "sys/fs/cgroup/cpu,cpuacct"
FILES = [f"{V2}/{file}" for file in ("cpu.max", "cpu.stat", "cpu.weight", "memory.max", "memory.stat")]
HALF = Quota(0.05, 0.1)
TREES = [
    ("version 2", {"proc/self/cgroup": "0::/a/b", f"{V2}/a/b/cpu.max": "50000 100000"}, GroupLimits(HALF)),
    ("top of a container", {"proc/self/cgroup": "0::/", f"{V2}/cpu.max": "50000 100000"}, GroupLimits(HALF)),
    (
        "the tightest of nested groups",
        {
            "proc/self/cgroup": "0::/a/b/c",
            f"{V2}/a/b/c/cpu.max": "max 100000",
            f"{V2}/a/b/cpu.max": "200000 100000",
            f"{V2}/a/cpu.max": "5000 10000",
            f"{V2}/a/b/memory.max": "9000",
            f"{V2}/a/b/memory.current": "1000",
            f"{V2}/a/memory.max": "max",
            f"{V2}/a/memory.high": "8500",
            f"{V2}/a/memory.current": "8000",
            f"{V2}/a/memory.stat": "anon 7000\ninactive_file 900",
            f"{V2}/a/cpu.stat": "nr_throttled 3",
            f"{V2}/a/b/cpu.stat": "usage_usec 1\nnr_throttled 4\nthrottled_usec 5",
            f"{V2}/a/b/cpu.weight": "50",
            f"{V2}/a/cpu.weight": "200",
        },
        GroupLimits(Quota(0.005, 0.01), 0.5, 8500, True),
    ),
    (
        "version 1",
        {
            "proc/self/cgroup": "4:memory:/docker/1f\n3:name=systemd:/docker/1f\n2:cpu,cpuacct:/docker/1f",
            f"{V1}/docker/1f/cpu.cfs_quota_us": "50000",
            f"{V1}/docker/1f/cpu.cfs_period_us": "100000",
            f"{V1}/docker/1f/cpu.stat": "nr_periods 9\nnr_throttled 2\nthrottled_time 100",
            f"{V1}/docker/1f/cpu.shares": "512",
            f"{V1}/cpu.cfs_quota_us": "-1",
            f"{V1}/cpu.cfs_period_us": "100000",
            f"{V1}/cpu.shares": "1024",
            "sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes": "9000",
            "sys/fs/cgroup/memory/docker/1f/memory.memsw.limit_in_bytes": "9000",
            "sys/fs/cgroup/memory/docker/1f/memory.usage_in_bytes": "5000",
            "sys/fs/cgroup/memory/docker/1f/memory.stat": "inactive_file 1\ntotal_inactive_file 1000",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
            "sys/fs/cgroup/memory/memory.memsw.limit_in_bytes": "9223372036854771712",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "70000",
        },
        GroupLimits(HALF, 0.5, 9000, False),
    ),
    (
        "controllers that are mounted under one name each",
        {
            "proc/self/cgroup": "2:cpu,cpuacct:/",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        },
        GroupLimits(HALF),
    ),
    (
        "both versions",
        {
            "proc/self/cgroup": "1:memory:/a\n0::/b",
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "7",
            "sys/fs/cgroup/unified/b/cpu.max": "50000 100000",
        },
        GroupLimits(HALF, memory_bytes=7),
    ),
    (
        "a container that sees the path on the whole machine",
        {"proc/self/cgroup": "0::/system.slice/docker-1f.scope", f"{V2}/cpu.max": "50000 100000"},
        GroupLimits(HALF),
    ),
    (
        "a group inside such a container",
        {
            "proc/self/cgroup": "0::/../docker/1f/inner",
            f"{V2}/inner/cpu.max": "50000 100000",
            f"{V2}/cpu.max": "300000 100000",
        },
        GroupLimits(HALF),
    ),
    ("no swap", {"proc/self/cgroup": "0::/", f"{V2}/memory.swap.max": "0"}, GroupLimits(may_swap=False)),
    (
        "no limits",
        {
            "proc/self/cgroup": "0::/",
            f"{V2}/cpu.max": "max 100000",
            f"{V2}/memory.max": "max",
            f"{V2}/memory.high": "max",
            f"{V2}/memory.swap.max": "max",
            f"{V2}/cpu.weight": "100",
        },
        GroupLimits(),
    ),
    ("no groups", {}, GroupLimits()),
    ("files that are folders", {"proc/self/cgroup": "0::/", f"{V2}/cpu.max/x": ""}, GroupLimits()),
    *[
        (f"garbage {text!r:.20}", {"proc/self/cgroup": "0::/", **dict.fromkeys(FILES, text)}, GroupLimits())
        for text in ("", ":", "-5 x", "1e3 2.5", "nr_throttled x", "٣ ٤", "9" * 5000, "\udcff", "\0")
    ],
    *[
        (f"garbage {text!r:.20} for a path", {"proc/self/cgroup": text}, GroupLimits())
        for text in ("", ":", "::", "0:::\n", "a\0:b\0:c\0", "0::/\0a", "0:../..:/..", "\udcff:\udcff:\udcff")
    ],
]


@pytest.mark.parametrize(("files", "limits"), [case[1:] for case in TREES], ids=[case[0] for case in TREES])
def test_tightest_limits_of_all_groups_count(tmp_path: Path, files: dict[str, str], limits: GroupLimits) -> None:
    """What is not there, or makes no sense, is no limit."""
    write(tmp_path, files)

    assert limits == Board(tmp_path).groups.limits


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, errors="surrogateescape")


@pytest.mark.parametrize(
    ("name", "left", "throttled"),
    [
        ("the tightest of nested groups", 1400, 7),
        ("version 1", 5000, 2),
        ("both versions", 7, 0),
        ("no limits", None, 0),
    ],
)
def test_use_of_limits_is_that_of_all_groups(tmp_path: Path, name: str, left: int | None, throttled: int) -> None:
    write(tmp_path, next(files for case, files, _ in TREES if case == name))
    groups = Board(tmp_path).groups

    assert (left, throttled) == (groups.memory_left(), groups.throttled())


def test_use_of_limits_is_read_each_time(tmp_path: Path) -> None:
    stat = f"{V2}/cpu.stat"
    write(tmp_path, {"proc/self/cgroup": "0::/", stat: "nr_throttled 3", f"{V2}/memory.max": "900"})
    board = Board(tmp_path)
    before = board.groups.throttled(), board.available_bytes
    write(tmp_path, {stat: "nr_throttled 5", f"{V2}/memory.current": "300"})

    assert (before, (board.groups.throttled(), board.available_bytes)) == ((3, 900), (5, 600))


def test_zero_is_no_period(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/")
    (tmp_path / V2).mkdir(parents=True)
    (tmp_path / V2 / "cpu.max").write_text("50000 0")

    assert GroupLimits() == Board(tmp_path).groups.limits
