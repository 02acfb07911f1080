"""Publishing answers by MQTT without a delay of any answer."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from polydom_runtime.causes import report
from polydom_runtime.exceptions import PublishingError

from . import sender
from .target import MqttTarget

if TYPE_CHECKING:
    from polydom_runtime.prediction import Prediction

CAPACITY = 10_000
FLUSH_S = 3.0
DELAYS_S = 1, 30

SENDER_START_S = 60.0

STATE_EVERY_S = 1.0
RESTARTS_S = 1.0, 60.0
"""The shortest and the longest time until a lost process is started again; it is doubled each time."""


class PublishingCounts(NamedTuple):
    """Counts of answers: each that was given to a publisher is published, dropped or pending."""

    published: int = 0
    """Answers that the broker has confirmed; with quality 0 those that were given to the network."""
    dropped: int = 0
    pending: int = 0
    reconnects: int = 0
    """Connections to the broker after the first."""


class MqttPublisher:
    """Publishes answers as JSON. It is a context manager, and its methods are callbacks of `Monitor`.

    A process of its own talks to the broker, since a thread would take turns with the loop: an answer could wait for it
    for milliseconds. The loop hands a message to the process by one system call that never waits. If the broker cannot
    be reached, at the start or later, the loop goes on, and answers wait in the process; if there are too many, the
    oldest are dropped.

    Parameters
    ----------
    target : MqttTarget or str
        Or its address, as `MqttTarget.parse` reads it.
    retained : mapping of str to str
        Further messages by topic that the broker keeps, such as those of `discovery`.
    capacity : int
        The most answers that wait.
    flush_s : float
        The most seconds that `close` waits for the broker.
    delays_s : tuple of int
        The shortest and the longest time from one attempt to connect to the next.

    Examples
    --------
    ::

        with MqttPublisher("broker.local/hall/pump3") as publisher:
            monitor = Monitor(source, predictor, 0.02, publisher.on_answer, on_slack=publisher.on_slack)
            monitor.run()
    """

    def __init__(
        self,
        target: MqttTarget | str,
        *,
        retained: Mapping[str, str] = {},
        capacity: int = CAPACITY,
        flush_s: float = FLUSH_S,
        delays_s: tuple[int, int] = DELAYS_S,
    ) -> None:
        target = MqttTarget.parse(target) if isinstance(target, str) else target
        if capacity < 1:
            raise PublishingError(f"At least 1 answer must be able to wait. Got {capacity}.")
        self._settings = {name: getattr(target, name) for name in MqttTarget.__slots__} | {
            "authorities": None if target.authorities is None else os.path.abspath(target.authorities),
            "retained": dict(retained),
            "capacity": capacity,
            "flush_s": flush_s,
            "delays_s": delays_s,
        }
        self._flush_s = flush_s
        self._answers = self._late = self._abstained = 0
        self._before = PublishingCounts()  # of processes that were lost
        self._now = PublishingCounts()
        self._error = ""
        self._state_due = self._restart_due = 0.0
        self._wait_s = RESTARTS_S[0]
        self._closed = False
        began = time.monotonic()
        self._process, self._socket = self._start()
        self._start_s = time.monotonic() - began
        self._await_ready()

    def __enter__(self) -> "MqttPublisher":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def counts(self) -> PublishingCounts:
        """The counts of all answers so far; those of the process may be a second old."""
        published, dropped = (self._before[i] + self._now[i] for i in range(2))
        reconnects = self._before.reconnects + self._now.reconnects
        return PublishingCounts(published, dropped, self._answers - published - dropped, reconnects)

    def on_answer(self, number: int, item: Any, prediction: "Prediction") -> None:
        """Publish an answer, as ``polydom-node run`` prints it."""
        self.add(json.dumps({"item": number, **prediction._asdict()}, allow_nan=False), prediction)

    def add(self, line: str, prediction: "Prediction") -> None:
        """Publish the line of an answer; once a second, also the state."""
        self._answers += 1
        self._late += not prediction.deadline_met
        self._abstained += prediction.label is None
        if not self._hand_over(sender.ANSWER + line.encode()):
            self._before = self._before._replace(dropped=self._before.dropped + 1)
        if (now := time.monotonic()) >= self._state_due:
            self._state_due = now + STATE_EVERY_S
            # The prior knows nothing of the item, and must not look like an answer, such as an alarm.
            label = None if prediction.is_prior else prediction.label
            newest = {"label": label, "confidence": prediction.confidence}
            state = newest | {"answers": self._answers, "late": self._late, "abstained": self._abstained}
            self._hand_over(sender.STATE + json.dumps(state, allow_nan=False).encode())

    def on_slack(self, seconds_left: float) -> None:
        """Take the counts of the process; if it was lost, start it again once there is time."""
        self._take_reports()
        if self._process.poll() is not None and not self._closed:
            self._restart(seconds_left)

    def close(self) -> None:
        """Publish pending answers, as far as the broker takes them within the limit, and end the process."""
        if self._closed:
            return
        self._closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        try:
            self._process.wait(self._flush_s + 3 * sender.LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._take_reports()
        self._socket.close()
        self._count_lost()

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            process = subprocess.Popen(
                [sys.executable, sender.__file__, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                start_new_session=True,  # so that Ctrl-C is not for it
                env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            )
        mine.send(json.dumps(self._settings).encode())
        return process, mine

    def _await_ready(self) -> None:
        """Wait until the process has taken the settings; `PublishingError` if it has not."""
        self._socket.settimeout(SENDER_START_S)
        try:
            first = json.loads(
                self._socket.recv(sender.MESSAGE_BYTES) or b'{"refused": "The process ended at its start."}'
            )
        except OSError as e:
            first = {"refused": f"The process that publishes must start within {SENDER_START_S:g} s. {e}."}
        self._socket.setblocking(False)
        if "refused" in first:
            self._process.kill()
            self._process.wait()
            self._socket.close()
            raise PublishingError(first["refused"])

    def _hand_over(self, message: bytes) -> bool:
        """Hand a message to the process; return False if it hangs or was lost."""
        try:
            self._socket.send(message)
        except OSError:
            return False
        return True

    def _take_reports(self) -> None:
        newest = b""
        with suppress(OSError):
            while received := self._socket.recv(sender.MESSAGE_BYTES):
                newest = received
        if newest:
            counts = json.loads(newest)
            error = counts.pop("refused", "") or counts.pop("error")
            self._now = PublishingCounts(**counts)
            if error and error != self._error:
                report(f"answers are not published to {self._settings['host']}: {error}. It is tried again")
            self._error = error

    def _count_lost(self) -> None:
        """Count the answers that the process did not publish as dropped."""
        counts = self.counts
        self._before = counts._replace(dropped=counts.dropped + counts.pending, pending=0)
        self._now = PublishingCounts()

    def _restart(self, seconds_left: float) -> None:
        """Start a new process when its time has come, if there is slack for twice the time that starts take."""
        now = time.monotonic()
        if not self._restart_due:
            self._count_lost()
            self._socket.close()
            report("the process that publishes was lost. It is started again")
            self._restart_due = now + self._wait_s
            self._wait_s = min(2 * self._wait_s, RESTARTS_S[1])
        if now < self._restart_due:
            return
        if seconds_left < 2 * self._start_s:
            self._start_s *= 0.99  # so that one slow start does not prevent all others
            return
        self._process, self._socket = self._start()
        self._socket.setblocking(False)
        self._restart_due = 0.0
