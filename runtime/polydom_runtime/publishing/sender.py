"""The process that publishes: it takes messages from a socket, and talks to the broker.

It is run as a script and imports nothing of the package: so it needs neither numpy nor the memory for it, and starts in
a fraction of the time.
"""

import json
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paho.mqtt.client import Client

MESSAGE_BYTES = 1 << 18
"""The longest message between the two processes."""

ANSWER, STATE = b"a", b"s"
"""The first byte of messages."""

REPORT_EVERY_S = 1.0
KEEP_ALIVE_S = 30
"""If the broker has heard nothing for one and a half times as long, it publishes the last will."""

LAST_WORDS_S = 1.0
"""Seconds for the last message and the end of the connection."""

BAD_LOGIN, NOT_AUTHORIZED = 134, 135
"""Codes by which a broker says that it does not know the user or the password, or does not let the user in."""

SOON_S, MOST_SHORT = 10.0, 3
"""So many connections in a row, each of which the broker ended so soon, are no accident."""

Event = tuple[str, Any]
"""``received`` with a message, ``connected`` and ``disconnected`` with an error or "", ``confirmed`` with a number."""

Send = Callable[[str, str, bool], int]
"""Hands a message to the client: topic, text and whether the broker keeps it. Returns the number of the message."""

WINDOWS = 100, 100, 10
"""Answers that may be unconfirmed at once, by quality. A broker may end a connection with more than 20 messages of
quality 2 on their way; it keeps up to 10 places for other messages than answers."""


