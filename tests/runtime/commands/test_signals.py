"""Signals that end a command, whatever it is doing when they come."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Thread

import pytest

from polydom_runtime.commands import signals
from polydom_runtime.commands.signals import Stopped, interruptible, stopping
from polydom_runtime.exceptions import LoopError

EVER_S = 300.0


@pytest.fixture(autouse=True)
def heeded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """These tests may run where signals are ignored, as under ``nohup``."""
    monkeypatch.setattr(signals, "SEND_AGAIN_S", 0.001)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def get_signal() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(EVER_S)


def stopped(block: Callable[[], None]) -> int:
    """Return the signal that ended what a command does."""
    with pytest.raises(Stopped) as caught, interruptible():
        block()
    return caught.value.number


def test_signal_that_a_library_swallows_is_raised_again() -> None:
    def swallow() -> None:
        with suppress(KeyboardInterrupt):
            get_signal()
        time.sleep(EVER_S)

    assert stopped(swallow) == signal.SIGTERM


def test_cleaning_up_after_a_signal_is_not_interrupted() -> None:
    cleaned = []

    def clean_up() -> None:
        try:
            get_signal()
        finally:
            for k in range(50):
                time.sleep(signals.SEND_AGAIN_S)
                cleaned.append(k)

    assert stopped(clean_up) == signal.SIGTERM
    assert len(cleaned) == 50
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the limit of tasks of a service or a container."""

    def start(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", start)


@pytest.mark.usefixtures("no_threads")
def test_signal_ends_a_command_that_may_start_no_thread() -> None:
    assert stopped(get_signal) == signal.SIGTERM


@pytest.mark.usefixtures("no_threads")
def test_loop_that_may_start_no_thread_names_the_limit() -> None:
    descriptors = os.listdir("/proc/self/fd")
    with pytest.raises(LoopError, match=r"can't start new thread\..*TasksMax="), stopping():
        pytest.fail("a run without a watch for signals")

    assert len(os.listdir("/proc/self/fd")) == len(descriptors)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_error_of_a_run_is_its_own() -> None:
    with pytest.raises(RuntimeError, match="of a feature"), stopping():
        raise RuntimeError("of a feature")


def test_further_signals_interrupt_the_cleaning_up() -> None:
    def clean_up() -> None:
        try:
            get_signal()
        finally:
            while True:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(signals.SEND_AGAIN_S)

    assert stopped(clean_up) == signal.SIGTERM
