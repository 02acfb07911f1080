"""Addresses of brokers, logins, and the messages of a refusal."""

from pathlib import Path

import pytest

from polydom_runtime import MqttPublisher, MqttTarget, Prediction, PublishingError
from polydom_runtime.__main__ import main
from polydom_runtime.publishing.discovery import discovery
from polydom_runtime.publishing.publisher import PublishingCounts
from tests.runtime.conftest import make_bundle


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("broker/pump", ("broker", 1883, "pump", False)),
        ("mqtt://broker:1884/hall/pump", ("broker", 1884, "hall/pump", False)),
        ("mqtts://10.0.0.7/pump", ("10.0.0.7", 8883, "pump", True)),
        ("[fe80::1]:99/pump", ("fe80::1", 99, "pump", False)),
    ],
)
def test_addresses_are_read(address: str, expected: tuple[str, int, str, bool]) -> None:
    target = MqttTarget.parse(address)

    assert expected == (target.host, target.port, target.topic, target.tls)


@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("broker", "HOST/TOPIC"),
        ("http://broker/pump", "mqtts://HOST:PORT/TOPIC"),
        ("/pump", "host"),
        ("two words/pump", "host"),
        ("a..b/pump", "host"),
        ("broker:70000/pump", "1 to 65535"),
        ("broker:x/pump", "1 to 65535"),
        ("me:secret@broker/pump", "--mqtt-login"),
        ("broker/", "slash"),
        ("broker/pump/", "slash"),
        ("broker/+/pump", "wildcards"),
        ("broker/#", "wildcards"),
        ("broker/$SYS/pump", "broker's own"),
        ("broker/pu\x1bmp", "printable"),
        (f"broker/{'x' * 201}", "200 bytes"),
    ],
)
def test_what_is_no_address_is_one_line(address: str, part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "none.bundle", "none:space", "--items", "none.npz", "--mqtt", address]) == 2
    error = capsys.readouterr().err

    assert part in error
    assert error.count("\n") == 1
    assert "secret" not in error


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--mqtt-login", "login"], "--mqtt"),
        (["--mqtt", "broker/pump", "--mqtt-login", "/none"], "two lines"),
        (["--mqtt", "broker/pump", "--mqtt-ca", "ca.pem"], "mqtts://"),
        (["--mqtt", "broker/pump", "--mqtt-client-id", "a/b"], "letters"),
        (["--mqtt", "broker/pump", "--mqtt-discovery", "ha/#"], "wildcards"),
    ],
)
def test_options_that_cannot_hold_are_one_line(
    options: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "none.bundle", "none:space", "--items", "none.npz", *options]) == 2
    error = capsys.readouterr().err

    assert part in error
    assert error.count("\n") == 1


def test_login_is_two_lines_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "login"
    file.write_text("pump\nsecret\n")
    file.chmod(0o600)
    target = MqttTarget.parse("broker/pump", login=file)
    assert (target.user, target.password) == ("pump", "secret")
    assert "secret" not in repr(target)

    file.chmod(0o644)
    with pytest.raises(PublishingError, match="chmod 600"):
        MqttTarget.parse("broker/pump", login=file)


def test_certificates_that_cannot_be_read_are_refused_before_the_loop(tmp_path: Path) -> None:
    with pytest.raises(PublishingError, match="must be sound"):
        MqttPublisher(MqttTarget.parse("mqtts://broker/pump", authorities=tmp_path / "none.pem"))


def test_missing_package_is_named_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paho.py").write_text("raise ImportError\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(PublishingError, match="pip install 'paho-mqtt>=2'"):
        MqttPublisher("broker/pump")


def test_without_a_broker_answers_wait_and_are_counted_as_dropped_at_the_end() -> None:
    """Nobody listens on port 1 of this machine."""
    with MqttPublisher("127.0.0.1:1/pump", capacity=3, flush_s=0.1) as publisher:
        for number in range(10):
            publisher.on_answer(number, None, Prediction(None, (), 0.5, 1, False, "unsure"))
        assert publisher.counts.published == 0

    assert PublishingCounts(published=0, dropped=10, pending=0, reconnects=0) == publisher.counts


def test_discovery_names_topics_of_the_state_and_no_confidence_that_there_is_not() -> None:
    target = MqttTarget.parse("broker/hall/pump", client_id="pump3")

    messages = discovery(target, make_bundle()[0])

    assert {f"homeassistant/sensor/pump3/{name}/config" for name in ("label", "late")} == set(messages)
    assert all('"hall/pump/state"' in text and '"hall/pump/status"' in text for text in messages.values())
