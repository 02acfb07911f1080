"""Every recipe is run, with a stand-in for what is not there: no serial line, no bus, no camera."""

import json
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from queue import Queue, SimpleQueue

import numpy as np
import pytest

from examples.recipes import (
    accelerometer,
    camera_frames,
    influx_lines,
    mqtt,
    own_sensor,
    serial_line,
    several_models,
    standard_streams,
    two_deadlines,
    unix_socket,
    web_server,
)
from polydom_runtime import Arrived, Monitor, MqttPublisher, Prediction, Predictor
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write

from .frame_space import space

SPACE = "tests.examples.frame_space:space"
RECIPES = Path(own_sensor.__file__).parent
LABELS = {"no", "yes"}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    made, models = make_bundle()
    folder = tmp_path_factory.mktemp("recipes") / "small.bundle"
    return str(write(folder, changed(made, budgets=(0.0005, 0.01)), models))


def test_every_recipe_is_in_the_table_and_the_table_has_no_other() -> None:
    files = {file.name for file in RECIPES.glob("*.py")} - {"__init__.py"}
    table = [line for line in (RECIPES / "README.md").read_text().splitlines() if line.startswith("| [")]

    assert files == {line[3 : line.index("]")] for line in table}


def test_own_sensor_sends_what_its_queue_takes(bundle: str) -> None:
    sent: list[str] = []

    dropped = own_sensor.main(bundle, SPACE, sent.append, readings=5)

    assert len(sent) + dropped == 5
    assert {text.split(": ")[1] for text in sent} <= LABELS


