"""Hostile features, supervised: no answer of another item, no exception, and none lost.

Where a fault ends by itself the deadline is minutes; else it is short, and only facts are asserted that hold however
busy the machine is.
"""

import os
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest

from polydom_runtime.supervision import keeper
from polydom_runtime.supervision.shared_block import ALIVE_UNTIL, NO_STAGE
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from polydom_runtime.supervision.worker import Link
from tests.draws import draws
from tests.runtime.conftest import write
from tests.runtime.hostile_space import FAULTS, HANG, LARGEST, LATE_S, OF_NURSERY, SPACE, item, make_bundle

from .hostile_run import run
from .test_supervisor import EVER_S, wait_until

ALL = ("number", "hostile")
NO_REPLY = "supervised: the worker sent what is no reply"
DIED = "supervised: the worker died"

GOES_ON = ("fork", "fork, late", "fork in C", "fork, raise")
"""Faults after which the worker answers as if nothing was."""

FOR_GOOD = "memory exhausted for good"

REASONS = {
    **dict.fromkeys(GOES_ON, "planned"),
    **dict.fromkeys(("other bytes", "many bytes", "earlier reply", "later replies", "long reply"), NO_REPLY),
    **dict.fromkeys(("exhausted memory", "sys.exit", "raise"), "hostile failed"),
}
"""How an answer ends by the fault of its item; a worker dies of all others."""


def supervised(tmp_path_factory: pytest.TempPathFactory, deadline_s: float) -> SupervisedPredictor:
    folder = write(tmp_path_factory.mktemp("hostile") / "b", *make_bundle(deadline_s))
    return SupervisedPredictor(folder, SPACE, deadline=deadline_s, reserve=deadline_s / 8, item_bytes=1 << 20)


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SupervisedPredictor]:
    with supervised(tmp_path_factory, 400.0) as shared:
        yield shared


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SupervisedPredictor]:
    with supervised(tmp_path_factory, 0.05) as shared:
        yield shared


def answer_all(predictor: SupervisedPredictor) -> None:
    """Answer items by the prior or as their own, until one is answered by all features."""
    end, number = time.monotonic() + EVER_S, 0
    while True:
        number = number % LARGEST + 1
        answer = predictor.predict_one(item(number))
        assert answer.label == (number if answer.features else 0)
        if answer.features == ALL:
            return
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - HANG - OF_NURSERY - {FOR_GOOD}))
def test_hostile_feature_costs_only_itself(patient: SupervisedPredictor, fault: str) -> None:
    """Twice, and with items after it: their answers are their own, also if something of the fault comes late."""
    for number in (10, 20):
        answer_all(patient)
        answer = patient.predict_one(item(number, fault))

        assert answer.reason.startswith(REASONS.get(fault, DIED))
        is_believed = REASONS.get(fault) != NO_REPLY
        assert answer.label == (number if is_believed else 0)
        by_itself = (ALL,) if fault in GOES_ON else (ALL, ("number",))  # it may be done by then
        assert answer.features in (by_itself if is_believed else ((),))
        for other in range(1, 6):
            after = patient.predict_one(item(other))
            assert (after.label, after.features) == (other, ALL)
            if "late" in fault or "in C" in fault:
                time.sleep(LATE_S / 2)
    assert patient.out == frozenset()


def test_worker_without_memory_answers_with_what_it_has_or_ends(patient: SupervisedPredictor) -> None:
    """It needs none for some items."""
    answer_all(patient)
    answers = [patient.predict_one(item(10, FOR_GOOD))]
    answers += [patient.predict_one(np.array([0.0, 10.0] + [0.0] * 10 * k)) for k in range(20)]

    assert {answer.label for answer in answers} <= {10, 0}
    answer_all(patient)


@pytest.mark.parametrize("fault", GOES_ON)
def test_feature_that_forks_costs_no_worker(patient: SupervisedPredictor, fault: str) -> None:
    answer_all(patient)
    worker = patient.worker_pid
    for number in range(1, 4):
        assert patient.predict_one(item(number, fault)).label == number
        time.sleep(LATE_S)

    assert patient.worker_pid == worker


