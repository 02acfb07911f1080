"""Where answers are published: an MQTT broker and a topic."""

import hashlib
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from polydom_runtime.exceptions import PublishingError

SCHEMES = {"mqtt": 1883, "mqtts": 8883}
"""Schemes of addresses, and their usual ports; the second is encrypted."""

LONGEST_TOPIC = 200
"""Bytes; MQTT allows more, and many brokers do not."""


@dataclass(frozen=True, slots=True)
class MqttTarget:
    """A topic of a broker, and how to get there."""

    host: str
    topic: str
    """The topic of answers. The newest counts are at ``TOPIC/state``; ``TOPIC/status`` is ``online`` or ``offline``."""
    port: int = SCHEMES["mqtt"]
    tls: bool = False
    """Whether the connection is encrypted, and the broker must show a certificate."""
    authorities: str | os.PathLike[str] | None = None
    """A file of certificates, one of which must have signed that of the broker; None for those of the system."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    client_id: str = ""
    """If empty, it follows from the topic, so that it stays after a new start, also in a container, which has a new
    host name each time: the broker then ends a connection that is left from before, and its last will cannot come
    later. Two clients must not have one id, and so two nodes must not have one topic."""
    qos: int = 1
    """Quality of service. 0: sent once, and lost if the connection breaks; 1: until the broker has it, maybe twice; 2:
    exactly once, for twice as many messages."""

    def __post_init__(self) -> None:
        try:
            sound = re.fullmatch(rb"[A-Za-z0-9_.:%-]+", self.host.encode("idna"))
        except UnicodeError:
            sound = None
        if not sound:
            raise PublishingError(f"The host of a broker must be a name or an address. Got {self.host!r}.")
        if not 0 < self.port < 1 << 16:
            raise PublishingError(f"The port of a broker must be a number from 1 to 65535. Got {self.port}.")
        check_topic(self.topic)
        if self.qos not in (0, 1, 2):
            raise PublishingError(f"The quality of service must be 0, 1 or 2. Got {self.qos}.")
        if self.authorities is not None and not self.tls:
            raise PublishingError("Certificates must come with mqtts://. The address is not encrypted. Write mqtts://.")
        if not self.client_id:
            own = hashlib.sha256(self.topic.encode()).hexdigest()
            object.__setattr__(self, "client_id", f"polydom-{own[:12]}")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", self.client_id):
            raise PublishingError(
                f"The id of a client must be 1 to 64 letters, digits, - and _. Got {self.client_id!r}."
            )

    @classmethod
    def parse(
        cls,
        address: str,
        *,
        login: str | os.PathLike[str] | None = None,
        authorities: str | os.PathLike[str] | None = None,
        client_id: str = "",
        qos: int = 1,
    ) -> "MqttTarget":
        """Return the target of an address ``HOST/TOPIC``, ``mqtt://HOST:PORT/TOPIC`` or ``mqtts://HOST:PORT/TOPIC``.

        The file of the login has the user's name in the first line, and the password in the second; the rest is as in
        `MqttTarget`. Raises `PublishingError` if the address or this file cannot be used.

        Examples
        --------
        >>> target = MqttTarget.parse("broker.local/hall/pump3")
        >>> target.host, target.port, target.topic
        ('broker.local', 1883, 'hall/pump3')
        """
        scheme, mark, rest = address.rpartition("://")
        place, slash, topic = rest.partition("/")
        if (mark and scheme not in SCHEMES) or not slash:
            raise PublishingError(
                f"An address of MQTT must be HOST/TOPIC, mqtt://HOST:PORT/TOPIC or mqtts://HOST:PORT/TOPIC. "
                f"Got {address!r}."
            )
        if "@" in place:
            raise PublishingError(
                "An address of MQTT must have no password: any user could read it. Got one with @. Put the user's name "
                "and the password in two lines of a file, and name it with --mqtt-login."
            )
        host, port = _host_and_port(place, SCHEMES[scheme or "mqtt"])
        user, password = _login(Path(login)) if login is not None else (None, None)
        tls = scheme == "mqtts"
        return cls(host, topic, port, tls, authorities, user, password, client_id, qos)


def check_topic(topic: str) -> None:
    """Check that messages can be published to a topic."""
    if not topic or topic.startswith("/") or topic.endswith("/"):
        wrong = "with no slash at its ends"
    elif "+" in topic or "#" in topic:
        wrong = "without the wildcards + and #"
    elif topic.startswith("$"):
        wrong = "without $ at its start: such topics are the broker's own"
    elif not topic.isprintable():
        wrong = "of printable characters"
    elif len(topic.encode("utf-8", "replace")) > LONGEST_TOPIC:
        wrong = f"of at most {LONGEST_TOPIC} bytes"
    else:
        return
    raise PublishingError(f"A topic to publish to must be a name such as hall/pump3, {wrong}. Got {topic!r}.")


def _host_and_port(place: str, usual: int) -> tuple[str, int]:
    host, _, port = place.rpartition("]") if place.startswith("[") else place.partition(":")
    port = port.removeprefix(":")
    if port and not (port.isascii() and port.isdigit()):
        raise PublishingError(f"The port of a broker must be a number from 1 to 65535. Got {port!r}.")
    return host.removeprefix("["), int(port or usual)


def _login(file: Path) -> tuple[str, str]:
    wanted = f"{file} must hold the user's name and the password in two lines"
    try:
        text = file.read_text("utf-8-sig")
        others_may_read = file.stat().st_mode & stat.S_IROTH
    except (OSError, ValueError) as e:
        raise PublishingError(f"{wanted}. It cannot be read: {e}. Write it, and give it to this user only.") from e
    if others_may_read:
        raise PublishingError(f"{wanted}, for its owner only. Any user may read it. Change that with chmod 600 {file}.")
    lines = text.splitlines()
    if len(lines) != 2 or not lines[0]:
        raise PublishingError(f"{wanted}. Got {len(lines)} lines.")
    return lines[0], lines[1]
