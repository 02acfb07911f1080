"""What a supervisor takes for the reply of a worker: nothing but the reply to the item in work, and only once."""

import os
import select
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from polydom_runtime import Predictor, Seams
from polydom_runtime.supervision.shared_block import SharedBlock, write_item
from polydom_runtime.supervision.worker import READY, Link, Told, ToldSlowdown, Worker, WrongReply, serve
from tests.runtime.conftest import World

SEQUENCE = 7
ANSWER = ["yes", ["mean"], 0.7, 1000, True, "planned", 1.0, 0, "", None, None]
REPLY = [SEQUENCE, ANSWER, 10.0, [0], [1, 2, 3, 4], [], 1.0, ["hot", 1, []], None]
WAIT_NS = 10**9


def packed(reply: Any) -> bytes:
    return bytes(msgpack.packb(reply))


@pytest.fixture
def block() -> Iterator[SharedBlock]:
    made = SharedBlock(6, 4096)
    yield made
    made.close()


@pytest.fixture
def connected(block: SharedBlock) -> Iterator[tuple[Link, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        signal.pause()
    link = Link(pid, os.pidfd_open(pid), ours, block.slot(1))
    with theirs:
        yield link, theirs
    link.kill()
    os.waitpid(pid, 0)


def ask(link: Link, sequence: int) -> None:
    link.ask(sequence, 1, 1, None, Told(), {}, [], [])


def test_reply_to_the_item_in_work_is_taken(connected: tuple[Link, socket.socket]) -> None:
    link, theirs = connected
    ask(link, SEQUENCE)
    theirs.send(packed(REPLY))

    reply = link.reply(WAIT_NS)

    assert reply is not None
    assert reply.answer is not None
    assert reply.answer[:2] == ("yes", ("mean",))
    assert link.asked == 0
    assert link.lives()


def changed(place: int, value: Any) -> list[Any]:
    return [*REPLY[:place], value, *REPLY[place + 1 :]]


WRONG = {
    "ready": READY,
    "earlier item": packed(changed(0, SEQUENCE - 1)),
    "later item": packed(changed(0, SEQUENCE + 1)),
    "no item": packed(changed(0, 0)),
    "text for the number": packed(changed(0, str(SEQUENCE))),
    "none for the number": packed(changed(0, None)),
    "field missing": packed(REPLY[:5]),
    "field more": packed([*REPLY, 1]),
    "a number": packed(SEQUENCE),
    "a text": packed("yes"),
    "a map": packed({SEQUENCE: ANSWER}),
    "answer too short": packed(changed(1, ANSWER[:4])),
    "answer too long": packed(changed(1, [*ANSWER, 1])),
    "answer a number": packed(changed(1, 1)),
    "answer a text": packed(changed(1, "yes")),
    "features a number": packed(changed(1, ["yes", 1, *ANSWER[2:]])),
    "two in one": packed(REPLY) + packed(REPLY),
    "more bytes": packed(REPLY) + b"\0",
    "no message": b"\xc1",
    "longer than a message may be": packed([*REPLY, bytes(1 << 17)]),
}


@pytest.mark.parametrize("kind", WRONG)
def test_anything_else_is_none(connected: tuple[Link, socket.socket], kind: str) -> None:
    link, theirs = connected
    ask(link, SEQUENCE)
    theirs.send(WRONG[kind])

    with pytest.raises(WrongReply):
        link.reply(WAIT_NS)
    assert link.asked == SEQUENCE


def test_reply_that_is_cut_anywhere_is_none(connected: tuple[Link, socket.socket]) -> None:
    link, theirs = connected
    whole = packed(REPLY)
    ask(link, SEQUENCE)
    for length in range(1, len(whole)):
        theirs.send(whole[:length])
        with pytest.raises(WrongReply):
            link.reply(WAIT_NS)
    theirs.send(whole)

    assert link.reply(WAIT_NS) is not None


def test_second_copy_of_a_reply_shows_that_the_worker_cannot_be_used(connected: tuple[Link, socket.socket]) -> None:
    link, theirs = connected
    ask(link, SEQUENCE)
    theirs.send(packed(REPLY))
    theirs.send(packed(REPLY))
    assert link.reply(WAIT_NS) is not None

    assert not link.lives()


def test_second_copy_of_a_reply_that_comes_late_is_not_the_next_item_s(connected: tuple[Link, socket.socket]) -> None:
    link, theirs = connected
    ask(link, SEQUENCE)
    theirs.send(packed(REPLY))
    assert link.reply(WAIT_NS) is not None
    ask(link, SEQUENCE + 1)
    theirs.send(packed(REPLY))

    with pytest.raises(WrongReply):
        link.reply(WAIT_NS)


def test_late_reply_is_taken_for_its_own_item_only(connected: tuple[Link, socket.socket]) -> None:
    link, theirs = connected
    ask(link, SEQUENCE)
    assert link.reply(0) is None
    theirs.send(packed(REPLY))
    assert link.asked == SEQUENCE

    late = link.reply(0)

    assert late is not None
    assert late.sequence == SEQUENCE
    assert link.reply(0) is None


@pytest.mark.parametrize("message", [READY * 2, b"?", b"", packed(REPLY)])
def test_worker_is_ready_only_if_it_says_so(connected: tuple[Link, socket.socket], message: bytes) -> None:
    link, theirs = connected
    theirs.send(message)

    assert not link.is_ready(WAIT_NS)
    theirs.send(READY)
    assert link.is_ready(WAIT_NS)


def test_link_in_a_forked_process_ends_no_worker(connected: tuple[Link, socket.socket]) -> None:
    link, _ = connected
    forked = os.fork()
    if forked == 0:
        link.kill()
        os._exit(0)

    assert os.waitpid(forked, 0)[1] == 0
    assert link.lives()
    assert os.waitpid(link.pid, os.WNOHANG) == (0, 0)


def test_process_that_a_feature_forks_does_not_reply(bundle_folder: Path, world: World, block: SharedBlock) -> None:
    """Also where its memory is no obstacle, as under an emulator: here it has all of the worker's."""
    predictor = Predictor.load(bundle_folder, world.space, seams=Seams(clock=world.clock))
    world.results["ends"] = lambda _: [os.fork(), 0, 0]
    header = write_item(np.arange(10.0), block.item)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    slot = block.slot(1)
    with ours, theirs:
        for sequence in (1, 2):
            theirs.send(msgpack.packb((sequence, 0, None, Told(), (), None, header)))
        pid = os.fork()
        if pid == 0:
            theirs.close()
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            answering: Any = Worker(predictor, ToldSlowdown(), None)  # type: ignore[arg-type]
            try:
                serve(ours, answering, block.item, slot.words)
            finally:
                os._exit(0)
        ours.close()
        messages = []
        for _ in range(3):
            messages.append(theirs.recv(1 << 16))
        assert not select.select([theirs], [], [], 0.05)[0]
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    assert messages[0] == READY
    assert [msgpack.unpackb(message)[0] for message in messages[1:]] == [1, 2]
