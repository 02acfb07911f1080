"""The nursery: a process that imports the features and loads the models once, and forks workers within milliseconds.

``python -m polydom_runtime.supervision.nursery CONTROL BLOCK BUNDLE PARENT`` is started by a supervisor, and talks
with it over an inherited socket. It computes no item itself, so no feature can stop it.
"""

import gc
import mmap
import os
import select
import signal
import socket
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.causes import Causes, report
from polydom_runtime.clock import hardware_clock
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.items.sources import space_of
from polydom_runtime.learning.learned_times import Unit
from polydom_runtime.learning.unit_history import Change
from polydom_runtime.policy.deadline import checked_deadline
from polydom_runtime.policy.loaded_models import Run, RunOf
from polydom_runtime.predictor import Predictor, Seams

from .linux import die_with_parent, map_at, run_behind, survives
from .model_failures import name_of_model
from .sealed_bundle import sealed_bundle
from .shared_block import (
    ALIVE_UNTIL,
    MODEL,
    SINCE,
    SLOTS,
    ItemHeader,
    SharedBlock,
    Slot,
    announced,
    announced_models,
    map_shared,
    read_item,
)
from .worker import MAX_MESSAGE_BYTES, ToldSlowdown, Worker, serve
from .worker_times import WorkerTimes, with_hand_over

END = msgpack.packb(None)
"""Stands for the end of a connection."""

ECHO = msgpack.packb(
    [
        *(1, [0, ["feature"] * 8, 0.5, 1 << 20, True, "planned", 1.0, 0, ""], 1e3, [*range(8)], [1 << 50] * 10),
        *([], 1.0, ["rehearsed", 8, []], None),
    ]
)
"""A message as long as a reply of a worker, and packed in the same way."""

WORKERS = 2
"""One works, the other waits to take over. If both have old plans, there is a third with the new ones."""

HUNG_AFTER_S = 5.0
"""A nursery shows that it lives at least as often, unless it has said that its work takes longer."""

LOOK_AFTER_S = 0.5
"""Seconds between two checks: whether a worker is stuck, or is missing because the system refused a process."""

STUCK_AFTER_DEADLINES, MIN_STUCK_S = 10.0, 1.0
"""A worker is stuck if an item takes longer than ten deadlines, and than a second. The supervisor kills it earlier if
further items come."""

TRY_MODEL_S = 10.0
"""The time that a model may take to load and to run once, if only a new plan asks for it."""

COMPARE_S, MAX_DIFFERENCE_BYTES = 10.0, 4096
"""The time that the features of the reference items may take, and the bytes of a message about them."""

FAILED, LOADED, WORKER, WARM = "failed", "loaded", "worker", "warm"

EXTREMES = 0.0, 1.0, -1e30, 1e30
"""Rows of these numbers, and those of the reference items, are what each model is tried with once it is loaded."""