class Outbox:
    """Keeps answers until the broker has them; while there is no connection, only the newest `capacity` ones.

    Unless `qos` is 0, the client itself sends again what was not confirmed when a connection broke. At each connection
    the broker is given the messages `retained`, by topic, which it keeps.
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
        """Wait for a new connection; with quality 0, answers that may have been on the way count as dropped."""
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
        """Give up unconfirmed answers, and tell the broker that this node goes."""
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


class Sender:
    """Publishes the messages that come through a socket, until its other end is closed.

    Three threads (this one, one that reads the socket, and the client's own) meet in one queue, and only this one
    counts.
    """

    def __init__(self, to_loop: socket.socket, settings: dict[str, Any]) -> None:
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._to_loop, self._settings = to_loop, settings
        self._topic, self._qos = settings["topic"], settings["qos"]
        self._client = self._make_client()
        retained, capacity = settings["retained"], settings["capacity"]
        self._outbox = Outbox(self._publish, self._topic, self._qos, retained, capacity=capacity)
        self._error, self._is_ending = "", False
        self._connected_at, self._short = 0.0, 0
        self._reported: dict[str, Any] = {}
        self._report_due = 0.0

    def run(self) -> None:
        """Publish until the other process closes its end, and then what remains, for a limited time."""
        self._report()
        Thread(target=self._read, daemon=True).start()
        self._client.connect_async(self._settings["host"], self._settings["port"], KEEP_ALIVE_S)
        self._client.loop_start()
        while self._handle_next(REPORT_EVERY_S):
            pass
        self._handle_while(lambda: not self._outbox.is_empty, self._settings["flush_s"])
        self._outbox.end()
        self._handle_while(lambda: not self._outbox.is_empty, LAST_WORDS_S)
        self._is_ending = True
        self._client.disconnect()
        self._handle_while(lambda: self._outbox.is_connected, LAST_WORDS_S)
        self._report()

    def _make_client(self) -> "Client":
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        settings, put = self._settings, self._events.put
        client = Client(CallbackAPIVersion.VERSION2, settings["client_id"])
        client.reconnect_delay_set(*settings["delays_s"])
        client.max_inflight_messages_set(0)  # the outbox limits them
        client.will_set(f"{self._topic}/status", "offline", max(self._qos, 1), retain=True)
        if settings["user"] is not None:
            client.username_pw_set(settings["user"], settings["password"])
        if settings["tls"]:
            client.tls_set(settings["authorities"])
        client.on_connect = lambda c, u, flags, reason, p: put(
            ("disconnected", refusal(reason)) if reason.is_failure else ("connected", "")
        )
        client.on_connect_fail = lambda c, u: put(("disconnected", failure(sys.exc_info()[1])))
        client.on_disconnect = lambda c, u, flags, reason, p: put(("disconnected", f"the connection ended: {reason}"))
        client.on_publish = lambda c, u, number, reason, p: put(("confirmed", number))
        return client

    def _publish(self, topic: str, text: str, retain: bool) -> int:
        return self._client.publish(topic, text, self._qos, retain).mid

    def _read(self) -> None:
        while message := self._to_loop.recv(MESSAGE_BYTES):
            self._events.put(("received", message))
        self._events.put(("received", b""))

    def _handle_next(self, seconds: float) -> bool:
        """Handle an event, if there is one within this time; return False if the other process has ended."""
        goes_on = True
        with suppress(Empty):
            event, about = self._events.get(timeout=seconds)
            goes_on = self._handle(event, about)
        now = time.monotonic()
        if self._short >= MOST_SHORT and self._outbox.is_connected and now - self._connected_at >= SOON_S:
            self._short, self._error = 0, ""
        if now >= self._report_due:
            self._report_due = now + REPORT_EVERY_S
            self._report()
        return goes_on

    def _handle(self, event: str, about: Any) -> bool:
        outbox = self._outbox
        if event == "received":
            kind, text = about[:1], about[1:].decode()
            if kind == ANSWER:
                outbox.add(text)
            elif kind == STATE:
                outbox.show(json.dumps({**json.loads(text), **self._counts()}))
            return bool(about)
        if event == "confirmed":
            outbox.confirmed(about)
        elif event == "connected":
            outbox.connected()
            self._connected_at = time.monotonic()
            if self._short < MOST_SHORT:
                self._error = ""
        else:
            if outbox.is_connected:
                is_short = time.monotonic() - self._connected_at < SOON_S
                self._short = self._short + 1 if is_short else 0
            if self._short >= MOST_SHORT:
                about = self._error = taken_over(self._settings["client_id"])
            outbox.disconnected()
            if not self._is_ending:
                self._error = self._error or about  # the first is the cause of those that follow
        return True

    def _handle_while(self, goes_on: Callable[[], bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        while goes_on() and (left := end - time.monotonic()) > 0:
            self._handle_next(min(left, REPORT_EVERY_S))

    def _counts(self) -> dict[str, int]:
        names = "published", "dropped", "pending", "reconnects"
        return {name: getattr(self._outbox, name) for name in names}

    def _report(self) -> None:
        """Send the counts to the other process, if they are new and it reads them."""
        report = {**self._counts(), "error": self._error}
        if report != self._reported:
            with suppress(OSError):
                self._to_loop.send(json.dumps(report).encode(), socket.MSG_DONTWAIT)
                self._reported = report


def refusal(reason: Any) -> str:
    """Explain why the broker does not take this client, and what to do."""
    is_login = reason.value in (BAD_LOGIN, NOT_AUTHORIZED)
    return f"the broker refused: {reason}{'. Check the login (--mqtt-login)' if is_login else ''}"


def taken_over(client_id: str) -> str:
    """Explain why the broker ends one connection after another, and what to do; MQTT 3.1.1 tells no reasons."""
    return (
        f"the broker ends each connection within {SOON_S:g} s. Another client has the id {client_id} as well, and the "
        "two end each other's connections, or the broker does not let this one publish to the topic. Give each node a "
        "topic of its own (or --mqtt-client-id), and check the access rules of the broker"
    )


def failure(error: BaseException | None) -> str:
    """Explain why there is no connection, and what to do."""
    if why := getattr(error, "verify_message", ""):  # of an ssl.SSLCertVerificationError
        is_date = "not yet valid" in why or "expired" in why  # boards without a clock begin in 1970, or at their build
        check = "the date of this machine" if is_date else "the host's name and the authority (--mqtt-ca)"
        return f"its certificate is not trusted: {why.rstrip('.')}. Check {check}"
    return f"no connection: {error}"


def stand_back() -> None:
    """Let the loop go first, and end when it does: its signals are not for this process, nor is its priority."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    with suppress(OSError):
        os.nice(10)


def main() -> None:
    """Run with the number of the socket as the argument; the settings come through it."""
    stand_back()
    with socket.socket(fileno=int(sys.argv[1])) as to_loop:
        try:
            sender = Sender(to_loop, json.loads(to_loop.recv(MESSAGE_BYTES)))
        except ImportError:
            to_loop.send(
                b'{"refused": "For MQTT, the package paho-mqtt must be installed, version 2 or newer. It is not. '
                b"Run pip install 'paho-mqtt>=2'.\"}"
            )
        except (OSError, ValueError) as e:
            to_loop.send(json.dumps({"refused": f"The settings of MQTT must be sound. {e}."}).encode())
        else:
            sender.run()
        os._exit(0)  # the client may still wait for a name or a connection


if __name__ == "__main__":
    main()
