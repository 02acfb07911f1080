"""How long a hand-over to another process and its reply take."""

import socket
import statistics

import msgpack

from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.clock import hardware_clock

from .linux import Waiter, sleep
from .nursery import ECHO
from .worker import MAX_MESSAGE_BYTES

ECHOES, ECHO_RANK = 100, 90
"""How many hot hand-overs are measured, and the percentile of their times that plans are made with."""

COLD_ECHOES, ASLEEP_S = 20, 0.01
"""How many hand-overs are measured after a sleep, and the sleep before each."""


def round_trips(control: socket.socket) -> dict[Regime, float]:
    """Return the seconds that a message and its reply seldom exceed: hot, first after a sleep, and second after it."""
    waiter = Waiter(control.fileno())
    hot = [_round_trip(control, waiter) for _ in range(ECHOES + 1)][1:]
    cold, rehearsed = [], []
    for _ in range(COLD_ECHOES):
        sleep(ASLEEP_S)
        cold.append(_round_trip(control, waiter))
        rehearsed.append(_round_trip(control, waiter))
    return {"hot": _rarely_exceeded(hot), "rehearsed": _rarely_exceeded(rehearsed), "cold": _rarely_exceeded(cold)}


def _rarely_exceeded(taken_ns: list[int]) -> float:
    """Return a high quantile in seconds, at most twice the median: what is above that is a pause on a busy machine."""
    return min(statistics.quantiles(taken_ns, n=100)[ECHO_RANK - 1], 2.0 * statistics.median(taken_ns)) * 1e-9


def _round_trip(control: socket.socket, waiter: Waiter) -> int:
    start = hardware_clock()
    control.send(msgpack.packb(msgpack.unpackb(ECHO)))
    while not waiter.wait(1_000_000_000):
        pass
    message = control.recv(MAX_MESSAGE_BYTES)
    if not message:
        raise ConnectionResetError
    msgpack.unpackb(message)
    return hardware_clock() - start