class Nursery:
    """Starts workers and replaces those that end, until the `control` socket to the supervisor is closed.

    `order`: ``bundle`` (see `SealedBundle`), ``space`` (MODULE:SPACE), ``deadline`` in seconds, ``hand_over`` (seconds
    by regime), ``policy``, ``abstain_below``, ``runs``, and ``compare``: whether to compare features with those of the
    build.
    """

    def __init__(self, control: socket.socket, block: SharedBlock, sealed: int, order: dict[str, Any]) -> None:
        self._control = control
        self._block = block
        self._stuck_ns = int(max(STUCK_AFTER_DEADLINES * order["deadline"], MIN_STUCK_S) * 1e9)
        self._window = map_shared(block.descriptor, block.slot_bytes)
        slot = Slot.over(self._window, block.width)
        self._words = slot.words
        self._plan, self._layouts = 0, deque[Iterator[None]]()
        bundle = sealed_bundle(sealed, **order["bundle"])
        words = self._window.data.cast("q")
        space = announced(bundle.space_of(space_of(order["space"])), words)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the supervisor has warned
            checked_deadline(with_hand_over(bundle, order["hand_over"], typical=True), order["deadline"])
            self._predictor = Predictor(
                with_hand_over(bundle, order["hand_over"]),
                space,
                **{name: order[name] for name in ("deadline", "policy", "abstain_below", "runs")},
                seams=Seams(
                    values=slot.values,
                    progress=slot.words[:1],
                    around=lambda run_of: self._tried_first(announced_models(words)(run_of)),
                    slowdown=(slowdown := ToldSlowdown()),
                ),
            )
            self._try_models(slot.values, bundle)
        control.send(msgpack.packb((LOADED, list(self._predictor.loaded), 0)))
        self._predictor.causes = Causes(muted=True)  # the supervisor tells
        if order["compare"] and (text := difference(bundle, space)):
            raise BundleMismatchError(text)
        self._item: Any = None
        self._slot = 0
        times = WorkerTimes(bundle, order["hand_over"], order["deadline"])
        self._worker = Worker(self._predictor, slowdown, self._predictor.own_work(times))
        self._workers: dict[int, tuple[int, int, int]] = {}  # pidfd: pid, slot and the number of the plan
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def _try_models(self, values: NDArray[np.float32], bundle: Bundle) -> None:
        """Run each model on various rows; the keeper looks whether one of them hangs."""
        rows: list[float | tuple[float, ...]] = [*bundle.references.rows, *EXTREMES]
        for model in self._predictor.loaded.values():
            for row in rows:
                values[:] = row
                with suppress(Exception):  # whatever it does on an item is dealt with there
                    model.run()
        self._words[MODEL] = 0

    def run(self) -> None:
        """Replace workers that end, until the supervisor closes the control socket."""
        gc.collect()
        gc.freeze()  # a collection would write to every object, and so copy every page for each worker
        while True:
            self._fill()
            self._promise_life(HUNG_AFTER_S)
            for descriptor, _ in self._poll.poll(0.0 if self._layouts else LOOK_AFTER_S * 1e3):
                if descriptor in self._workers:
                    self._reap(descriptor)
                elif not self._heed():
                    return
            self._kill_stuck()
            if self._layouts:
                self._lay_out()

    def _promise_life(self, seconds: float) -> None:
        """Tell the keeper until when it will hear of this process again: it ends one that hangs or is stopped."""
        self._words[ALIVE_UNTIL] = hardware_clock() + int(seconds * 1e9)

    def _fill(self) -> None:
        try:
            while len(self._workers) < WORKERS or (len(self._workers) == WORKERS and not self._has_new_worker):
                self._fork()
        except ConnectionError:
            pass  # the supervisor is closing; the poll tells
        except OSError as e:
            report(f"no worker can be started now. {e}")

    @property
    def _has_new_worker(self) -> bool:
        return any(plan == self._plan for *_, plan in self._workers.values())

    def _kill_stuck(self) -> None:
        limit = hardware_clock() - self._stuck_ns
        for pidfd, (_, number, _) in self._workers.items():
            if 0 < self._block.slot(number).words[SINCE] < limit:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    def _fork(self) -> None:
        free = set(range(1, SLOTS)) - {number for _, number, _ in self._workers.values()}
        # Not the slot of the last worker that ended: the supervisor has yet to read what ended it.
        number = self._slot = min(free, key=lambda n: (n <= self._slot, n))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        nursery = os.getpid()
        with ours, theirs:
            pid = os.fork()
            if pid == 0:
                ours.close()
                self._become_worker(nursery, theirs, number)
            try:
                pidfd = os.pidfd_open(pid)
            except OSError:  # no descriptor is left
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise
            self._workers[pidfd] = pid, number, self._plan
            self._poll.register(pidfd, select.POLLIN)
            message = msgpack.packb((WORKER, (pid, self._plan), number))
            socket.send_fds(self._control, [message], [ours.fileno(), pidfd])

    def _become_worker(self, nursery: int, connection: socket.socket, number: int) -> None:
        code = 1
        try:
            die_with_parent(nursery)
            self._control.close()
            for descriptor in self._workers:
                os.close(descriptor)
            self._take_slot(number)
            self._words[SINCE] = 0
            if self._item is not None:
                self._predictor.warm_up(self._item)  # the pages that an answer writes to are this process's own now
            self._words[MODEL] = 0
            serve(connection, self._worker, self._block.item, self._words)
            code = 0
        except OSError:  # the supervisor is gone, or a feature closed the connection
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _take_slot(self, number: int) -> None:
        length = self._block.slot_bytes
        map_at(self._window.ctypes.data, length, self._block.descriptor, number * length)
        # A process that a feature forks has no slot: it ends where it would go on with the item, and write there.
        view: Any = self._window.base
        view.obj.madvise(mmap.MADV_DONTFORK)

    def _reap(self, pidfd: int) -> None:
        """Forget a worker that has ended. Only now is it certain that nobody writes to its slot."""
        pid, *_ = self._workers.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        os.waitpid(pid, 0)

    def _heed(self) -> bool:
        """Do the work that the supervisor asks for; return False if it is gone."""
        message, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 1)
        if not message:
            return False
        if not descriptors:
            self._layouts.append(self._learn(*msgpack.unpackb(message)))
            return True
        header, seconds = msgpack.unpackb(message)
        memory = map_shared(descriptors[0], os.fstat(descriptors[0]).st_size)
        os.close(descriptors[0])
        safe = self._warm_up(header, memory, seconds)
        for pidfd in list(self._workers):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            self._reap(pidfd)
        with suppress(ConnectionError):
            self._control.send(msgpack.packb((WARM, safe, 0)))
        return True

    def _lay_out(self) -> None:
        """Go on with the plan that workers to come shall have, for a slice of work."""
        try:
            if next(self._layouts[0], self) is not self:
                return
        except Exception as e:  # the plan before stays
            report(f"no plan can be laid out for the times that were learned. {e}")
        self._layouts.popleft()

    def _learn(self, number: int, regime: Regime, changes: list[tuple[Unit, float, float]]) -> Iterator[None]:
        """Lay out the plan of a regime for learned times; see `Keeper.learn`."""
        yield from self._worker.work.renew(regime, {unit: Change(*change) for unit, *change in changes})
        self._plan = number
        gc.unfreeze()
        gc.collect()  # the plan before
        gc.freeze()

    def _tried_first(self, run_of: RunOf) -> RunOf:
        """Let a process of its own try whether a model is safe to load and run that only a new plan asks for."""

        def load(number: int) -> Run:
            if self._layouts:
                self._promise_life(2.0 * TRY_MODEL_S + HUNG_AFTER_S)
                safe = survives(lambda: run_of(number)(), TRY_MODEL_S)
                self._words[MODEL] = 0
                if not safe:
                    self._predictor.models.out.add(number)  # the next plan is laid out without it
                    raise BundleFormatError(f"{name_of_model(number).capitalize()} hangs or crashes.")
            return run_of(number)

        return load

    def _warm_up(self, header: ItemHeader, memory: NDArray[np.uint8], seconds: float) -> bool:
        """Warm up, so that every worker starts warm; before that, let a process of its own try whether it is safe."""
        try:
            item = read_item(header, memory)
        except Exception:  # of a class that can be imported only where the item was made
            return False
        self._promise_life(2.0 * seconds + HUNG_AFTER_S)

        def tried() -> None:
            warnings.simplefilter("ignore")  # they are said below
            self._predictor.warm_up(item)

        if not survives(tried, seconds):
            self._words[MODEL] = 0
            return False
        self._predictor.warm_up(item)
        self._words[MODEL] = 0
        self._item = item
        gc.collect()
        gc.freeze()
        return True


