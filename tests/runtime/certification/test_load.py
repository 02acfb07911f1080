"""Processes that keep the machine busy, and that they end."""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from polydom_runtime.certification.load import Load, UnderLoad, loads
from polydom_runtime.exceptions import CertificateError

PARENT = """
import sys
from polydom_runtime.certification.load import UnderLoad, loads
with UnderLoad(loads("cpu:1,memory:1,disk:1")) as load:
    print(*(process.pid for _, process in load.processes), flush=True)
    sys.stdin.read()
"""


def wait_for_end_of(pids: Sequence[int]) -> None:
    """Return once all are gone; a test that waits here too long is stopped by whoever runs it."""
    while any(map(is_running, pids)):
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"  # who is dead may wait for its new parent to notice


def busy_ticks(pid: int) -> int:
    """Return how much processor time a process had."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return int(user) + int(system)


@pytest.mark.parametrize("kind", ["cpu", "memory", "disk"])
def test_a_load_is_busy_within_its_block_and_gone_after_it(kind: str) -> None:
    with UnderLoad([Load(kind, 2)]) as load:
        pids = [process.pid for _, process in load.processes]
        before = [busy_ticks(pid) for pid in pids]
        while any(busy_ticks(pid) <= ticks for pid, ticks in zip(pids, before, strict=True)):
            time.sleep(0.01)

        assert len(set(pids)) == 2

    assert not any(map(is_running, pids))


def test_no_load_is_no_process() -> None:
    with UnderLoad() as load:
        assert load.processes == []


def test_an_error_in_the_block_ends_the_load_and_is_the_one_that_is_raised() -> None:
    with pytest.raises(KeyError), UnderLoad([Load("cpu", 1)]) as load:  # noqa: PT012
        pids = [process.pid for _, process in load.processes]
        raise KeyError

    assert not any(map(is_running, pids))


def test_a_killed_parent_leaves_no_processes() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 3
        assert all(map(is_running, pids))

        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()

    wait_for_end_of(pids)


def test_a_load_that_ended_early_is_an_error_at_the_end() -> None:
    load = UnderLoad([Load("cpu", 1)])

    with pytest.raises(CertificateError, match=r"\(cpu\) must go on .* code -9"), load:  # noqa: PT012
        load.processes[0][1].kill()
        load.processes[0][1].wait()

    assert load.processes == []


def test_a_process_that_cannot_work_says_why() -> None:
    with pytest.raises(CertificateError, match="no_such_kind"), UnderLoad([Load("no_such_kind", 1)]):
        pass


@pytest.mark.parametrize("text", ["", "cpu", "cpu:", "cpu:0", "cpu:-1", "cpu:x", "gpu:1", "cpu:1,", "cpu:99999"])
def test_an_impossible_load_is_refused_on_the_command_line(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"cpu:2,memory:1\. Got"):
        loads(text)


def test_a_load_reads_as_it_was_written() -> None:
    text = "cpu:2,memory:1,disk:3"

    assert ",".join(map(str, loads(text))) == text
