"""A worker and its link to the supervisor: messages are single datagrams, which arrive whole or not at all."""

import gc
import os
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.clock import collector_off
from polydom_runtime.learning.learned_times import Unit
from polydom_runtime.learning.own_work import OwnWork
from polydom_runtime.learning.slowdown import Slowdown
from polydom_runtime.prediction import Prediction
from polydom_runtime.predictor import Predictor

from .linux import Waiter
from .shared_block import MODEL, NO_STAGE, PROGRESS, SINCE, STAGE, ItemHeader, Slot, read_item

MAX_MESSAGE_BYTES = 1 << 16
READY = b"!"
NOTHING = -1.0
"""Stands for a ratio of times that is not known."""

MAX_REPORTS = 32
"""Reports of one feature to a new worker; more would not make the pause of the feature longer."""

COLLECT_EVERY = 1000
"""Items between two garbage collections, each after an answer was sent."""


class WrongReply(ConnectionError):
    """A message came from the socket of a worker that is not its reply to the item in work."""


class Reply(NamedTuple):
    """The reply of a worker to one item."""

    sequence: int
    answer: Prediction | None
    """None if the item could not be read."""
    size: float
    started: list[int]
    marks: list[int]
    """`size`, `started`, `marks`: `size`, `features` and `marks` of the worker's `Trace`."""
    out: list[str]
    """The features that are out of the choice."""
    ratio: float = NOTHING
    """How much longer than typical the answer took, for the estimate of the supervisor; or `NOTHING`."""
    seen: tuple[Regime, int, list[int]] | None = None
    """`regime`, `model` and `asked` of what is `Seen`; None if the answer tells nothing."""
    took_ns: int | None = None
    """How long a unit took that was tried; None if it failed, or none was."""


class Told(NamedTuple):
    """What a worker plans an answer with: the supervisor keeps the promise, since workers may end at any time."""

    slowdown: float = 1.0
    margin: float = 1.0
    """`slowdown`, `margin`: their product is what the time left is divided by."""
    careful: bool = False
    """Whether the answer must not be late; see `Runs`."""


class ToldSlowdown(Slowdown):
    """Stands for the estimate of the supervisor in a worker: has the value that it told, and notes the last ratio."""

    __slots__ = ("ratio",)

    def __init__(self) -> None:
        super().__init__()
        self.stirred, self.ratio = True, NOTHING

    def add(self, ratio: float, each: float = 1.0) -> None:
        """Note a ratio, for the supervisor to add."""
        self.ratio = ratio


class Worker(NamedTuple):
    """What answers in a worker: a predictor with this estimate, and what runs single units of it."""

    predictor: Predictor
    slowdown: ToldSlowdown
    work: OwnWork


def serve(connection: socket.socket, worker: Worker, place: NDArray[np.uint8], words: NDArray[np.int64]) -> None:
    """Tell the supervisor that this worker is ready, and answer the items in their place until it closes or is gone."""
    answered, predictor = 0, worker.predictor
    alone = [True]
    os.register_at_fork(after_in_child=alone.clear)
    with collector_off():
        connection.send(READY)
        while message := connection.recv(MAX_MESSAGE_BYTES):
            sequence, arrived_ns, unit, told, failures, out, header = msgpack.unpackb(message)
            if out is not None:
                predictor.leave_out(out)
            for name, times in failures:
                for _ in range(min(times, MAX_REPORTS)):
                    predictor.report_failure(name)
            reply = msgpack.packb(_reply(worker, sequence, arrived_ns, unit, Told(*told), (header, place)))
            words[SINCE] = words[MODEL] = 0
            if arrived_ns is None:
                words[STAGE] = NO_STAGE  # no progress was noted that would show that it is done
            if not alone:  # a process that a feature forked, and that came back here
                os._exit(1)
            connection.send(reply)
            answered += 1
            if answered % COLLECT_EVERY == 0:
                gc.collect()


def _reply(
    worker: Worker,
    sequence: int,
    arrived_ns: int | None,
    unit: Unit | None,
    told: Told,
    stored: tuple[ItemHeader, NDArray[np.uint8]],
) -> Reply:
    predictor, slowdown, work = worker
    try:
        item = read_item(*stored)
    except Exception:  # of a class that can be imported only where the item was made
        return Reply(sequence, None, float("nan"), [], [], [])
    if unit is not None:
        return Reply(sequence, None, float("nan"), [], [], [], took_ns=work.took_ns(unit, item))
    slowdown.value, slowdown.ratio, predictor.margin.value = told.slowdown, NOTHING, told.margin
    if predictor.runs is not None:
        predictor.runs.careful = told.careful
    answer = predictor.rehearse_with(item) if arrived_ns is None else predictor.predict_one(item, arrived_ns=arrived_ns)
    trace, seen = predictor.trace, [(regime, *last) for regime, _, _, _, *last in predictor.take_unread()]
    ways = trace.features, trace.marks, list(predictor.out)
    return Reply(sequence, answer, float(trace.size), *ways, slowdown.ratio, seen[0] if seen else None)


