"""Addresses of brokers, logins, and the messages of a refusal."""

import json
from pathlib import Path

import pytest

from polydom_runtime import MqttPublisher, MqttTarget, Prediction, PublishingError
from polydom_runtime.__main__ import main
from polydom_runtime.publishing import publisher as publishing
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


@pytest.mark.parametrize("text", ["\ufeffpump\r\nsecret\r\n", "pump\nsecret", "\ufeffpump\nsecret\n"])
def test_login_may_be_written_by_any_editor(text: str, tmp_path: Path) -> None:
    """Some begin a file with a mark of its encoding; as a part of the user's name it would be refused by the broker."""
    file = tmp_path / "login"
    file.write_bytes(text.encode())
    file.chmod(0o600)
    target = MqttTarget.parse("broker/pump", login=file)

    assert (target.user, target.password) == ("pump", "secret")


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


def test_container_with_a_new_host_name_is_the_same_client_and_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so is a board that was renamed."""
    ids, described = set(), []
    for name in ("3f1c5a0b7d2e", "91aa04c27be3", ""):
        monkeypatch.setattr("platform.node", lambda name=name: name)
        target = MqttTarget.parse("broker/hall/pump")
        ids.add(target.client_id)
        described.append(discovery(target, make_bundle()[0]))

    assert len(ids) == 1
    assert described[1:] == described[:-1]
    assert MqttTarget.parse("broker/hall/pump2").client_id not in ids


def test_discovery_names_topics_of_the_state_and_no_confidence_that_there_is_not() -> None:
    target = MqttTarget.parse("broker/hall/pump", client_id="pump3")

    messages = discovery(target, make_bundle()[0])

    assert {f"homeassistant/sensor/pump3/{name}/config" for name in ("label", "late")} == set(messages)
    assert all('"hall/pump/state"' in text and '"hall/pump/status"' in text for text in messages.values())


def test_label_is_unavailable_to_home_assistant_while_there_is_none() -> None:
    """A prior's label would look like an alarm that nobody raised."""
    messages = discovery(MqttTarget.parse("broker/hall/pump", client_id="pump3"), make_bundle()[0])
    label, late = (json.loads(messages[f"homeassistant/sensor/pump3/{name}/config"]) for name in ("label", "late"))
    status, state = {"topic": "hall/pump/status"}, label["availability"][1]

    assert late["availability"] == [status]
    assert (label["availability"], label["availability_mode"]) == ([status, state], "all")
    shown = pytest.importorskip("jinja2").Environment().from_string(state["value_template"])
    said = [shown.render(value_json={"label": value}) for value in ("bearing", None, 0, False)]
    assert said == ["online", "offline", "online", "online"]


def test_state_has_no_label_of_the_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "STATE_EVERY_S", 0.0)
    answer = Prediction("bearing", ("mean",), 0.5, 1, True, "planned", confidence=0.9)
    came: list[bytes] = []

    def hand_over(message: bytes) -> bool:
        came.append(message)
        return True

    with MqttPublisher("127.0.0.1:1/pump", flush_s=0.1) as publisher:
        monkeypatch.setattr(publisher, "_hand_over", hand_over)
        for given in (answer, answer._replace(features=()), answer._replace(label=None)):
            publisher.on_answer(0, None, given)

    assert [json.loads(text[1:])["label"] for text in came if text[:1] == b"s"] == ["bearing", None, None]
    assert [json.loads(text[1:])["label"] for text in came if text[:1] == b"a"] == ["bearing", "bearing", None]