def difference(bundle: Bundle, space: FeatureSpace) -> str:
    """Return how the features, computed in another process, differ from the build's; empty if they hang or crash."""
    read, write = os.pipe()

    def compare() -> None:
        try:
            bundle.check_features(space)
        except BundleMismatchError as e:
            os.write(write, str(e).encode(errors="replace")[:MAX_DIFFERENCE_BYTES])

    try:
        survives(compare, COMPARE_S)
        os.set_blocking(read, False)
        return os.read(read, MAX_DIFFERENCE_BYTES).decode(errors="replace")
    except BlockingIOError:
        return ""
    finally:
        os.close(read)
        os.close(write)


def main(control: str, block: str, sealed: str, parent: str) -> int:
    """Run a nursery: echo until the hand-over is measured, then decode the bundle, then keep workers."""
    die_with_parent(int(parent))
    run_behind()
    warnings.showwarning = lambda message, *where: report(str(message))
    for descriptor in (control, block, sealed):
        os.set_inheritable(int(descriptor), False)  # not for programs that features start
    # Signals are meant for the supervisor, which may still have an item to answer.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=int(control)) as connection:
        while isinstance(order := msgpack.unpackb(connection.recv(MAX_MESSAGE_BYTES) or END), list):
            connection.send(msgpack.packb(order))
        if order is None:
            return 0
        try:
            shared = SharedBlock(order["width"], order["item_bytes"], int(block))
            nursery = Nursery(connection, shared, int(sealed), order)
        except Exception as e:
            connection.send(msgpack.packb((FAILED, f"{e}", isinstance(e, BundleFormatError))))
            return 1
        nursery.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
