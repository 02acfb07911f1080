"""Answers reach a real broker that is killed and started again, and nothing is lost without being counted."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from polydom_runtime import MqttPublisher, MqttTarget, Prediction
from polydom_runtime.__main__ import main
from polydom_runtime.items.packing import write_packed
from tests.benchmarks.publishing import run_with_kills
from tests.runtime.conftest import make_bundle, write

from .broker import Broker

pytestmark = pytest.mark.end_to_end

SPACE = "tests.runtime.node_space:space"
ANSWER = Prediction("yes", ("mean",), 0.9, 1000, True, "planned", confidence=0.8)
PLENTY_S = 300.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    broker.start()
    yield broker
    broker.kill()


class Subscriber:
    """All that a broker has for topics."""

    def __init__(self, port: int, topics: str) -> None:
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        self.messages: SimpleQueue[tuple[str, str]] = SimpleQueue()
        subscribed: SimpleQueue[None] = SimpleQueue()
        self._client = Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = lambda c, u, m: self.messages.put((m.topic, m.payload.decode()))
        self._client.on_subscribe = lambda *_: subscribed.put(None)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self._client.subscribe(topics, 1)
        subscribed.get(timeout=PLENTY_S)

    def until(self, topic: str, part: str = "") -> list[tuple[str, str]]:
        """Return what came until a message of a topic with a part of a text did."""
        came = []
        while True:
            came.append(self.messages.get(timeout=PLENTY_S))
            if came[-1][0] == topic and part in came[-1][1]:
                return came

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_answers_arrive_in_order_between_online_and_offline(broker: Broker, qos: int) -> None:
    subscriber = Subscriber(broker.port, "hall/#")
    target = MqttTarget("127.0.0.1", "hall/pump", broker.port, qos=qos)
    with MqttPublisher(target, retained={"hall/about": "a pump"}, flush_s=PLENTY_S) as publisher:
        came = subscriber.until("hall/about")
        for number in range(50):
            publisher.on_answer(number, None, ANSWER)
    came += subscriber.until("hall/pump/status", "offline")
    subscriber.close()

    assert [json.loads(text)["item"] for topic, text in came if topic == "hall/pump"] == [*range(50)]
    assert came[0] == ("hall/pump/status", "online")
    assert publisher.counts == (50, 0, 0, 0)


def test_last_will_tells_of_a_process_that_was_killed(broker: Broker) -> None:
    """Without a last will, the process that is started in its place would be online after online."""
    subscriber = Subscriber(broker.port, "pump/status")
    with MqttPublisher(f"127.0.0.1:{broker.port}/pump") as publisher:
        came = subscriber.until("pump/status", "online")
        publisher._process.kill()
        publisher._process.wait()
        while publisher._process.poll() is not None:
            publisher.on_slack(PLENTY_S)
        came += subscriber.until("pump/status", "online")
    subscriber.close()

    assert [text for _, text in came] == ["online", "offline", "online"]


def test_lost_process_is_started_again_and_what_it_had_counts_as_dropped(broker: Broker) -> None:
    subscriber = Subscriber(broker.port, "pump/#")
    with MqttPublisher(f"127.0.0.1:{broker.port}/pump", flush_s=PLENTY_S) as publisher:
        publisher._process.kill()
        publisher._process.wait()
        publisher.on_answer(0, None, ANSWER)
        while publisher._process.poll() is not None:
            publisher.on_slack(PLENTY_S)
        publisher.on_answer(1, None, ANSWER)
        subscriber.until("pump", '"item": 1')
    subscriber.close()

    assert publisher.counts == (1, 1, 0, 0)


def test_loop_goes_on_while_the_broker_is_killed_twice(broker: Broker) -> None:
    result = run_with_kills(broker, 500)

    assert result["answers"] == 500 == result["published"] + result["dropped"]
    assert result["dropped"] == 0
    assert len(broker.received("pump")) == 500


def test_command_publishes_what_it_prints(broker: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    write_packed(tmp_path / "items.npz", [np.arange(n, dtype=np.float32) for n in (3, 40, 900)])
    folder = write(tmp_path / "small.bundle", *make_bundle())
    subscriber = Subscriber(broker.port, "#")
    command = ["run", str(folder), SPACE, "--items", str(tmp_path / "items.npz"), "--deadline", "200us"]
    mqtt = ["--mqtt", f"mqtt://127.0.0.1:{broker.port}/pump", "--mqtt-discovery"]
    assert main([*command, *mqtt, "--metrics-json", str(tmp_path / "metrics.jsonl")]) == 0
    came = subscriber.until("pump/status", "offline")
    subscriber.close()
    *answers, last = map(json.loads, capsys.readouterr().out.splitlines())

    assert answers == [json.loads(text) for topic, text in came if topic == "pump"]
    assert last["summary"]["mqtt"] == {"published": 3, "dropped": 0, "pending": 0, "reconnects": 0}
    assert json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])["mqtt"]["published"] == 3
    late = next(json.loads(text) for topic, text in came if topic.endswith("/late/config"))
    assert late["state_topic"] == "pump/state"
    assert "late" in json.loads(next(text for topic, text in itertools.chain(came) if topic == "pump/state"))
