"""What signals do to a command: a loop finishes its item, all else is interrupted as by Ctrl-C."""

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Event, Thread, main_thread
from time import sleep
from types import FrameType

from polydom_runtime.exceptions import LoopError
from polydom_runtime.loop.stop import Stop

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

SEND_AGAIN_S = 0.05

NO_SIGNAL = b"\0"
"""Ends the thread that watches for signals."""


class Stopped(KeyboardInterrupt):
    """Raised by a signal: as Ctrl-C, with the number of the signal."""

    def __init__(self, number: int) -> None:
        self.number = number


@contextmanager
def _handled_by(handlers: Mapping[int, Callable[..., object]]) -> Iterator[None]:
    """Handle signals within a ``with`` block in ways of its own."""
    before = [(number, signal.signal(number, handler)) for number, handler in handlers.items()]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let signals raise `Stopped` within a ``with`` block. For the main thread.

    Libraries may swallow what is raised in their code, as while a module in C is imported. So a signal is sent again
    until the block ends, and raises again unless the block is ending already. A second signal always raises.
    """
    ended, threads = Event(), list[Thread]()
    handled = sent = 0

    def send_again(number: int) -> None:
        nonlocal sent
        while not ended.wait(SEND_AGAIN_S):
            sent += 1
            signal.pthread_kill(main_thread().ident or 0, number)

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal handled
        handled += 1
        if handled == 1:
            thread = Thread(target=send_again, args=(number,), name="polydom-signals", daemon=True)
            with suppress(RuntimeError):  # no further thread is allowed: then it is not sent again
                thread.start()
                threads.append(thread)
        elif handled <= 1 + sent and _is_stopping():
            return
        raise Stopped(number)

    with _handled_by(dict.fromkeys(_heeded(), handle)):
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()


def _is_stopping() -> bool:
    """Tell whether the code that runs cleans up after a signal."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, Stopped):
        error = error.__context__
    return error is not None


@contextmanager
def stopping(on_hangup: Callable[[], object] | None = None) -> Iterator[Stop]:
    """Let a signal stop a loop within a ``with`` block, and a second one end the process at once. For the main thread.

    With `on_hangup`, SIGHUP calls that and stops nothing. A signal right before a system call that waits would be
    handled after it, maybe never: so another thread, which the system's handler wakes up, sends it again, which
    interrupts the call.
    """
    numbers = [number for number in _heeded() if on_hangup is None or number != signal.SIGHUP]
    stop, again = Stop(), _SendAgain(numbers)

    def handle(number: int, frame: FrameType | None) -> None:
        again.handled += 1
        if again.handled > 1 + again.sent:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        stop.on_signal(number, frame)

    handlers: dict[int, Callable[..., object]] = dict.fromkeys(numbers, handle)
    if on_hangup is not None:
        handlers[signal.SIGHUP] = lambda *_: on_hangup()
    with _handled_by(handlers), again.running():
        yield stop


def without_hangup() -> AbstractContextManager[None]:
    """Let SIGHUP do nothing within a ``with`` block, while all is made that it is for. For the main thread."""
    return _handled_by({signal.SIGHUP: lambda *_: None})  # unlike SIG_IGN, that is not handed on to new processes


def _heeded() -> list[int]:
    """Return the signals that end a command; not those that are ignored, as under ``nohup``."""
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


class _SendAgain:
    """Sends a signal again to the main thread until it has been handled; at a second one it may end the process."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self.handled = self.sent = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch for signals within a ``with`` block."""
        read, write = os.pipe()
        os.set_blocking(write, False)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        thread = Thread(target=self._watch, args=(read,), name="polydom-signals", daemon=True)
        try:
            thread.start()
            yield
        except RuntimeError as e:
            if thread.ident is not None:
                raise
            raise LoopError(
                f"A run needs a thread more. {e}. Raise TasksMax= of the service, --pids-limit of the container or "
                "`ulimit -u`."
            ) from e
        finally:
            signal.set_wakeup_fd(before)
            if thread.ident is not None:
                os.write(write, NO_SIGNAL)  # a process that was forked meanwhile may have the pipe open, too
                thread.join()
            os.close(write)
            os.close(read)

    def _watch(self, descriptor: int) -> None:
        number = came = 0
        while True:
            is_new, _, _ = select.select([descriptor], [], [], SEND_AGAIN_S if number and not self.handled else None)
            if not is_new:
                self.sent += 1
                signal.pthread_kill(main_thread().ident or 0, number)
            elif (byte := os.read(descriptor, 1)) == NO_SIGNAL:
                return
            elif byte[0] in self._numbers:
                number, came = byte[0], came + 1
                if came > 1 + self.sent:
                    sleep(SEND_AGAIN_S)
                    if not self.handled:  # the main thread never comes back from what it called
                        os.kill(os.getpid(), signal.SIGKILL)
