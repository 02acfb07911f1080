"""Watchdogs, which restart a loop that is stuck: the service manager, or the board's hardware watchdog."""

import math
import os
import re
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from polydom_runtime.causes import shown
from polydom_runtime.clock import Clock
from polydom_runtime.exceptions import LoopError

from .wakeups import NAP_NS

WATCHDOG_DEVICE = "/dev/watchdog"
WDIOC_GETTIMEOUT = 0x80045707
ASSUMED_TIMEOUT = 10.0
"""Seconds of the time-out of a device that does not report its own."""

ALIVE, MAGIC_CLOSE = b"\0", b"V"


class Watchdog(Protocol):
    """Restarts the service or the board unless it is kept alive often enough.

    Only the loop itself may keep it alive, never another thread or a timer: these would go on when the loop is stuck.
    Any method may raise OSError, which is no reason for the loop to stop.
    """

    @property
    def interval(self) -> float:
        """Seconds from one keep-alive to the next, with a margin; infinity if none are needed. Valid after `ready`."""
        ...

    def ready(self, status: str) -> None:
        """Report that the loop begins; `status` is a text for people."""
        ...

    def keep_alive(self) -> None:
        """Report that the loop goes on."""
        ...

    def close(self, clean: bool) -> None:
        """Report that the loop has ended: as intended (`clean`), or by an error that somebody should look at."""
        ...


class ServiceManager:
    """Reports the state of this service to systemd, by its notification protocol (``Type=notify``, ``WatchdogSec=``).

    Parameters
    ----------
    address : str
        Address of a datagram socket: a path, or ``@`` and a name in the abstract name space.
    interval : float
        Seconds between two keep-alives; infinity if systemd expects none.

    """

    def __init__(self, address: str, interval: float = math.inf) -> None:
        if address[:1] not in ("/", "@") or len(address) < 2:
            raise LoopError(
                f"NOTIFY_SOCKET must be an absolute path, or @ and a name. Got {shown(address)}. Sockets of the host "
                "of a virtual machine (vsock:) are for its systemd alone: run the program as a service of that. Or "
                "unset NOTIFY_SOCKET: then nobody is told."
            )
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.interval = interval

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ, process: int | None = None
    ) -> "ServiceManager | None":
        """Return the manager that started this process; None if it expects no notifications.

        Keep-alives are sent twice as often as WATCHDOG_USEC demands; none if WATCHDOG_PID is another process, or
        WATCHDOG_USEC is empty or 0.
        """
        if not (address := environment.get("NOTIFY_SOCKET")):
            return None
        own = str(os.getpid() if process is None else process)
        is_watched = (environment.get("WATCHDOG_PID") or own) == own
        microseconds = (environment.get("WATCHDOG_USEC") or "0") if is_watched else "0"
        if not re.fullmatch("[0-9]{1,20}", microseconds):
            raise LoopError(
                f"WATCHDOG_USEC must be whole microseconds. Got {shown(microseconds)}. Set WatchdogSec= of the "
                "service, and leave the variable to systemd."
            )
        return cls(address, int(microseconds) / 2e6 or math.inf)

    def ready(self, status: str) -> None:
        """Send READY=1 and the status, which ``systemctl status`` shows."""
        self._send("READY=1", _status(status))

    def status(self, status: str) -> None:
        """Send only the status."""
        self._send(_status(status))

    def keep_alive(self) -> None:
        """Send WATCHDOG=1."""
        self._send("WATCHDOG=1")

    def close(self, clean: bool) -> None:
        """Send STOPPING=1."""
        self._send("STOPPING=1", _status("finished" if clean else "failed"))

    def _send(self, *lines: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mine:
            mine.setblocking(False)  # the loop must not wait for a full queue, and the next keep-alive comes soon
            mine.sendto("\n".join(lines).encode(), self._address)


class HardwareWatchdog:
    """The watchdog timer of the board, which resets the board; it runs only from `ready` on.

    Parameters
    ----------
    path : str or path
    """

    def __init__(self, path: str | os.PathLike[str] = WATCHDOG_DEVICE) -> None:
        self._path = path
        self._file: int | None = None
        self.interval = math.inf

    def ready(self, status: str) -> None:
        """Open the device, which starts it; raises `LoopError` if it cannot be opened."""
        try:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        except OSError as e:
            raise LoopError(
                f"{os.fspath(self._path)} must be a watchdog that this process may open, and nobody else has (systemd "
                f"has it where RuntimeWatchdogSec= is set). {e}"
            ) from e
        self.interval = _timeout(self._file) / 3.0

    def keep_alive(self) -> None:
        """Restart the time-out of the device."""
        if self._file is not None:
            os.write(self._file, ALIVE)

    def close(self, clean: bool) -> None:
        """Switch the timer off after a clean end, unless the kernel has WATCHDOG_NOWAYOUT; else it resets the board."""
        file, self._file = self._file, None
        if file is not None:
            try:
                if clean:
                    os.write(file, MAGIC_CLOSE)
            finally:
                os.close(file)


class Pulse:
    """Keeps watchdogs alive as often as the most frequent one needs, if at most `nap_ns` pass between two beats."""

    def __init__(
        self, watchdogs: Sequence[Watchdog], clock: Clock, failed: Callable[[OSError], object] = lambda error: None
    ) -> None:
        self._watchdogs = watchdogs
        self._clock = clock
        self._failed = failed
        self._interval = self._due = math.inf
        self.nap_ns = NAP_NS

    def ready(self, status: str) -> None:
        """Report to all watchdogs that the loop begins."""
        for watchdog in self._watchdogs:
            self._tell(partial(watchdog.ready, status))
        self._interval = 1e9 * min((w.interval for w in self._watchdogs), default=math.inf)
        self._due = self._clock() + self._interval
        self.nap_ns = max(int(min(NAP_NS, self._interval / 2.0)), 1)

    def beat(self) -> None:
        """Keep the watchdogs alive if a keep-alive is due; after a failure, the next beat tries again."""
        if (now := self._clock()) >= self._due:
            told = [self._tell(watchdog.keep_alive) for watchdog in self._watchdogs]
            self._due = now + self._interval if all(told) else now

    def close(self, *, clean: bool) -> None:
        """Report to all watchdogs that the loop has ended."""
        for watchdog in self._watchdogs:
            self._tell(partial(watchdog.close, clean))

    def _tell(self, say: Callable[[], None]) -> bool:
        try:
            say()
        except OSError as e:
            self._failed(e)
            return False
        return True


def _status(text: str) -> str:
    return f"STATUS={' '.join(text.split())}"


def _timeout(file: int) -> float:
    with suppress(OSError, ImportError):
        import fcntl

        answer = fcntl.ioctl(file, WDIOC_GETTIMEOUT, bytes(4))
        if (seconds := int.from_bytes(answer, sys.byteorder)) > 0:
            return float(seconds)
    return ASSUMED_TIMEOUT
