"""The process that publishes: it takes messages from a socket, and talks to the broker.

It is run as a script and imports nothing of the package but the file beside it: so it needs neither numpy nor the
memory for it, and starts in a fraction of the time.
"""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from .outbox import Outbox
else:
    from outbox import Outbox
if TYPE_CHECKING:
    from paho.mqtt.client import Client

LARGEST = 1 << 18
"""The most bytes of a message between the two processes."""

ANSWER, STATE = b"a", b"s"
"""The first byte of messages."""

REPORT_EVERY_S = 1.0
KEEP_ALIVE_S = 30
"""If the broker has heard nothing for one and a half times as long, it publishes the last will."""

LAST_WORDS_S = 1.0
"""Seconds for the last message and the end of the connection."""

BAD_LOGIN, NOT_AUTHORIZED = 134, 135
"""Codes by which a broker says that it does not know the user or the password, or does not let the user in."""

Event = tuple[str, Any]
"""What happened, and to what: ``received`` a message, ``connected`` and ``disconnected`` with an error or "" as text,
``confirmed`` the message of a number."""


class Sender:
    """Publishes what comes through a socket, until its other end is closed.

    Three threads (this one, one that reads the socket, and the client's own) meet in one queue: all counts are made in
    this one.

    `to_loop`: the other process's. `settings`: as `MqttPublisher` sends them.

    Raises `ImportError` if there is no paho-mqtt, or an old one. Raises `OSError` if the certificates cannot be read.
    """

    def __init__(self, to_loop: socket.socket, settings: dict[str, Any]) -> None:
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._to_loop, self._settings = to_loop, settings
        self._topic, self._qos = settings["topic"], settings["qos"]
        self._client = self._make_client()
        self._outbox = Outbox(
            self._publish, self._topic, self._qos, settings["retained"], capacity=settings["capacity"]
        )
        self._error, self._is_ending = "", False
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
        while message := self._to_loop.recv(LARGEST):
            self._events.put(("received", message))
        self._events.put(("received", b""))

    def _handle_next(self, seconds: float) -> bool:
        """Handle an event, if there is one within so many seconds; return False if the other process has ended."""
        goes_on = True
        with suppress(Empty):
            event, about = self._events.get(timeout=seconds)
            goes_on = self._handle(event, about)
        if (now := time.monotonic()) >= self._report_due:
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
            self._error = ""
        else:
            outbox.disconnected()
            self._error = self._error or (
                "" if self._is_ending else about
            )  # the first is the cause of those that follow
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
    """Return why the broker does not take this client, and what to do."""
    is_login = reason.value in (BAD_LOGIN, NOT_AUTHORIZED)
    return f"the broker refused: {reason}{'. Check the login (--mqtt-login)' if is_login else ''}"


def failure(error: BaseException | None) -> str:
    """Return why there is no connection, and what to do."""
    if why := getattr(error, "verify_message", ""):  # of an ssl.SSLCertVerificationError
        return f"its certificate is not trusted: {why.rstrip('.')}. Check the host's name and the authority (--mqtt-ca)"
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
            sender = Sender(to_loop, json.loads(to_loop.recv(LARGEST)))
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
