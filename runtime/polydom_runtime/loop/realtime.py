"""Running before everything else, as far as the system allows: what was applied, and what was not and why."""

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Protocol

from polydom_runtime.device.board import Board
from polydom_runtime.diagnosis.findings import Finding, finding

from .wakeups import set_timer_slack

MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT = 1, 2, 4
CAP_IPC_LOCK = 14


class SystemCalls(Protocol):
    """What is asked of the operating system.

    Each method returns what it has done. It raises OSError if it may not, AttributeError or ImportError if there is no
    such thing on this system.
    """

    def pin(self, cpu: int) -> str:
        """Keep this thread on one processor."""
        ...

    def run_first(self, priority: int) -> str:
        """Run this thread before all that have no real-time priority."""
        ...

    def lock_memory(self) -> str:
        """Keep the pages of this process in memory."""
        ...

    def tighten_timer(self) -> str:
        """Have this thread woken when it asked to be, not when it suits."""
        ...


class LinuxCalls:
    """The system that this process runs on.

    Parameters
    ----------
    board : Board, optional
        Whose /proc tells what this process may do.
    """

    def __init__(self, board: Board | None = None) -> None:
        self._board = board or Board()

    def pin(self, cpu: int) -> str:
        """Keep this thread on one processor, be it one that the kernel leaves free otherwise (isolcpus)."""
        os.sched_setaffinity(0, {cpu})
        return f"stays on processor {cpu}"

    def run_first(self, priority: int) -> str:
        """Run this thread under SCHED_FIFO. Threads and processes that it starts from now on inherit this."""
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        return f"SCHED_FIFO {priority}"

    def lock_memory(self) -> str:
        """Keep every page in memory once it was touched.

        Pages never touched are not brought in: they are most of what is mapped, and a small board has not that much.
        """
        flags, what = MCL_CURRENT | MCL_FUTURE, "now and later"
        if not self._may_lock_all():
            # Under a limit, an allocation that exceeds it would fail.
            flags, what = MCL_CURRENT, "what is mapped so far, since there is a limit"
        try:
            _mlockall(flags | MCL_ONFAULT)
        except OSError:  # before Linux 4.4
            _mlockall(flags)
        return f"locked, {what}"

    def tighten_timer(self) -> str:
        """Set the timer slack of this thread to a nanosecond."""
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
    *, cpu: int | None = None, priority: int | None = None, lock_memory: bool = False, system: SystemCalls | None = None
) -> list[Finding]:
    """Make this thread punctual; what the system does not allow is left as it is, and said.

    Call it from the thread that will run the loop, when everything is loaded.

    Parameters
    ----------
    cpu : int, optional
        The processor to stay on; one that nothing else may use (isolcpus) is best.
    priority : int, optional
        From 1 to 99 under SCHED_FIFO; the kernel runs its interrupt threads at 50.
    lock_memory : bool
        Whether pages, once touched, must stay in memory.
    system : SystemCalls, optional

    Returns
    -------
    list of Finding
        One for each thing asked for, and for the timer slack: ``ok`` if it was applied, else ``warning``.
    """
    system = system or LinuxCalls()
    found = [_timer(system)]
    if cpu is not None:
        found.append(_processor(system, cpu))
    if lock_memory:
        found.append(_memory(system))
    if priority is not None:
        found.append(_priority(system, priority))
    return found


def _timer(system: SystemCalls) -> Finding:
    return _attempt(
        "timer slack",
        system.tighten_timer,
        "the system may wake the loop some 50 µs late, to save power",
        "run it on Linux, or with TimerSlackNSec=1 in its systemd unit",
    )


def _processor(system: SystemCalls, cpu: int) -> Finding:
    return _attempt(
        "processor",
        lambda: system.pin(cpu),
        "moving to another processor means a cold cache, and the one asked for may be the quiet one",
        "name a processor that `lscpu -e` shows, and allow it: AllowedCPUs= in its systemd unit",
    )


def _memory(system: SystemCalls) -> Finding:
    return _attempt(
        "memory",
        system.lock_memory,
        "a page brought back from a disk takes milliseconds, in the middle of an answer",
        "LimitMEMLOCK=infinity in its systemd unit, or a memlock line in /etc/security/limits.conf",
    )


def _priority(system: SystemCalls, priority: int) -> Finding:
    return _attempt(
        "priority",
        lambda: system.run_first(priority),
        "any other process can take the processor from an answer",
        f"LimitRTPRIO={priority} in its systemd unit, or an rtprio line in /etc/security/limits.conf",
    )


def _attempt(check: str, do: Callable[[], str], why: str, fix: str) -> Finding:
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