class Link:
    """The supervisor's end of one worker, which has one item at a time; `asked` is 0 while it has none.

    `plan`: the number of the last change of times that its plans were laid out for; see `Keeper.learn`.
    """

    def __init__(self, pid: int, pidfd: int, connection: socket.socket, slot: Slot, plan: int = 0) -> None:
        self.pid = pid
        self.plan = plan
        self.slot = slot
        self.asked = 0
        self._pidfd, self._owner = pidfd, os.getpid()
        self._connection = connection
        self._waiter = Waiter(connection.fileno())
        self._is_new, self._start_ns = True, 0
        self._out: list[int] = []

    def is_ready(self, nanoseconds: int) -> bool:
        """Tell whether a new worker becomes ready within this time."""
        try:
            return (
                self._waiter.wait(nanoseconds)
                and self._connection.recv(MAX_MESSAGE_BYTES, socket.MSG_DONTWAIT) == READY
            )
        except OSError:
            return False

    def ask(
        self,
        sequence: int,
        start_ns: int,
        arrived_ns: int | None,
        unit: Unit | None,
        told: Told,
        failures: Mapping[str, int],
        out: list[int],
        header: ItemHeader,
    ) -> None:
        """Hand over an item; OSError if the worker is gone.

        `sequence` is never 0; `arrived_ns` is None for a rehearsal, and to try a `unit` on the item. `failures` (of
        features, told to a new worker) and `out` (numbers of models, told at each change) are what the worker must do
        without.
        """
        self.slot.words[PROGRESS] = 0  # before the worker begins, the features of the last item would seem done
        self.slot.words[STAGE] = NO_STAGE
        self.slot.words[MODEL] = 0
        self.slot.words[SINCE] = start_ns
        failed = list(failures.items()) if self._is_new else ()
        changed = None if out == self._out else out
        message = msgpack.packb((sequence, arrived_ns, unit, told, failed, changed, header))
        self._out = out
        self.asked, self._start_ns = sequence, start_ns  # also if a signal raises right after it was sent
        self._connection.send(message, socket.MSG_DONTWAIT)
        self._is_new = False

    def reply(self, nanoseconds: int = 0) -> Reply | None:
        """Return the reply; None if it does not come within this time.

        Raises ConnectionError if the worker is gone; `WrongReply`, which is one, if anything else comes.
        """
        if not self._waiter.wait(nanoseconds):
            return None
        message = self._connection.recv(MAX_MESSAGE_BYTES, socket.MSG_DONTWAIT)
        if not message:
            raise ConnectionResetError
        try:
            sequence, answer, *rest = msgpack.unpackb(message)
            reply = Reply(sequence, answer and Prediction(answer[0], tuple(answer[1]), *answer[2:]), *rest)
        except Exception as e:  # msgpack raises many kinds
            raise WrongReply from e
        if sequence != self.asked:
            raise WrongReply
        self.asked = 0
        if reply.marks:
            reply.marks[0] = self._start_ns  # the hand-over is a part of the time before the first decision
        return reply

    def lives(self) -> bool:
        """Tell whether a worker without an item lives: the connection of a dead one is readable."""
        return not self._waiter.wait(0)

    @property
    def done(self) -> int:
        """The mask of the features that are computed of the item."""
        return int(self.slot.words[PROGRESS])

    @property
    def stage(self) -> int:
        """The position of the feature, or the step, that was begun and is not done; `NO_STAGE` if none is known."""
        stage = int(self.slot.words[STAGE])
        return NO_STAGE if stage >= 0 and self.done >> stage & 1 else stage

    @property
    def model(self) -> int:
        """The number of the model that was begun and is not done; `NO_NUMBER` if there is none."""
        return int(self.slot.words[MODEL]) - 1

    def kill(self) -> None:
        """Kill the worker, if it lives, and close the link."""
        if self._pidfd >= 0:
            if os.getpid() == self._owner:  # not in a process that the program has forked
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            pidfd, self._pidfd = self._pidfd, -1  # only now, since a signal or no memory may end this anywhere
            os.close(pidfd)
            self._connection.close()

    def __del__(self) -> None:
        self.kill()
