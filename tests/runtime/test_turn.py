"""One caller at a time: a second one is refused, and so are copies; each thread with its own predictor is right."""

import copy
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Predictor, PredictorInUseError, Seams, load_bundle
from polydom_runtime.clock import hardware_clock
from tests.bundle_parts import changed

from .conftest import World, make_bundle, write
from .node_space import space

ITEM = np.arange(10.0)
ALL = ("mean", "spread", "ends")
EVER_S = 300.0

CALLS: dict[str, Callable[[Predictor], object]] = {
    "predict_one": lambda predictor: predictor.predict_one(ITEM),
    "predict_one, waited": lambda predictor: predictor.predict_one(ITEM, arrived_ns=0),
    "rehearse_with": lambda predictor: predictor.rehearse_with(ITEM),
    "warm_up": lambda predictor: predictor.warm_up(ITEM),
    "explain": lambda predictor: predictor.explain(ITEM),
}


@pytest.fixture
def predictor(bundle_folder: Path, world: World) -> Predictor:
    return Predictor.load(bundle_folder, world.space, seams=Seams(clock=world.clock))


@contextmanager
def at_work(predictor: Predictor, world: World) -> Iterator[None]:
    """Let another thread be in the middle of an item."""
    begun, over, answers = Event(), Event(), []

    def wait(x: np.ndarray) -> list[float]:
        if not begun.is_set():
            begun.set()
            assert over.wait(EVER_S)
        return [0.0, 0.0, 0.0]

    world.results["ends"] = wait
    thread = Thread(target=lambda: answers.append(predictor.predict_one(ITEM)))
    thread.start()
    assert begun.wait(EVER_S)
    try:
        yield
    finally:
        over.set()
        thread.join()
        del world.results["ends"]
    assert answers[0][:2] == ("yes", ALL)


@pytest.mark.parametrize("call", CALLS)
def test_second_thread_is_refused_and_the_first_answer_is_right(predictor: Predictor, world: World, call: str) -> None:
    with at_work(predictor, world), pytest.raises(PredictorInUseError, match=r"threading\.local"):
        CALLS[call](predictor)

    assert predictor.predict_one(ITEM).features == ALL


def test_slack_is_refused_to_a_second_thread(bundle_folder: Path, world: World) -> None:
    predictor = Predictor.load(bundle_folder, world.space, seams=Seams(clock=world.clock))
    for _ in range(200):
        predictor.predict_one(ITEM)

    with at_work(predictor, world), pytest.raises(PredictorInUseError):
        predictor.use_slack(1.0)


@pytest.mark.parametrize("call", CALLS)
def test_feature_that_calls_its_own_predictor_fails(predictor: Predictor, world: World, call: str) -> None:
    world.results["ends"] = lambda _: CALLS[call](predictor)

    answer = predictor.predict_one(ITEM)

    assert (answer.features, answer.reason) == (("mean", "spread"), "ends failed")
    assert answer.error.startswith("ends: PredictorInUseError: ")
    del world.results["ends"]
    assert predictor.predict_one(ITEM).features == ALL


@pytest.mark.parametrize("call", CALLS)
def test_turn_ends_when_a_signal_interrupts(predictor: Predictor, world: World, call: str) -> None:
    world.results["ends"] = lambda _: signal.raise_signal(signal.SIGINT)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in the background

    try:
        with pytest.raises(KeyboardInterrupt):
            CALLS[call](predictor)
    finally:
        signal.signal(signal.SIGINT, before)

    del world.results["ends"]
    assert predictor.predict_one(ITEM).features == ALL
    assert predictor.causes.counts == {}  # muted in a rehearsal only


def test_turn_ends_at_whichever_instant_a_signal_interrupts(predictor: Predictor) -> None:
    """A timer interrupts a thousand calls, anywhere."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        while interrupted < 1000:
            try:
                signal.setitimer(signal.ITIMER_REAL, 20e-6 + 1e-7 * interrupted)
                for _ in range(10_000):  # an interrupt is lost in a callback of the garbage collector
                    predictor.predict_one(ITEM)
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert predictor.predict_one(ITEM).features == ALL


def test_forked_process_may_use_a_predictor_without_workers(predictor: Predictor) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(predictor.predict_one(ITEM).features != ALL)

    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_and_pickles_are_refused(predictor: Predictor, duplicate: Callable[[Any], Any]) -> None:
    with pytest.raises(PredictorInUseError, match=r"A Predictor cannot be copied or pickled. Make one in each thread"):
        duplicate(predictor)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickle.dumps])
def test_copies_of_what_holds_a_predictor_are_refused(predictor: Predictor, duplicate: Callable[[Any], Any]) -> None:
    with pytest.raises(PredictorInUseError):
        duplicate({"node": [predictor.predict_one]})


def test_threads_with_a_predictor_each_of_one_bundle_answer_as_one_alone(tmp_path: Path) -> None:
    """Models, rows and kernels are not shared, even if the loaded bundle is."""
    made, models = make_bundle()
    bundle = load_bundle(write(tmp_path / "b", changed(made, budgets=(1e-3, 400.0)), models))
    items = [np.arange(n, dtype=float) for n in range(1, 400)]
    together = Barrier(4)

    def answers(_: int) -> list[Any]:
        predictor = Predictor(bundle, space, deadline=400.0, seams=Seams(clock=hardware_clock, adapt=False))
        together.wait(EVER_S)
        return [predictor.predict_one(item)[:3] for item in items]

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(answers, range(4))

    assert others == [first] * 3
