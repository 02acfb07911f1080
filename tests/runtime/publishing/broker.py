"""A real broker, which can be killed and started again, and what it says that it has received."""

import fcntl
import re
import socket
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
CONNECT_S = 30.0


class Broker:
    """A mosquitto on this machine; its log goes to a file that outlives it.

    Parameters
    ----------
    folder : path
        Of its settings and its log.
    access : str
        Lines of settings that say who may connect, and how.
    """

    def __init__(self, folder: Path, access: str = "allow_anonymous true") -> None:
        script = Path(__file__).with_name("mosquitto.sh")
        (ROOT / "build").mkdir(exist_ok=True)
        with open(ROOT / "build" / "mosquitto.lock", "w") as lock:  # several workers may look for it at a time
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = subprocess.run([script, ROOT / "build" / "mosquitto"], stdout=subprocess.PIPE, text=True)
        assert found.returncode == 0, "mosquitto must be installed: apt-get install mosquitto"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.log, self.settings = folder / "mosquitto.log", folder / "mosquitto.conf"
        # As root it would become a user who may not read these files; and a user namespace may not allow that.
        self.settings.write_text(f"listener {self.port} 127.0.0.1\n{access}\nlog_type all\nuser root\n")
        self._command = [found.stdout.strip(), "-c", str(self.settings)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        while self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), CONNECT_S).close()
            except ConnectionRefusedError:
                continue
            return
        raise AssertionError(self.log.read_text())

    def kill(self) -> None:
        """Kill it as a loss of power does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def received(self, topic: str) -> set[int]:
        """Return the numbers of the messages that it has received for a topic, each once however often it came."""
        line = rf"Received PUBLISH from \S+ \(d\d, q\d, r\d, m(\d+), '{re.escape(topic)}'"
        return {int(number) for number in re.findall(line, self.log.read_text())}
