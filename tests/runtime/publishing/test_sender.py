"""What the process that publishes tells a broker, read from the bytes that it sends."""

import socket

from polydom_runtime.publishing.sender import Sender

SETTINGS = {"topic": "pump", "qos": 0, "retained": {}, "capacity": 10, "client_id": "pump", "delays_s": (1, 1)}
OPEN = {"user": None, "password": None, "tls": False, "authorities": None}
FLAGS = 9
"""Where the flags are in the first packet, by section 3.1.2 of MQTT 3.1.1."""
WILL, WILL_RETAIN = 0x04, 0x20


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
