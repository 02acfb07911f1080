"""Work that holds up the loop waits for the loop's spare time."""

import sys
from threading import Event, Thread

import pytest

from polydom_runtime.delivery.background import OPENING_S, Pace, yielding


def test_waits_for_an_offer_of_enough_time() -> None:
    pace, done = Pace(60.0), Event()

    def work() -> None:
        pace.wait(0.01)
        done.set()

    thread = Thread(target=work)
    thread.start()
    for _ in range(100):
        pace.offer(0.005)
    early = done.is_set()
    while not done.is_set():
        pace.offer(0.01)
    thread.join()

    assert not early


def test_offer_without_anybody_who_waits_is_gone() -> None:
    pace = Pace(0.0)
    pace.offer(1.0)
    pace.wait(0.5)

    assert pace._left == 0.0


def test_each_wait_needs_an_offer_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    pace, offers = Pace(60.0), []

    def offer_instead_of_waiting(most: float) -> bool:
        offers.append(0.01)
        pace.offer(offers[-1])
        return True

    monkeypatch.setattr(pace._told, "wait", offer_instead_of_waiting)
    pace.wait(0.01)
    pace.wait(0.01)

    assert len(offers) == 2


def test_does_not_wait_for_ever() -> None:
    pace = Pace(0.0)
    pace.wait(1e9)

    assert not pace._wanted


def test_larger_models_need_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    pace = Pace(0.0)
    monkeypatch.setattr(pace, "wait", asked.append)

    pace.before_opening(0)
    pace.before_opening(1_000_000)

    assert asked[0] == OPENING_S < asked[1]


def test_threads_take_turns_quickly_within_the_block_only() -> None:
    before = sys.getswitchinterval()
    with yielding():
        within = sys.getswitchinterval()

    assert within < sys.getswitchinterval() == before
