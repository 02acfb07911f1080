"""A supervised predictor has one caller at a time, in the process that made it; copies are refused."""

import copy
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from polydom_runtime import PredictorInUseError
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from polydom_runtime.supervision.worker import Link, Reply
from tests.runtime import supervised_space as faults

from .test_supervisor import ALL, DEADLINE_S, EVER_S, SPACE, answer_by_worker, item, make_folder, supervised

CALLS: dict[str, Callable[[SupervisedPredictor], object]] = {
    "predict_one": lambda predictor: predictor.predict_one(item()),
    "predict_one, waited": lambda predictor: predictor.predict_one(item(), arrived_ns=0),
    "rehearse": lambda predictor: predictor.rehearse(),
    "use_slack": lambda predictor: predictor.use_slack(1.0),
    "warm_up": lambda predictor: predictor.warm_up(item()),
    "explain": lambda predictor: predictor.explain(item()),
}


class Gate:
    """Keeps a caller waiting for its reply while it is shut."""

    def __init__(self) -> None:
        self.reached, self.opened = Event(), Event()
        self.opened.set()
        self.interrupts = False

    def reply(self, link: Link, nanoseconds: int) -> Reply | None:
        self.reached.set()
        assert self.opened.wait(EVER_S)
        if self.interrupts:
            self.interrupts = False
            signal.raise_signal(signal.SIGINT)
        return faults.reply_unless_hung(link, nanoseconds)


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate()


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory, gate: Gate) -> Iterator[SupervisedPredictor]:
    with supervised(tmp_path_factory.mktemp("one") / "b", gate.reply) as shared:
        yield shared


@pytest.mark.parametrize("call", CALLS)
def test_second_thread_is_refused_and_costs_no_worker(predictor: SupervisedPredictor, gate: Gate, call: str) -> None:
    answer_by_worker(predictor)
    restarts, answers = predictor.restarts, []
    gate.reached.clear()
    gate.opened.clear()
    thread = Thread(target=lambda: answers.append(predictor.predict_one(item())))
    thread.start()
    assert gate.reached.wait(EVER_S)
    try:
        with pytest.raises(PredictorInUseError, match=r"threading\.local"):
            CALLS[call](predictor)
    finally:
        gate.opened.set()
        thread.join()

    assert answers[0][:2] == ("yes", ALL)
    assert predictor.predict_one(item())[:2] == ("yes", ALL)
    assert predictor.restarts == restarts


def test_turn_ends_when_a_signal_interrupts(predictor: SupervisedPredictor, gate: Gate) -> None:
    """The reply that nobody waits for any more is not the next item's."""
    answer_by_worker(predictor)
    gate.interrupts = True
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in the background

    try:
        with pytest.raises(KeyboardInterrupt):
            predictor.predict_one(item(faults.RAISES))
    finally:
        signal.signal(signal.SIGINT, before)

    assert predictor.predict_one(item())[:2] == ("yes", ALL)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_and_pickles_are_refused(predictor: SupervisedPredictor, duplicate: Callable[[Any], Any]) -> None:
    with pytest.raises(PredictorInUseError, match=r"A SupervisedPredictor cannot be copied or pickled. Make one in"):
        duplicate(predictor)

    assert answer_by_worker(predictor).features == ALL


@pytest.mark.parametrize("call", CALLS)
def test_forked_process_is_refused(predictor: SupervisedPredictor, call: str) -> None:
    answer_by_worker(predictor)
    worker = predictor.worker_pid
    pid = os.fork()
    if pid == 0:
        try:
            CALLS[call](predictor)
        except PredictorInUseError:
            os._exit(0)
        finally:
            os._exit(1)

    assert os.waitpid(pid, 0)[1] == 0
    assert predictor.predict_one(item())[:2] == ("yes", ALL)
    assert predictor.worker_pid == worker


ENDS = """
import os, sys
import numpy
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from tests.runtime.supervised_space import reply_unless_hung

def main():
    predictor = SupervisedPredictor(FOLDER, SPACE, deadline=DEADLINE_S, reserve=60.0, reply=reply_unless_hung)
    item = numpy.arange(100.0)
    while not (answer := predictor.predict_one(item)).features:
        pass
    nursery, worker = predictor.nursery_pid, predictor.worker_pid
    pid = os.fork()
    if pid == 0:
        HOW
        return
    assert os.waitpid(pid, 0)[1] == 0
    assert predictor.predict_one(item)[:3] == answer[:3]
    assert (predictor.nursery_pid, predictor.worker_pid, predictor.restarts) == (nursery, worker, 0)
    predictor.close()

main()
"""


@pytest.mark.parametrize("how", ["sys.exit(0)", "predictor.close()", "del predictor", "predictor.__exit__(None)"])
def test_end_of_a_forked_process_ends_no_worker(tmp_path: Path, how: str) -> None:
    """In whichever way it ends, with all its finalizers."""
    names = {"FOLDER": str(make_folder(tmp_path / "b")), "SPACE": SPACE, "DEADLINE_S": DEADLINE_S}
    program = "\n".join(f"{name} = {value!r}" for name, value in names.items()) + ENDS.replace("HOW", how)

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=EVER_S)

    assert (done.returncode, done.stderr) == (0, "")


def test_predictor_answers_on_after_it_is_closed_in_another_thread(tmp_path: Path) -> None:
    gate = Gate()
    with supervised(tmp_path / "b", gate.reply) as own:
        answer_by_worker(own)
        answers = []
        gate.reached.clear()
        gate.opened.clear()
        thread = Thread(target=lambda: answers.append(own.predict_one(item())))
        thread.start()
        assert gate.reached.wait(EVER_S)
        own.close()
        gate.opened.set()
        thread.join()
        answers.append(own.predict_one(item()))

    assert {answer.label for answer in answers} <= {"no", "yes"}
    assert [answer.reason.startswith("supervised: ") for answer in answers] == [True, True]
