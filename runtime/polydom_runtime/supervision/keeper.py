"""The keeper: a thread of the supervisor that starts the nursery, again whenever it ends, and takes its workers."""

import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.causes import Causes
from polydom_runtime.clock import hardware_clock
from polydom_runtime.exceptions import BundleFormatError, ItemError, PolyDomError, WorkerError
from polydom_runtime.learning.learned_times import Changes

from .hand_over import round_trips
from .linux import Waiter, sleep
from .model_failures import name_of_model
from .nursery import FAILED, LOADED, WARM, WORKER
from .sealed_bundle import SealedBundle
from .shared_block import ALIVE_UNTIL, MODEL, SharedBlock, map_shared, new_memory, write_item
from .worker import MAX_MESSAGE_BYTES, Link

START_NS = 60_000_000_000
"""The time that a worker may take to become ready."""

MODEL_S, LOOK_NS = 15.0, 50_000_000
"""The time that the load of one model, or one of its first runs, may take, and how often it is looked at."""

LOOK_FOR_LIFE_NS = 1_000_000_000
"""How often it is looked whether the nursery shows that it lives."""

LOOK_FOR_PLAN_S = 0.005
"""How often it is looked whether a worker has the plan that is waited for."""

REMEDY = "Build the bundle again, with another estimator or other versions of the libraries."

FIRST_PAUSE_S, MAX_PAUSE_S = 0.05, 5.0
"""The pause before a nursery is started again. It doubles as long as no nursery gives a worker."""


