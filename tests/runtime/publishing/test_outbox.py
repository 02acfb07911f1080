"""What becomes of answers on their way, with a client that only writes down what it is given."""

import pytest

from polydom_runtime.publishing.sender import WINDOWS, Outbox


class Client:
    """Counts messages from 1."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, bool]] = []

    def send(self, topic: str, text: str, retain: bool) -> int:
        self.sent.append((topic, text, retain))
        return len(self.sent)


def made(qos: int = 1, capacity: int = 3) -> tuple[Outbox, Client]:
    client = Client()
    return Outbox(client.send, "t", qos, {"about": "a pump"}, capacity=capacity), client


def answers(client: Client) -> list[str]:
    return [text for topic, text, _ in client.sent if topic == "t"]


def test_oldest_is_dropped_and_counted_when_too_many_wait() -> None:
    outbox, client = made(capacity=3)
    for text in "abcde":
        outbox.add(text)
    assert (outbox.dropped, outbox.pending) == (2, 3)

    outbox.connected()

    assert answers(client) == ["c", "d", "e"]


def test_connection_tells_what_the_broker_keeps_before_all_answers() -> None:
    outbox, client = made()
    outbox.add("a")
    outbox.show("state")

    outbox.connected()

    kept = [("t/status", "online", True), ("about", "a pump", True), ("t/state", "state", True)]
    assert client.sent == [*kept, ("t", "a", False)]


def test_answer_counts_as_published_when_it_is_confirmed() -> None:
    outbox, client = made()
    outbox.connected()
    outbox.add("a")
    assert (outbox.published, outbox.pending, outbox.is_empty) == (0, 1, False)

    for number in range(1, len(client.sent) + 1):
        outbox.confirmed(number)
        outbox.confirmed(number)  # as after a duplicate

    assert (outbox.published, outbox.pending, outbox.is_empty) == (1, 0, True)


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_no_more_answers_are_on_their_way_than_the_window_has(qos: int) -> None:
    outbox, client = made(qos, capacity=1000)
    outbox.connected()
    for _ in range(500):
        outbox.add("a")
    assert len(answers(client)) == WINDOWS[qos]

    outbox.confirmed(len(client.sent))

    assert len(answers(client)) == WINDOWS[qos] + 1


@pytest.mark.parametrize(("qos", "dropped"), [(0, 1), (1, 0), (2, 0)])
def test_broken_connection_loses_only_answers_of_quality_0(qos: int, dropped: int) -> None:
    outbox, client = made(qos)
    outbox.connected()
    outbox.add("a")
    on_its_way = len(client.sent)
    outbox.disconnected()
    outbox.add("b")
    outbox.connected()
    outbox.confirmed(on_its_way)

    assert answers(client) == ["a", "b"]
    assert (outbox.dropped, outbox.published, outbox.reconnects) == (dropped, 1 - dropped, 1)


def test_end_counts_what_is_not_confirmed_as_dropped_and_says_goodbye() -> None:
    outbox, client = made()
    outbox.connected()
    outbox.add("a")

    outbox.end()

    assert (outbox.dropped, outbox.published, outbox.pending) == (1, 0, 0)
    assert client.sent[-1] == ("t/status", "offline", True)


def test_end_without_a_connection_sends_nothing() -> None:
    outbox, client = made()
    outbox.add("a")

    outbox.end()

    assert (outbox.dropped, client.sent) == (1, [])
