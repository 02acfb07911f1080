"""Running with priority over other programs, as far as the system allows, with a report of refused settings."""

import ctypes
import os
import sys
from collections.abc import Callable
from functools import partial

from polydom_runtime.device.board import Board
from polydom_runtime.findings import Finding, finding

from .wakeups import set_timer_slack

MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT = 1, 2, 4
CAP_IPC_LOCK = 14

REASONS = {
    "timer slack": (
        "the system may wake the loop some 50 µs late, to save power",
        "run it on Linux, or with TimerSlackNSec=1 in its systemd unit",
    ),
    "processor": (
        "moving to another processor means a cold cache, and the processor asked for may be the least busy",
        "name a processor that `lscpu -e` shows, and allow it: AllowedCPUs= in its systemd unit, or `docker run "
        "--cpuset-cpus=`",
    ),
    "memory": (
        "a page brought back from a disk takes milliseconds, in the middle of an answer",
        "LimitMEMLOCK=infinity in its systemd unit, a memlock line in /etc/security/limits.conf, or `docker run "
        "--ulimit memlock=-1`",
    ),
    "priority": (
        "any other process can take the processor from an answer",
        "LimitRTPRIO={0} in its systemd unit, an rtprio line in /etc/security/limits.conf, or `docker run "
        "--ulimit rtprio={0}`",
    ),
}
"""Why a setting matters, and how to allow it (a priority, in braces)."""


class LinuxCalls:
    """The calls of the Linux system that make a loop punctual. Each returns a description of its effect.

    It raises OSError if the system does not allow it, AttributeError or ImportError if there is no such call.
    """

    def __init__(self, board: Board | None = None) -> None:
        self._board = board or Board()

    def pin(self, cpu: int) -> str:
        """Keep this thread on one processor, which may be one that the kernel gives to no other thread (isolcpus)."""
        os.sched_setaffinity(0, {cpu})
        return f"stays on processor {cpu}"

    def run_first(self, priority: int) -> str:
        """Run this thread under SCHED_FIFO. Threads and processes that it starts later inherit this."""
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        return f"SCHED_FIFO {priority}"

    def lock_memory(self) -> str:
        """Keep every page in memory once it has been used."""
        # Pages that are never used, most of the mapped ones and more than a small board has, are not loaded (ONFAULT).
        flags, what = MCL_CURRENT | MCL_FUTURE, "now and later"
        if not self._may_lock_all():
            # Under a limit, an allocation that exceeds it would fail.
            flags, what = MCL_CURRENT, "only pages mapped so far, since there is a limit"
        try:
            _mlockall(flags | MCL_ONFAULT)
        except OSError:  # before Linux 4.4
            _mlockall(flags)
        return f"locked, {what}"

    def tighten_timer(self) -> str:
        """Make the system wake this thread at the time it asked for, not a little later to save power."""
        if set_timer_slack(1) is None:
            raise OSError("the system has no timer slack to set")
        return "1 ns"

    def _may_lock_all(self) -> bool:
        import resource

        if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY:
            return True
        lines = (self._board.text("proc/self/status") or "").splitlines()
        capabilities = [int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")]
        return any(bits >> CAP_IPC_LOCK & 1 for bits in capabilities)


def apply(
    *, cpu: int | None = None, priority: int | None = None, lock_memory: bool = False, system: LinuxCalls | None = None
) -> list[Finding]:
    """Make this thread punctual, after everything is loaded; report the settings that the system does not allow.

    `cpu` is best one that no other thread may use (isolcpus). `priority`, from 1 to 99, is under SCHED_FIFO; the kernel
    runs its interrupt threads at 50.
    """
    system = system or LinuxCalls()
    asked: dict[str, Callable[[], str]] = {"timer slack": system.tighten_timer}
    if cpu is not None:
        asked["processor"] = partial(system.pin, cpu)
    if lock_memory:
        asked["memory"] = system.lock_memory
    if priority is not None:
        asked["priority"] = partial(system.run_first, priority)
    return [_attempt(check, do, priority) for check, do in asked.items()]


def _attempt(check: str, do: Callable[[], str], priority: int | None) -> Finding:
    why, fix = REASONS[check][0], REASONS[check][1].format(priority)
    try:
        return finding(check, "ok", do(), why)
    except (OSError, ValueError, OverflowError) as e:
        return finding(check, "warning", f"not applied: {e}", why, fix)
    except (AttributeError, ImportError):
        return finding(check, "warning", f"not applied: there is no such thing on {sys.platform}", why, fix)


def _mlockall(flags: int) -> None:
    if ctypes.CDLL(None, use_errno=True).mlockall(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
