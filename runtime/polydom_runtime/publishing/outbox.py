"""Answers on their way to a broker: waiting, sent, confirmed or dropped."""

from collections import deque
from collections.abc import Callable

Send = Callable[[str, str, bool], int]
"""Hands a message to the client: topic, text and whether the broker keeps it. Returns the number of the message."""

WINDOWS = 100, 100, 10
"""Answers that may be unconfirmed at once, by quality. A broker may end a connection with more than 20 messages of
quality 2 on their way; it keeps up to 10 places for other messages than answers."""


class Outbox:
    """Keeps answers until the broker has them, at most so many; if more come, the oldest is dropped.

    All is kept in one thread: nothing here waits.

    `send`: see `Send`. The client sends again what was not confirmed when a connection broke, unless `qos` is 0.
    `retained`: messages by topic that the broker is given at each connection, and keeps. `capacity`: answers that may
    wait while there is no connection.

    `published`, `dropped`, `reconnects`: answers that the broker has confirmed (with `qos` 0: that were given to the
    network); answers that it never gets; connections after the first.
    """

    def __init__(self, send: Send, topic: str, qos: int, retained: dict[str, str], *, capacity: int) -> None:
        self.published = self.dropped = 0
        self.is_connected = False
        self._connections = 0
        self._send, self._topic, self._qos, self._retained = send, topic, qos, retained
        self._capacity, self._window = capacity, WINDOWS[qos]
        self._waiting: deque[str] = deque()
        self._sent: set[int] = set()
        self._others: set[int] = set()
        self._state = ""

    @property
    def reconnects(self) -> int:
        """Connections after the first."""
        return max(self._connections - 1, 0)

    @property
    def pending(self) -> int:
        """Answers that wait, or are not confirmed yet."""
        return len(self._waiting) + len(self._sent)

    @property
    def is_empty(self) -> bool:
        """Whether everything was confirmed."""
        return not (self.pending or self._others)

    def add(self, answer: str) -> None:
        """Take an answer."""
        self._waiting.append(answer)
        if len(self._waiting) > self._capacity:
            self._waiting.popleft()
            self.dropped += 1
        self._fill_window()

    def show(self, state: str) -> None:
        """Take a new state, which takes the place of the one before."""
        self._state = state
        if self.is_connected:
            self._keep(f"{self._topic}/state", state)

    def connected(self) -> None:
        """Go on over a new connection."""
        self.is_connected = True
        self._connections += 1
        self._keep(f"{self._topic}/status", "online")
        for topic, text in self._retained.items():
            self._keep(topic, text)
        if self._state:
            self._keep(f"{self._topic}/state", self._state)
        self._fill_window()

    def disconnected(self) -> None:
        """Wait for a new connection; with quality 0, what may have been on the way counts as dropped."""
        self.is_connected = False
        if self._qos == 0:
            self.dropped += len(self._sent)
            self._sent.clear()
            self._others.clear()

    def confirmed(self, number: int) -> None:
        """Count a message that the broker has."""
        if number in self._sent:
            self._sent.remove(number)
            self.published += 1
            self._fill_window()
        self._others.discard(number)

    def end(self) -> None:
        """Give up what was not confirmed, and tell the broker that this node goes."""
        self.dropped += self.pending
        self._waiting.clear()
        self._sent.clear()
        self._others.clear()
        if self.is_connected:
            self._keep(f"{self._topic}/status", "offline")

    def _fill_window(self) -> None:
        while self.is_connected and self._waiting and len(self._sent) < self._window:
            self._sent.add(self._send(self._topic, self._waiting.popleft(), False))

    def _keep(self, topic: str, text: str) -> None:
        self._others.add(self._send(topic, text, True))