def test_own_sensor_drops_what_a_stuck_receiver_does_not_take(bundle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The receiver takes one answer, and the queue 3; it goes on when the last reading was answered."""
    goes_on = threading.Event()
    sent: list[str] = []

    class Sensor(own_sensor.Sensor):
        def __next__(self) -> object:
            if self.left == 0:
                goes_on.set()
            return super().__next__()

    def send(text: str) -> None:
        sent.append(text)
        goes_on.wait()

    monkeypatch.setattr(own_sensor, "Sensor", Sensor)
    monkeypatch.setattr(own_sensor, "Queue", lambda maxsize: Queue(maxsize and 3))

    dropped = own_sensor.main(bundle, SPACE, send, readings=10)

    assert dropped >= 6
    assert len(sent) + dropped == 10


def test_own_sensor_stops_at_a_signal_and_empties_its_queue(bundle: str) -> None:
    sent: list[str] = []

    def send(text: str) -> None:
        if not sent:
            os.kill(os.getpid(), signal.SIGTERM)
        sent.append(text)

    dropped = own_sensor.main(bundle, SPACE, send, readings=100_000)

    assert 0 < len(sent) + dropped < 100_000
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_standard_streams_give_an_answer_for_each_item_and_a_summary(bundle: str) -> None:
    *answers, last = standard_streams.answers(bundle, SPACE, [[1.0, 2.0, 3.0], [4.0, 5.0]])

    assert [answer["item"] for answer in answers] == [0, 1]
    assert last["summary"]["items"] == 2


def test_serial_line_gives_windows_of_whole_lines() -> None:
    controller, line = os.openpty()
    items = serial_line.items(os.ttyname(line), window=3)
    assert next(items) is None

    os.write(controller, b"1\r\n2.5\r\nnoise\r\n3\r\n4")
    first = next(item for item in items if item is not None)
    os.write(controller, b"0\r\n5\r\n6\r\n")
    second = next(item for item in items if item is not None)

    assert [first.tolist(), second.tolist()] == [[1.0, 2.5, 3.0], [40.0, 5.0, 6.0]]
    items.close()
    os.close(controller)
    os.close(line)


def test_unix_socket_answers_lines_and_refuses_others(bundle: str, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    server = threading.Thread(target=unix_socket.serve, args=(bundle, SPACE, path, 1))
    server.start()
    with socket.socket(socket.AF_UNIX) as client:
        while client.connect_ex(path):
            assert server.is_alive()
        with client.makefile("rwb") as stream:
            stream.write(b"[1, 2, 3]\nhello\n[[1]]\n")
            stream.flush()
            answers = [json.loads(stream.readline()) for _ in range(3)]
    server.join()

    assert answers[0]["label"] in LABELS
    assert ["refused" in answer for answer in answers] == [False, True, True]
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_web_server_answers_requests_that_come_together(bundle: str) -> None:
    items = [list(range(n)) for n in range(1, 41)]

    def posted(body: bytes) -> tuple[int, dict[str, object]]:
        client = HTTPConnection("localhost", server.server_port)
        client.request("POST", "/", body)
        response = client.getresponse()
        with closing(client):
            return response.status, json.loads(response.read())

    with web_server.Server(bundle, SPACE, ("localhost", 0), threads=3) as server:
        threading.Thread(target=server.serve_forever).start()
        with ThreadPoolExecutor(8) as clients:
            answers = list(clients.map(posted, [json.dumps(item).encode() for item in items]))
        refused = [posted(body) for body in (b"hello", b'["a"]', b"[[1], [2, 3]]")]
        server.shutdown()

    assert [status for status, _ in answers] == [200] * len(items)
    assert {answer["label"] for _, answer in answers} <= LABELS
    assert not any(answer["error"] for _, answer in answers)
    assert [(status, list(told)) for status, told in refused] == [(400, ["refused"])] * 3


def test_accelerometer_gives_the_length_of_what_the_bus_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELEROMETER", "mock")
    bus = accelerometer.open_bus()
    assert isinstance(bus, accelerometer.MockBus)

    *_, window = islice(accelerometer.items(bus), 8)

    x = np.round(200 * np.sin(np.arange(1, 257) / 5))
    assert np.allclose(np.sqrt(2 * x**2 + 256**2) / 256, window)
    assert bus.registers[accelerometer.POWER] == accelerometer.MEASURE


class Frames:
    """A camera whose frames a test gives."""

    def __init__(self) -> None:
        self.frames: SimpleQueue[np.ndarray] = SimpleQueue()

    def capture_array(self) -> np.ndarray:
        if (frame := self.frames.get()).size == 0:
            raise OSError("no camera")
        return frame


def test_camera_gives_each_frame_once_and_its_errors(bundle: str) -> None:
    camera, answers = Frames(), list[Prediction]()
    newest = camera_frames.NewestFrame(camera)
    assert next(newest) is None

    camera.frames.put(np.full((8, 6, 3), 7.0))
    arrived = next(frame for frame in newest if frame is not None)
    assert next(newest) is None
    assert isinstance(arrived, Arrived)
    assert arrived.item.tolist() == [[7.0] * 6] * 8
    Monitor([arrived], Predictor.load(bundle, space), 0.02, lambda n, item, answer: answers.append(answer)).run()
    assert [answer.error for answer in answers] == [""]

    camera.frames.put(np.empty(0))
    with pytest.raises(OSError, match="no camera"):
        next(frame for frame in newest if frame is not None)


def test_several_models_answer_each_item_once_each(bundle: str) -> None:
    labels = several_models.main(bundle, bundle, SPACE, [np.arange(9.0)] * 3)

    assert len(labels) == 3
    assert {label for pair in labels for label in pair} <= LABELS


def test_two_deadlines_give_two_answers_that_count_from_one_arrival(bundle: str) -> None:
    answers = two_deadlines.main(bundle, SPACE, "1", "10")

    assert len(answers) == 10
    assert all(first.elapsed_ns <= second.elapsed_ns for first, second in answers)
    assert all(second.waited_ns >= first.elapsed_ns for first, second in answers)


def test_influx_lines_escape_what_the_protocol_demands() -> None:
    answer = Prediction('a "b"\\\n', ("mean",), 0.5, 1200, False, "no time for a,b=c", confidence=0.25)
    lines: list[str] = []

    influx_lines.convert("hall 1", [json.dumps(answer._asdict()), '{"summary": {}}'], lines.append)

    (line,) = lines
    head, _, time_ns = line.rpartition(" ")
    expected = (
        r'polydom,node=hall\ 1,reason=no\ time\ for\ a\,b\=c label="a \"b\"\\",confidence=0.25,elapsed=1200i,late=true'
    )
    assert expected == head
    assert time_ns.endswith("\n")
    assert time_ns.strip().isdigit()


def test_influx_lines_leave_out_what_is_not_known() -> None:
    answer = Prediction(None, (), 0.5, 1200, True, "unsure")

    assert influx_lines.line("n", answer._asdict(), 7) == "polydom,node=n,reason=unsure elapsed=1200i,late=false 7"


def test_influx_lines_reach_a_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Prediction("yes", ("mean",), 0.5, 1200, True, "planned")
    monkeypatch.setattr("sys.stdin", [json.dumps(answer._asdict())])
    with socket.create_server(("127.0.0.1", 0)) as server:
        influx_lines.main("n", f"127.0.0.1:{server.getsockname()[1]}")
        connection, _ = server.accept()
        with connection, connection.makefile() as stream:
            assert stream.read().startswith('polydom,node=n,reason=planned label="yes",elapsed=1200i,late=false ')


def test_mqtt_goes_on_without_a_broker_and_counts_what_it_drops(bundle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens on port 1 of this machine."""
    monkeypatch.setattr(mqtt, "MqttPublisher", partial(MqttPublisher, flush_s=0.1))

    counts = mqtt.main(bundle, SPACE, "127.0.0.1:1/pump", readings=5)

    assert (counts.published, counts.dropped, counts.pending) == (0, 5, 0)