class Keeper:
    """Keeps a spare worker ready; `causes` tell why workers could not be started again.

    `hand_over`: seconds from the hand-over of a message until its reply, by regime. `nursery_pid`: 0 without a nursery.
    `models`: the numbers of those in memory. `planned`, `plan`: the numbers of the last plan that was asked for, see
    `learn`, and of the plan of the last worker that was ready.
    """

    def __init__(self, sealed: SealedBundle, order: dict[str, Any], width: int, item_bytes: int) -> None:
        self.block = SharedBlock(width, item_bytes)
        self.hand_over: dict[Regime, float] = {}
        self.nurseries = self.workers = self.nursery_pid = self.planned = self.plan = 0
        self.causes = Causes()
        self._owner = os.getpid()
        self._sealed = sealed
        self._order = {**order, "bundle": sealed.order}
        self._ready: SimpleQueue[Link] = SimpleQueue()
        self._closing = Event()
        self._loaded, self._first = Event(), Event()
        self.models: list[int] = []
        self._warmed: SimpleQueue[bool] = SimpleQueue()
        self._failure: PolyDomError | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._warm_item: tuple[bytes, int] | None = None
        self._control: socket.socket | None = None
        self._learned: dict[Regime, bytes] = {}
        self._has_order = False
        # The nursery dies with the thread that started it, so this thread lives as long as the supervisor.
        self._thread = Thread(target=self._keep, name="polydom-keeper", daemon=True)
        self._thread.start()

    def wait_for_first(self, seconds: float) -> None:
        """Wait until a worker is ready; WorkerError if the nursery failed, or took longer than `seconds`."""
        if not self._first.wait(seconds) or not self.workers:
            raise self._failure or WorkerError(
                f"A worker must be ready within {seconds:g} s. None was. Run the same bundle without supervision to "
                "see more."
            )

    def wait_for_plan(self, seconds: float) -> None:
        """Wait until a worker has the last plan that was asked for, at most `seconds`."""
        end = hardware_clock() + int(1e9 * seconds)
        while self.plan != self.planned and hardware_clock() < end:
            sleep(LOOK_FOR_PLAN_S)

    def wait_for_models(self, seconds: float) -> list[int]:
        """Wait until all models were tried; return their numbers, or raise why one or the nursery failed."""
        if not self._loaded.wait(seconds) or self._failure is not None:
            raise self._failure or WorkerError(
                f"The models must be loaded within {seconds:g} s. They were not. Run the same bundle without "
                "supervision to see more."
            )
        return self.models

    def take(self, seconds: float) -> Link | None:
        """Return a spare worker; None if there is none within `seconds`, or at once if there is no nursery."""
        with suppress(Empty):
            return self._ready.get_nowait()
        if seconds > 0.0 and self._control is not None:
            with suppress(Empty):
                return self._ready.get(timeout=seconds)
        return None

    def warm_up(self, item: Any, seconds: float) -> bool:
        """Let all workers to come start warm, by a run of every feature and model; False if that is not possible."""
        place = new_memory(self.block.item_bytes)
        try:
            header = write_item(item, map_shared(place, self.block.item_bytes))
        except ItemError:
            os.close(place)
            return False
        self._forget_warm_item()
        self._warm_item = msgpack.packb((header, seconds)), place
        with suppress(OSError, Empty):
            if self._control is not None:
                self._send_warm_item(self._control)
                return self._warmed.get(timeout=2.0 * seconds)
        return False

    def learn(self, regime: Regime, changes: Changes) -> None:
        """Let workers to come have a plan for changed times; they replace the spare ones.

        The number of the plan rises with each call. A nursery that is started again gets the last changes of each
        regime.
        """
        self.planned += 1
        rows = [(unit, *change) for unit, change in changes.items()]
        message = msgpack.packb((self.planned, regime, rows))
        self._learned = {r: m for r, m in self._learned.items() if r != regime} | {regime: message}
        if self._has_order and (control := self._control) is not None:
            with suppress(OSError):
                control.send(message, socket.MSG_DONTWAIT)

    def close(self) -> None:
        """End the nursery and its workers, and wait until the nursery has ended."""
        if os.getpid() != self._owner:
            return  # a process that the program has forked, in which it may end as it likes
        self._closing.set()
        if self._process is not None:
            self._process.kill()  # and with it, whatever hangs in a worker that the thread waits for
        if self._control is not None:
            with suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._discard()
        self._forget_warm_item()
        self.block.close()
        self._sealed.close()

    def _keep(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            try:
                if self._closing.is_set():
                    return
                pause = self._keep_one(pause)
            except Exception:  # no memory to go on, nor to say so
                pass

    def _keep_one(self, pause: float) -> float:
        """Keep a nursery until it ends, and pause; return how long."""
        before = self.workers
        try:
            self._with_nursery()
        except ConnectionError:  # it has ended
            pass
        except Exception as e:  # no memory or process for it, or a message that is none, or lost its descriptors
            self._fail(WorkerError(f"The process that starts workers could not be started, or broke off. {e!r}"))
        pause = FIRST_PAUSE_S if self.workers > before else min(2.0 * pause, MAX_PAUSE_S)
        self._loaded.set()
        self._first.set()
        self._closing.wait(pause)
        return pause

    def _with_nursery(self) -> None:
        """Start a nursery and take its workers until it ends."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                process = _start(theirs.fileno(), self.block.descriptor, self._sealed.descriptor)
            self._control, self._process, self.nursery_pid = ours, process, process.pid
            self.nurseries += 1
            try:
                if not self._closing.is_set():
                    self._give_order(ours)
                    self._await_models(ours)
                    self._heed(ours)
                    self._tell_model("Its process crashed.")
            except TimeoutError:
                self._tell_model("It took longer.", "The process that starts workers hung, or was stopped.")
            finally:
                self._control, self._process, self.nursery_pid, self._has_order = None, None, 0, False
                process.kill()
                process.wait()

    def _give_order(self, control: socket.socket) -> None:
        self._words[MODEL] = 0
        self._words[ALIVE_UNTIL] = hardware_clock() + START_NS
        self.hand_over = self.hand_over or round_trips(control)  # the times that were learned begin with it
        rest = {"hand_over": self.hand_over, "width": self.block.width, "item_bytes": self.block.item_bytes}
        control.send(msgpack.packb({**self._order, **rest}))
        self._has_order = True
        for message in self._learned.values():
            control.send(message)
        if self._warm_item is not None:
            self._send_warm_item(control)

    def _send_warm_item(self, control: socket.socket) -> None:
        assert self._warm_item is not None
        message, place = self._warm_item
        socket.send_fds(control, [message], [place])

    def _await_models(self, control: socket.socket) -> None:
        """Wait until the nursery has something to say; give up if it stays at one model for too long."""
        waiter, model, since = Waiter(control.fileno()), 0, 0
        while not waiter.wait(LOOK_NS):
            if model != (model := int(self._words[MODEL])):
                since = hardware_clock()
            elif hardware_clock() > (since + int(MODEL_S * 1e9) if model else int(self._words[ALIVE_UNTIL])):
                raise TimeoutError

    def _await_life(self, control: socket.socket) -> None:
        """Wait for a message of the nursery; TimeoutError if it shows no life at two looks in a row.

        At one look it may be late since the whole machine, or this process too, was stopped.
        """
        waiter, words, overdue = Waiter(control.fileno()), self._words, 0
        while not waiter.wait(LOOK_FOR_LIFE_NS):
            until = int(words[ALIVE_UNTIL])
            if until == overdue:
                raise TimeoutError
            overdue = until if until < hardware_clock() else 0

    def _heed(self, control: socket.socket) -> None:
        while True:
            self._await_life(control)
            message, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE_BYTES, 2)
            if not message:
                return
            what, value, number = msgpack.unpackb(message)
            if what == WORKER:
                pid, plan = value
                self._welcome(pid, plan, number, *descriptors)
            elif what == WARM:
                self._discard()  # workers that started cold
                self._warmed.put(value)
            elif what == LOADED:
                self.models = value
                self._loaded.set()
            elif what == FAILED:
                self._words[MODEL] = 0
                self._fail(BundleFormatError(value) if number else WorkerError(value))

    @property
    def _words(self) -> NDArray[np.int64]:
        """The words of the slot of the nursery, mapped only while they are looked at."""
        return self.block.slot(0).words

    def _tell_model(self, got: str, otherwise: str = "") -> None:
        """Say in which model the nursery ended, if it was in one; or else another text, if any."""
        if self._closing.is_set():
            return
        if model := int(self._words[MODEL]):
            name = name_of_model(model - 1).capitalize()
            self._fail(WorkerError(f"{name} must be loaded and run within {MODEL_S:g} s. {got} {REMEDY}"))
        elif otherwise:
            self._fail(WorkerError(otherwise))

    def _fail(self, error: PolyDomError) -> None:
        self._failure = error
        if self.workers:  # or else the program is told by an exception
            self.causes.add("the start of a worker", str(error))

    def _welcome(self, pid: int, plan: int, number: int, connection: int, pidfd: int) -> None:
        for descriptor in (connection, pidfd):
            os.set_inheritable(descriptor, False)  # `recv_fds` leaves them to programs that this one starts
        link = Link(pid, pidfd, socket.socket(fileno=connection), self.block.slot(number), plan)
        if link.is_ready(START_NS):
            self.workers += 1
            self._failure = None
            if plan != self.plan:
                self._discard()  # the spare one with another plan
            self._ready.put(link)
            self.plan = plan
            self._first.set()
        else:
            link.kill()

    def _discard(self) -> None:
        while (link := self.take(0.0)) is not None:
            link.kill()

    def _forget_warm_item(self) -> None:
        if self._warm_item is not None:
            os.close(self._warm_item[1])
            self._warm_item = None


def _start(*descriptors: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        own_command("polydom_runtime.supervision.nursery", *map(str, descriptors), str(os.getpid())),
        stdin=subprocess.DEVNULL,
        pass_fds=descriptors,
        env=own_environment(),
    )


def own_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this package in a new process."""
    return [sys.executable, "-m", module, *arguments]


def own_environment() -> dict[str, str]:
    """Return the environment in which a new process imports what this one can import."""
    package = str(Path(__file__).parent.parent)
    path = os.pathsep.join(os.path.abspath(p) for p in [*sys.path, package])
    return {**os.environ, "PYTHONPATH": path}
