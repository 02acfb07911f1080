"""Functions of Linux that the standard library lacks: processes that end together, short waits, fixed mappings."""

import ctypes
import mmap
import os
import select
import signal
from collections.abc import Callable

from polydom_runtime.exceptions import WorkerError

PR_SET_PDEATHSIG, PR_GET_PDEATHSIG = 1, 2
POLLIN = 1

_libc = ctypes.CDLL(None, use_errno=True)
_ppoll = ctypes.CDLL(None).ppoll


class _Polled(ctypes.Structure):
    _fields_ = (("descriptor", ctypes.c_int), ("events", ctypes.c_short), ("returned", ctypes.c_short))


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class Waiter:
    """Waits in nanoseconds until a descriptor, if not negative, is readable or closed at the other end.

    The standard library's `poll` rounds up to milliseconds, and its `select` takes no descriptor above 1023.

    >>> Waiter(-1).wait(1000)
    False
    """

    __slots__ = ("_time", "arguments")

    def __init__(self, descriptor: int) -> None:
        self._time = _Time()
        polled = _Polled(descriptor, POLLIN, 0)
        self.arguments = ctypes.byref(polled), ctypes.c_ulong(1), ctypes.byref(self._time), None

    def wait(self, nanoseconds: int) -> bool:
        """Wait at most this long, or until a signal comes; tell whether the descriptor is readable."""
        self._time.seconds, self._time.nanoseconds = divmod(max(nanoseconds, 0), 1_000_000_000)
        return int(_ppoll(*self.arguments)) > 0


def check_calls() -> None:
    """Check that this system has the calls that supervision needs, by using each once; `WorkerError` without one."""
    calls: dict[str, Callable[[], object]] = {
        "memfd_create": lambda: os.close(os.memfd_create("polydom-check", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)),
        "pidfd_open and pidfd_send_signal": _signal_nobody,
        "ppoll": lambda: _checked(_libc.ppoll(*Waiter(-1).arguments)),
        "prctl": lambda: _checked(_libc.prctl(PR_GET_PDEATHSIG, ctypes.byref(ctypes.c_int()))),
    }
    for name, call in calls.items():
        try:
            call()
        except (OSError, AttributeError) as e:  # the latter if Python itself was built for an older system
            raise WorkerError(
                f"For supervision, the system must allow {name}. Got: {e}. Linux is older than 5.3, or a "
                "seccomp profile denies it: that of an old version of Docker or Podman, or SystemCallFilter= of a "
                "service. Update that, allow the call there, or answer without supervision."
            ) from e


def _signal_nobody() -> None:
    own = os.pidfd_open(os.getpid())
    try:
        signal.pidfd_send_signal(own, 0)
    finally:
        os.close(own)


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(number := ctypes.get_errno(), os.strerror(number))


def sleep(seconds: float) -> None:
    """Sleep by the same system call as a `Waiter`, so that it wakes up as late as one."""
    Waiter(-1).wait(int(seconds * 1e9))


def die_with_parent(parent: int) -> None:
    """Let the system kill this process when the thread that started it ends; end at once if it has ended already."""
    unused = ctypes.c_ulong(0)
    _libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), unused, unused, unused)
    if os.getppid() != parent:
        os._exit(1)


def run_behind() -> None:
    """Lower the real-time priority of this process by one: its parent could not interrupt an equal."""
    policy = os.sched_getscheduler(0)
    if policy in (os.SCHED_FIFO, os.SCHED_RR):
        priority = os.sched_getparam(0).sched_priority - 1
        os.sched_setscheduler(0, policy if priority else os.SCHED_OTHER, os.sched_param(priority))


def map_at(address: int, length: int, descriptor: int, offset: int) -> None:
    """Map whole pages of a shared file over memory that is mapped already; pointers into it stay valid."""
    _libc.mmap.restype = ctypes.c_void_p
    where = _libc.mmap(
        ctypes.c_void_p(address),
        ctypes.c_size_t(length),
        mmap.PROT_READ | mmap.PROT_WRITE,
        mmap.MAP_SHARED | MAP_FIXED,
        descriptor,
        ctypes.c_long(offset),
    )
    if where != address:
        raise OSError(ctypes.get_errno(), "mmap failed")


MAP_FIXED = 0x10
"""The same number on every Linux except Alpha and PA-RISC."""


def survives(task: Callable[[], object], seconds: float) -> bool:
    """Try a task in a process of its own, and tell whether it ends without a crash within this time."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        die_with_parent(parent)
        try:
            task()
        finally:
            os._exit(0)
    pidfd = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    if not poll.poll(seconds * 1e3):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    os.close(pidfd)
    return os.waitpid(pid, 0)[1] == 0