@pytest.mark.parametrize("fault", sorted(HANG))
def test_hostile_feature_that_hangs_costs_only_itself(brief: SupervisedPredictor, fault: str) -> None:
    for number in (10, 20):
        answer_all(brief)
        answer = brief.predict_one(item(number, fault))

        assert answer.label == (number if answer.features else 0)
        answer_all(brief)


def test_items_with_any_fault_get_their_own_answers(brief: SupervisedPredictor) -> None:
    """In some hundred items; ``python -m tests.runtime.supervision.hostile_run 100000`` does it with more."""
    n_items = draws(400, 4000)

    fates = run(brief, n_items)

    assert {fate for fate in fates if fate.startswith(("wrong", "raised", "lost"))} == set()
    assert fates["own"] + fates["prior"] == n_items


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "LOOK_FOR_LIFE_NS", 20_000_000)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("then", ["idle", "workers gone"])
def test_nursery_that_is_stopped_is_replaced(tmp_path_factory: pytest.TempPathFactory, then: str) -> None:
    """It has missed its time when the test says so; how long that is, is not tested."""
    with supervised(tmp_path_factory, 400.0) as predictor:
        answer_all(predictor)
        nursery, words = predictor.nursery_pid, predictor._keeper._words
        os.kill(nursery, signal.SIGSTOP)
        if then == "workers gone":
            predictor.predict_one(item(1, "crash"))
        words[ALIVE_UNTIL] = 1

        wait_until(lambda: predictor.nursery_pid not in (0, nursery))
        answer_all(predictor)
        assert predictor.nursery_restarts == 1
        assert predictor._keeper.causes.counts == {"the start of a worker": 1}


@pytest.mark.usefixtures("soon")
def test_nursery_that_is_stopped_while_it_starts_again_is_replaced(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with supervised(tmp_path_factory, 400.0) as predictor:
        answer_all(predictor)
        first, words = predictor.nursery_pid, predictor._keeper._words
        monkeypatch.setattr(keeper, "START_NS", 1)  # it is late at once
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: predictor.nursery_pid not in (0, first))
        second = predictor.nursery_pid
        monkeypatch.undo()

        wait_until(lambda: predictor.nursery_pid not in (0, first, second))
        answer_all(predictor)
        assert words[ALIVE_UNTIL] > 1


def test_nursery_that_lives_says_so_again_and_again(patient: SupervisedPredictor) -> None:
    answer_all(patient)
    words = patient._keeper._words
    before = words[ALIVE_UNTIL]

    wait_until(lambda: words[ALIVE_UNTIL] > before)
    assert patient._keeper.causes.counts == {}


@pytest.mark.parametrize(
    "words", [(-1, -1, -1, -1), (1 << 40, 1 << 62, 0, 0), (0, 1 << 40, 0, 1 << 40), (0, -5, 0, -5), (0, NO_STAGE, 0, 3)]
)
def test_nonsense_of_a_broken_worker_about_its_work_is_no_answer(
    patient: SupervisedPredictor, words: tuple[int, ...]
) -> None:
    answer_all(patient)
    link = patient._link
    assert link is not None
    link.slot.words[:4] = words
    link.slot.values[:] = 55.0

    label = patient._fallback.prepare(link, 1 << 62, [], 1.0)[1]
    patient._lose(link)

    assert label == 0
    answer_all(patient)


def test_worker_that_goes_on_is_ended_for_the_model_that_it_was_in(
    patient: SupervisedPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be in another one, or in none, when it is looked at again."""
    answer_all(patient)
    link, looks = patient._link, iter([1, 1])
    assert link is not None
    monkeypatch.setattr(Link, "model", property(lambda _: next(looks)))
    before = patient.causes.counts.get("the model 0001.onnx", 0)

    assert patient._stages.within(link) == " in the model 0001.onnx"
    patient._lose(link)

    monkeypatch.undo()
    assert patient.causes.counts["the model 0001.onnx"] == before + 1
    answer_all(patient)
