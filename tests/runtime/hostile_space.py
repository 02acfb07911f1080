"""A feature space with a hostile feature, and a bundle for it whose answer is the number that the item carries.

An item is an array of a fault, and its number from 1 to `LARGEST`. Each model answers with the number, from one feature
or both; the prior answers 0. So an answer that is neither is that of another item.
"""

import ctypes
import hashlib
import mmap
import os
import resource
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from polydom_runtime import CostFunction, Feature, FeatureSpace
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Interval
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.device.tiny_models import _node, model
from tests.bundle_parts import bundle_of

SPACE = "tests.runtime.hostile_space:space"
LARGEST = 127
FOREVER_S = 3600.0
LATE_S = 0.03


def own_sockets() -> list[int]:
    """Return the descriptors of this process that are sockets."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                found.append(int(name))
        except OSError:
            pass  # that of the folder itself
    return found


def send_all(*messages: bytes) -> None:
    for number in own_sockets():
        with socket.socket(fileno=os.dup(number)) as connection:
            for message in messages:
                connection.send(message)


def forged(sequence: int, *wrong: Any) -> bytes:
    """Return a reply as the worker packs it, with the number of another item."""
    answer = [LARGEST, ["number", "hostile"], 0.9, 1000, True, "planned", 1.0, 0, "", None, None]
    packed: bytes = msgpack.packb((sequence, answer, 2.0, [0, 1], [1, 2, 3, 4, 5], [], -1.0, None, None, *wrong))
    return packed


def fork_and_return() -> None:
    """Both processes go on with the item, and reply."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    os.fork()


def fork_and_return_late() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if os.fork() == 0:
        time.sleep(LATE_S)


def fork_in_c() -> None:
    """Without the knowledge of the interpreter."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if ctypes.PyDLL(None).fork() == 0:
        time.sleep(LATE_S)


def fork_and_raise() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if os.fork() == 0:
        raise ValueError("in the child")


def close_and_reuse() -> None:
    """Close all descriptors, and let other sockets have their numbers."""
    os.closerange(3, 256)
    kept.extend(socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(20))


def shut_down() -> None:
    for number in own_sockets():
        with socket.socket(fileno=os.dup(number)) as connection:
            connection.shutdown(socket.SHUT_RDWR)


kept: list[Any] = []


def exhaust() -> None:
    """Leave no memory to this process, and need some."""
    resource.setrlimit(resource.RLIMIT_AS, (0, resource.getrlimit(resource.RLIMIT_AS)[1]))
    np.ones(1 << 22)


def exhaust_and_return() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (0, resource.getrlimit(resource.RLIMIT_AS)[1]))
    kept.append(bytearray(1 << 14))


def scribble() -> None:
    """Write nonsense into the words of this worker's slot, and hang."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        # The slot is the first page or pages of the file that are mapped at an offset, before the place of the item.
        where, mode, _, _, _, *name = line.split()
        if name and name[0].startswith("/memfd:polydom") and mode.startswith("rw-s"):
            begin, end = (int(part, 16) for part in where.split("-"))
            if end - begin == mmap.PAGESIZE:
                ctypes.memset(begin, 0xFF, 24)
                ctypes.memset(begin + 24, 0x7F, 8)
    time.sleep(FOREVER_S)


def of_nursery(number: int) -> Callable[[], object]:
    return lambda: os.kill(os.getppid(), number)


_forged = count(1)

FAULTS: dict[str, Callable[[], object]] = {
    "fork": fork_and_return,
    "fork, late": fork_and_return_late,
    "fork in C": fork_in_c,
    "fork, raise": fork_and_raise,
    "other bytes": lambda: send_all(b"\xc1 no message"),
    "many bytes": lambda: send_all(bytes(200)),
    "empty message": lambda: send_all(b""),
    "earlier reply": lambda: send_all(forged(1)),
    "later replies": lambda: send_all(*(forged(next(_forged)) for _ in range(5))),
    "long reply": lambda: send_all(forged(1, "x" * (1 << 16))),
    "closed descriptors": lambda: os.closerange(3, 256),
    "reused descriptors": close_and_reuse,
    "shut down": shut_down,
    "exhausted memory": exhaust,
    "memory exhausted for good": exhaust_and_return,
    "sys.exit": lambda: sys.exit(1),
    "exit": lambda: os._exit(0),
    "crash": lambda: ctypes.string_at(0),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "raise": lambda: 1 / 0,
    "stopped": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "hang": lambda: time.sleep(FOREVER_S),
    "scribble": scribble,
    "nursery killed": of_nursery(signal.SIGKILL),
    "nursery stopped": of_nursery(signal.SIGSTOP),
}
NAMES = ("", *FAULTS)
HANG = frozenset(["stopped", "hang", "scribble"])
OF_NURSERY = frozenset(["nursery killed", "nursery stopped"])


def hostile(x: np.ndarray) -> list[float]:
    if name := NAMES[int(x[0])]:
        FAULTS[name]()
    return [x[1]]


space = FeatureSpace([Feature("number", lambda x: [x[1]]), Feature("hostile", hostile)], size=len)


def item(number: int, fault: str = "") -> np.ndarray:
    return np.array([NAMES.index(fault), number], dtype=float)


def numbering(width: int) -> bytes:
    """Return a linear classifier whose class is the mean of its features: the c with the largest 2·c·x - c²."""
    classes = range(LARGEST + 1)
    attributes = {
        "coefficients": [2.0 * c / width for c in classes for _ in range(width)],
        "intercepts": [-float(c * c) for c in classes],
        "classlabels_ints": list(classes),
        "post_transform": "NONE",
    }
    return model([_node("LinearClassifier", ["X"], ["label", "scores"], attributes)], width)


def make_bundle(deadline_s: float) -> tuple[Bundle, list[bytes]]:
    us, orders = 1e-6, {(0,): 0.8, (0, 1): 0.9}
    data = [numbering(len(order)) for order in orders]
    models = tuple(
        ModelEntry(order, score, 5 * us, len(d), hashlib.sha256(d).digest())
        for (order, score), d in zip(orders.items(), data, strict=True)
    )
    bundle = bundle_of(
        names=("number", "hostile"),
        widths=(1, 1),
        classes=tuple(range(LARGEST + 1)),
        sizes=(1.0, 10.0),
        budgets=(1e-3, deadline_s),
        costs=(CostFunction.of(10 * us), CostFunction.of(20 * us)),
        dispatch=CostFunction.of(1 * us),
        prior=(0, 0.1),
        models=models,
        shipped=(0, 1),
        intervals=(Interval(1, 1.0, 10.0), Interval(2, 1.0, 10.0)),
    )
    return bundle, data
