"""A real broker that demands a login and shows a certificate: answers reach it, or one message says why they do not."""

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from polydom_runtime import MqttPublisher, MqttTarget, Prediction

from .broker import Broker
from .certificates import write_certificates

pytestmark = pytest.mark.end_to_end

ANSWER = Prediction("yes", ("mean",), 0.9, 1000, True, "planned", confidence=0.8)
PASSWORD, WRONG = "correct-horse", "battery-staple"
PLENTY_S = 300.0
ROUNDS, SALT = 101, b"salt of test"
ANSWERS = 3


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """Return a broker that takes the user ``pump`` over TLS only; ``ca.pem`` has signed its certificate."""
    write_certificates(tmp_path)
    digest = hashlib.pbkdf2_hmac("sha512", PASSWORD.encode(), SALT, ROUNDS)
    salt, key = (base64.b64encode(part).decode() for part in (SALT, digest))
    (tmp_path / "passwords").write_text(f"pump:$7${ROUNDS}${salt}${key}\n")
    files = {"cafile": "ca.pem", "certfile": "broker.pem", "keyfile": "broker.key", "password_file": "passwords"}
    lines = [f"{setting} {tmp_path / name}" for setting, name in files.items()]
    broker = Broker(tmp_path, "\n".join(["allow_anonymous false", *lines]))
    broker.start()
    yield broker
    broker.kill()


def target(broker: Broker, folder: Path, password: str, authorities: str, host: str = "127.0.0.1") -> MqttTarget:
    login = folder / "login"
    login.write_text(f"pump\n{password}\n")
    login.chmod(0o600)
    address = f"mqtts://{host}:{broker.port}/pump"
    return MqttTarget.parse(address, login=login, authorities=folder / authorities)


def test_answers_arrive_over_tls_with_a_login(broker: Broker, tmp_path: Path) -> None:
    with MqttPublisher(target(broker, tmp_path, PASSWORD, "ca.pem"), flush_s=PLENTY_S) as publisher:
        for number in range(ANSWERS):
            publisher.on_answer(number, None, ANSWER)

    assert publisher.counts == (ANSWERS, 0, 0, 0)
    assert len(broker.received("pump")) == ANSWERS


@pytest.mark.parametrize(
    ("password", "authorities", "host", "message"),
    [
        (WRONG, "ca.pem", "127.0.0.1", r"the broker refused: Not authorized. Check the login \(--mqtt-login\)"),
        (PASSWORD, "other/ca.pem", "127.0.0.1", r"certificate is not trusted: .+ Check .+ \(--mqtt-ca\)"),
        (PASSWORD, "ca.pem", "localhost", r"certificate is not trusted: Hostname mismatch, .+ Check the host's name"),
    ],
    ids=["wrong password", "unknown authority", "wrong host"],
)
def test_one_message_says_why_answers_do_not_arrive(
    broker: Broker,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    password: str,
    authorities: str,
    host: str,
    message: str,
) -> None:
    (tmp_path / "other").mkdir()
    write_certificates(tmp_path / "other")
    secured = target(broker, tmp_path, password, authorities, host)
    with MqttPublisher(secured, flush_s=0.1, delays_s=(1, 1)) as publisher:
        for number in range(ANSWERS):
            publisher.on_answer(number, None, ANSWER)
        while not caplog.messages or broker.log.read_text().count("New connection") < 3:
            publisher.on_slack(PLENTY_S)
        command = Path(f"/proc/{publisher._process.pid}/cmdline").read_text()
    (said,) = caplog.messages

    assert re.search(message, said)
    assert publisher.counts == (0, ANSWERS, 0, 0)
    assert broker.received("pump") == set()
    assert password not in f"{said} {secured} {command} {capfd.readouterr()}"
