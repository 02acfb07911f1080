"""Watchdogs: the service manager's protocol over real sockets, a device's over a file, and how often both are told."""

import math
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime.exceptions import LoopError
from polydom_runtime.loop.watchdogs import ASSUMED_TIMEOUT, HardwareWatchdog, Pulse, ServiceManager
from polydom_runtime.testing import ManualClock


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """A socket as the service manager has it, and its address as NOTIFY_SOCKET."""
    address = str(tmp_path / "notify") if request.param == "path" else f"@polydom-{os.urandom(8).hex()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(address.replace("@", "\0") if address.startswith("@") else address)
        end.setblocking(False)
        yield address, end


def test_a_service_tells_its_state_from_ready_to_stopping(manager: tuple[str, socket.socket]) -> None:
    address, end = manager
    service = ServiceManager(address)
    service.ready("an answer\nevery 20 ms")
    service.status("3 answers")
    service.keep_alive()
    service.close(clean=True)

    assert [end.recv(1000).decode() for _ in range(4)] == [
        "READY=1\nSTATUS=an answer every 20 ms",
        "STATUS=3 answers",
        "WATCHDOG=1",
        "STOPPING=1\nSTATUS=finished",
    ]


def test_a_manager_that_does_not_read_never_blocks_the_loop(manager: tuple[str, socket.socket]) -> None:
    service = ServiceManager(manager[0])

    def fill() -> None:
        for _ in range(100_000):
            service.keep_alive()

    with pytest.raises(BlockingIOError):
        fill()
    manager[1].recv(1000)
    service.keep_alive()


def test_a_manager_that_is_gone_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ServiceManager(str(tmp_path / "gone")).keep_alive()


@pytest.mark.parametrize(
    ("environment", "interval"),
    [
        ({}, math.inf),
        ({"WATCHDOG_USEC": "3000000"}, 1.5),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "77"}, 1.5),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "78"}, math.inf),
        ({"WATCHDOG_USEC": "0"}, math.inf),
        ({"WATCHDOG_USEC": ""}, math.inf),
        ({"WATCHDOG_USEC": "soon", "WATCHDOG_PID": "78"}, math.inf),
    ],
)
def test_keep_alives_are_sent_twice_as_often_as_asked_of_this_process(
    environment: dict[str, str], interval: float
) -> None:
    service = ServiceManager.from_environment({"NOTIFY_SOCKET": "@nobody", **environment}, process=77)

    assert service is not None
    assert service.interval == interval


@pytest.mark.parametrize("text", ["soon", "10s", "-1", "²", "9" * 5000])
def test_interval_that_is_none_is_refused(text: str) -> None:
    """Without a word there would be no keep-alives, and systemd would kill the service again and again."""
    with pytest.raises(LoopError, match=r"WATCHDOG_USEC must be whole microseconds.*WatchdogSec="):
        ServiceManager.from_environment({"NOTIFY_SOCKET": "@nobody", "WATCHDOG_USEC": text})


def test_without_a_manager_there_is_nobody_to_tell() -> None:
    assert ServiceManager.from_environment({"WATCHDOG_USEC": "3000000"}) is None


@pytest.mark.parametrize(
    "address", ["relative/path", "vsock:2:1234", "vsock-stream:2:1234", "vsock", "@", "/", "a" * 10_000]
)
def test_an_address_that_is_no_local_socket_is_refused_with_what_to_do(address: str, tmp_path: Path) -> None:
    with pytest.raises(LoopError, match=r"NOTIFY_SOCKET.*\(vsock:\).*unset") as caught:
        ServiceManager(address)
    assert len(str(caught.value)) < 1000


def test_without_an_address_nobody_is_told() -> None:
    assert ServiceManager.from_environment({"NOTIFY_SOCKET": ""}) is None


@pytest.mark.parametrize(("clean", "written"), [(True, b"\0\0V"), (False, b"\0\0")])
def test_a_device_is_switched_off_after_a_clean_end_only(clean: bool, written: bytes, tmp_path: Path) -> None:
    (tmp_path / "watchdog").touch()
    device = HardwareWatchdog(tmp_path / "watchdog")
    device.ready("")
    device.keep_alive()
    device.keep_alive()
    device.close(clean)
    device.close(clean)

    assert (tmp_path / "watchdog").read_bytes() == written
    assert device.interval == ASSUMED_TIMEOUT / 3


def test_a_device_does_not_run_before_the_loop_is_ready(tmp_path: Path) -> None:
    """Otherwise an error between would reset the board, again and again."""
    device = HardwareWatchdog(tmp_path / "watchdog")
    device.keep_alive()
    device.close(clean=True)

    assert device.interval == math.inf
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_cannot_be_opened_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(LoopError, match=r"nowhere must be a watchdog.*RuntimeWatchdogSec"):
        Pulse([HardwareWatchdog(tmp_path / "nowhere")], ManualClock()).ready("")


class Counting:
    """A watchdog that fails now and then."""

    def __init__(self, clock: ManualClock, interval: float, fails: set[int]) -> None:
        self.interval = interval
        self.alive: list[int] = []
        self._clock, self._fails, self._told = clock, fails, 0

    def ready(self, status: str) -> None:
        self.alive.append(self._clock())

    def keep_alive(self) -> None:
        self._told += 1
        if self._told in self._fails:
            raise BlockingIOError
        self.alive.append(self._clock())

    def close(self, clean: bool) -> None:
        pass


@given(
    intervals=st.lists(st.integers(1, 50), min_size=1, max_size=3),
    steps=st.lists(st.integers(0, 10), min_size=1, max_size=50),
    fails=st.sets(st.integers(1, 20), max_size=3),
)
def test_each_watchdog_is_told_at_the_first_beat_that_it_needs(
    intervals: list[int], steps: list[int], fails: set[int]
) -> None:
    clock = ManualClock()
    watchdogs = [Counting(clock, interval * 1e-9, fails) for interval in intervals]
    errors: list[OSError] = []
    pulse = Pulse(watchdogs, clock, errors.append)
    pulse.ready("")
    for step in steps:
        clock.advance(seconds=step * 1e-9)
        before = len(errors)
        pulse.beat()
        for watchdog in watchdogs:
            overdue = clock() - watchdog.alive[-1] >= watchdog.interval * 1e9 + 1e-6
            assert not overdue or len(errors) > before


def test_a_watchdog_that_waits_for_nothing_is_told_nothing() -> None:
    clock = ManualClock()
    watchdog = Counting(clock, math.inf, set())
    pulse = Pulse([watchdog], clock)
    pulse.ready("")
    clock.advance(seconds=1e6)
    pulse.beat()

    assert watchdog.alive == [0]


def test_a_watchdog_that_was_not_reached_is_told_at_the_next_beat() -> None:
    clock = ManualClock()
    watchdog = Counting(clock, 10.0, fails={1, 2})
    pulse = Pulse([watchdog], clock)
    pulse.ready("")
    clock.advance(seconds=10.0)
    for _ in range(4):
        pulse.beat()
        clock.advance(seconds=1.0)

    assert watchdog.alive == [0, 12_000_000_000]
