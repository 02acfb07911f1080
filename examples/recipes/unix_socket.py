"""A server on a Unix socket: each line is an item as a JSON array of numbers, each answer a line of JSON.

    python unix_socket.py my.bundle my_module:space /run/polydom/answers.sock
    echo '[1, 2, 3]' | nc -U /run/polydom/answers.sock

One client at a time, so that no other one delays an answer. The deadline runs from the arrival of the line.
"""

import json
import os
import socket
import sys
from contextlib import suppress

import numpy as np

from polydom_runtime import Predictor, hardware_clock, space_of

LONGEST = 1 << 20


def serve(bundle: str, space: str, path: str, clients: float = float("inf")) -> None:
    """Answer a number of clients, one after another."""
    predictor = Predictor.load(bundle, space_of(space))
    with suppress(FileNotFoundError):
        os.unlink(path)  # of a server that was killed
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        os.chmod(path, 0o600)  # this user only
        server.listen()
        while clients > 0:
            clients -= 1
            connection, _ = server.accept()
            with connection, connection.makefile("rwb") as stream, suppress(ConnectionError):
                while line := stream.readline(LONGEST):
                    stream.write(json.dumps(answer(predictor, line, hardware_clock())).encode() + b"\n")
                    stream.flush()


def answer(predictor: Predictor, line: bytes, arrived_ns: int) -> dict[str, object]:
    """Return the answer to a line, or the reason why it is refused."""
    try:
        item = np.array(json.loads(line), dtype=np.float64)
    except (ValueError, TypeError) as e:
        return {"refused": f"A line must be a JSON array of numbers. {e}"}
    if item.ndim != 1:
        return {"refused": "A line must be a JSON array of numbers. Got something else."}
    return predictor.predict_one(item, arrived_ns=arrived_ns)._asdict()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3])
