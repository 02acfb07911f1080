"""What the process that publishes tells a broker, read from the bytes that it sends."""

import re
import socket
import ssl
from collections.abc import Iterator

import pytest

from polydom_runtime.publishing.sender import Sender, failure

SETTINGS = {"topic": "pump", "qos": 0, "retained": {}, "capacity": 10, "client_id": "pump", "delays_s": (1, 1)}
OPEN = {"user": None, "password": None, "tls": False, "authorities": None}
FLAGS = 9
"""Where the flags are in the first packet, by section 3.1.2 of MQTT 3.1.1."""
WILL, WILL_RETAIN = 0x04, 0x20


@pytest.fixture
def sender() -> Iterator[Sender]:
    to_loop, other_end = socket.socketpair()
    with to_loop, other_end:
        yield Sender(to_loop, SETTINGS | OPEN)


def connections(sender: Sender, *seconds: float, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the errors after connections that the broker ended after so many seconds."""
    now, errors = 1000.0, []
    monkeypatch.setattr("polydom_runtime.publishing.sender.time.monotonic", lambda: now)
    for lasted in seconds:
        sender._handle("connected", "")
        now += lasted
        sender._handle("disconnected", "the connection ended: Unspecified error")
        errors.append(sender._error)
        now += 1.0
        sender._handle_next(0.0)
    return errors


def test_client_of_the_same_id_is_named(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker ends the two connections in turns."""
    *first, last = connections(sender, 1.0, 1.5, 1.0, monkeypatch=monkeypatch)

    assert first == ["the connection ended: Unspecified error"] * 2
    assert re.search("Another client has the id pump as well.*--mqtt-client-id", last)


@pytest.mark.parametrize("seconds", [(1.0, 3600.0, 1.0), (3600.0,) * 5, (1.0, 1.0, 60.0, 1.0, 1.0)])
def test_broken_connections_now_and_then_are_no_other_client(
    seconds: tuple[float, ...], sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {*connections(sender, *seconds, monkeypatch=monkeypatch)} == {"the connection ended: Unspecified error"}


def test_refusals_are_no_other_client(sender: Sender) -> None:
    for _ in range(5):
        sender._handle("disconnected", "the broker refused")

    assert sender._error == "the broker refused"


def test_other_client_is_reported_until_a_connection_lasts(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    connections(sender, 1.0, 1.0, 1.0, monkeypatch=monkeypatch)
    now = 2000.0
    monkeypatch.setattr("polydom_runtime.publishing.sender.time.monotonic", lambda: now)
    sender._handle("connected", "")
    sender._handle_next(0.0)
    assert "Another client" in sender._error
    now += 11.0
    sender._handle_next(0.0)

    assert sender._error == ""


@pytest.mark.parametrize(
    ("why", "check"),
    [
        ("certificate is not yet valid", "the date of this machine"),
        ("certificate has expired", "the date of this machine"),
        ("self-signed certificate", "the authority"),
        ("Hostname mismatch, certificate is not valid for 'a'.", "the host's name"),
    ],
)
def test_date_of_the_machine_is_named_where_it_decides(why: str, check: str) -> None:
    error = ssl.SSLCertVerificationError()
    error.verify_message = why

    assert check in failure(error).partition(". Check ")[2]


def test_who_subscribes_after_the_node_was_lost_hears_that_it_is_offline() -> None:
    to_loop, other_end = socket.socketpair()
    with to_loop, other_end, socket.create_server(("127.0.0.1", 0)) as broker:
        client = Sender(to_loop, SETTINGS | OPEN)._client
        client.connect(*broker.getsockname())
        connection, _ = broker.accept()
        with connection:
            packet = connection.recv(FLAGS + 1, socket.MSG_WAITALL)
            client.disconnect()

    assert packet[FLAGS] & (WILL | WILL_RETAIN) == WILL | WILL_RETAIN
