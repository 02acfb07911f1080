"""A web server with a predictor for each of its threads: an item as a JSON array is posted, its answer comes back.

    python web_server.py my.bundle my_module:space 8080
    curl -d '[1, 2, 3]' http://localhost:8080

Requests are answered by as many threads as there are processors; further ones wait. The deadline runs from the moment
at which a thread has read the item.
"""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import local
from typing import Any

import numpy as np

from polydom_runtime import Predictor, hardware_clock, load_bundle, space_of

LONGEST = 1 << 20
SILENT_S = 10.0
"""After this time, a client that sends nothing has its thread no longer."""


class Server(ThreadingHTTPServer):
    """Keeps its threads, and one predictor in each: a predictor has one caller at a time."""

    def __init__(self, bundle: str, space: str, address: tuple[str, int], threads: int = os.cpu_count() or 1) -> None:
        self.bundle, self.space, self.own = load_bundle(bundle), space_of(space), local()
        self.pool = ThreadPoolExecutor(threads, initializer=self.begin)
        super().__init__(address, Handler)

    def begin(self) -> None:
        """Make the predictor of a new thread; the bundle is read once for all."""
        self.own.predictor = Predictor(self.bundle, self.space)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Let a thread of the pool handle a request."""
        self.pool.submit(self.process_request_thread, request, client_address)

    def server_close(self) -> None:
        """Answer what has come, and end the threads."""
        super().server_close()
        self.pool.shutdown()


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    timeout = SILENT_S

    def do_POST(self) -> None:
        """Answer the item that was posted, or say why it is refused."""
        try:
            length = min(int(self.headers.get("Content-Length", 0)), LONGEST)
            item = np.array(json.loads(self.rfile.read(length)), dtype=np.float64)
        except (ValueError, TypeError) as e:
            self.tell(400, {"refused": f"The body must be a JSON array of numbers. {e}"})
            return
        answer = self.server.own.predictor.predict_one(item, arrived_ns=hardware_clock())
        self.tell(200, answer._asdict())

    def tell(self, status: int, told: dict[str, object]) -> None:
        """Send a document of JSON."""
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    with Server(sys.argv[1], sys.argv[2], ("localhost", int(sys.argv[3]))) as server:
        server.serve_forever()
