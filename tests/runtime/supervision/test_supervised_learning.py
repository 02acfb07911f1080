"""What a supervised node learns, and the promise that it keeps: both survive the death of workers and nurseries.

The deadline is minutes, and what a feature seems to take is written into the replies of workers. So no test depends on
the time that anything takes.
"""

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import REGIMES, BundleTimes
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.clock import hardware_clock
from polydom_runtime.costs import CostFunction
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.learning import learner
from polydom_runtime.learning.learned_file import load_learned
from polydom_runtime.learning.learned_times import AFTER, BEFORE, LearnedRow
from polydom_runtime.learning.margin import DEBT, MOST, Margin
from polydom_runtime.learning.unit_history import Change
from polydom_runtime.policy.loaded_models import UNTIMED
from polydom_runtime.supervision import supervisor
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from polydom_runtime.supervision.worker import Link, Reply
from polydom_runtime.supervision.worker_times import WorkerTimes, with_hand_over
from tests.bundle_parts import changed, with_regimes
from tests.runtime import supervised_space as faults
from tests.runtime.conftest import make_bundle, write
from tests.runtime.model_faults import switch

from .test_supervisor import (
    ALL,
    DEADLINE_S,
    EVER_S,
    MARGIN_S,
    SPACE,
    answer_by_worker,
    item,
    kept,
    make_folder,
    restart_nursery,
    supervised,
    wait_until,
)

FEW = ("mean", "spread")
LONG_S, SLACK_S = 1000.0, 100_000.0
"""Longer than the deadline, and than all work in slack is expected to take."""

HAND_OVERS: Any = {"hot": 1.0, "rehearsed": 2.0, "cold": 3.0}


class Replies:
    """Replies of workers in which a feature, `ends`, seems to take some seconds longer; they can be held back.

    `ratio`: by how much whole answers seem to take longer than typical.
    """

    def __init__(self, seconds: float = 0.0, ratio: float = 1.0, feature: int = 2) -> None:
        self.seconds, self.ratio, self.feature, self.held = seconds, ratio, feature, False

    def __call__(self, link: Link, nanoseconds: int) -> Reply | None:
        reply = None if self.held else faults.reply_unless_hung(link, nanoseconds)
        if reply is None or reply.seen is None or self.feature not in reply.started:
            return reply
        end = reply.started.index(self.feature) + 2
        marks = [mark + int(1e9 * self.seconds) * (k >= end) for k, mark in enumerate(reply.marks)]
        return reply._replace(marks=marks, ratio=self.ratio, seen=("hot", UNTIMED, []))


class Clock:
    """The clock of the supervisor, which a test can set forward."""

    def __init__(self) -> None:
        self.more_ns = 0

    def __call__(self) -> int:
        return hardware_clock() + self.more_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(supervisor, "hardware_clock", clock)
    return clock


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SupervisedPredictor]:
    """One for all tests that leave nothing behind that matters to others."""
    with supervised(tmp_path_factory.mktemp("shared") / "b") as shared:
        yield shared


def learn_until(own: SupervisedPredictor, features: tuple[str, ...]) -> Any:
    """Answer items, by pairs since the second one finds warm code, and use slack, until a worker has these features."""

    def answers() -> bool:
        own.predict_one(item())
        answer = own.predict_one(item())
        own.use_slack(SLACK_S)
        return answer.features == features and not answer.reason.startswith("supervised")

    wait_until(answers)


def answer_and_learn_until(own: SupervisedPredictor, holds: Callable[[], bool]) -> None:
    def held() -> bool:
        own.predict_one(item())
        own.use_slack(SLACK_S)
        return holds()

    wait_until(held)


def late(own: SupervisedPredictor, clock: Clock, seconds: float) -> Any:
    """Return the answer to an item on which the supervisor itself loses some seconds while the worker computes."""
    reply = own._reply

    def lose(link: Link, nanoseconds: int) -> Reply | None:
        clock.more_ns += int(1e9 * seconds)
        return reply(link, nanoseconds)

    own._reply = lose
    try:
        return own.predict_one(item())
    finally:
        own._reply = reply


def asked_with(own: SupervisedPredictor) -> tuple[float, float]:
    """Return by what a worker divided the time left, and by what the supervisor wanted it to."""
    answer_by_worker(own)
    wanted = own.slowdown * own.margin.value
    return own.predict_one(item()).slowdown, wanted


def kill_worker(own: SupervisedPredictor) -> None:
    worker = own.worker_pid
    assert worker
    os.kill(worker, signal.SIGKILL)
    answer_by_worker_of(own, lambda: own.worker_pid not in (0, worker))


def answer_by_worker_of(own: SupervisedPredictor, holds: Callable[[], bool]) -> None:
    wait_until(lambda: not own.predict_one(item()).reason.startswith("supervised") and holds())


def test_worker_that_is_late_makes_no_answer_late(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)
    predictor._experience.margin = Margin(predictor.bundle.promise.late, 2.0)

    answer = predictor.predict_one(item(faults.STEPS_ASIDE))

    assert answer.reason == "supervised: ends was not done in time"
    assert answer.deadline_met
    assert (predictor.margin.late, predictor.margin.paused) == (0, 0)
    assert 1.0 < predictor.margin.value < 2.0


def test_supervisor_keeps_more_time_for_an_answer_of_its_own_too(tmp_path: Path) -> None:
    """Twice the ten seconds that a model takes. A feature may take a second, so that no machine is too slow for it."""
    bundle = wide_bundle()
    models = tuple(model._replace(seconds=10.0) for model in bundle.models)
    slow = changed(bundle, costs=(CostFunction.of(1.0),) * len(bundle.names), models=models)
    asked_s: list[float] = []

    def reply(link: Link, nanoseconds: int) -> Reply | None:
        asked_s.append(nanoseconds * 1e-9)
        return faults.reply_unless_hung(link, nanoseconds)

    with own_predictor(write(tmp_path / "b", slow, make_bundle()[1]), reply) as own:
        own.margin.value, prepare, slowdowns = 2.0, own._fallback.prepare, list[float]()

        def note(*given: Any) -> Any:
            slowdowns.append(given[-1])
            return prepare(*given)

        vars(own._fallback)["prepare"] = note
        answer = own.predict_one(item(faults.STEPS_ASIDE))

    assert answer.reason == "supervised: ends was not done in time"
    assert 0.0 <= DEADLINE_S - 2 * MARGIN_S - 20.0 - asked_s[0] <= answer.elapsed_ns * 1e-9
    assert slowdowns == [2.0]


def test_late_answer_raises_the_margin_by_which_all_workers_plan(tmp_path: Path, clock: Clock) -> None:
    with supervised(tmp_path / "b") as own:
        answer_by_worker(own)
        answer = late(own, clock, DEADLINE_S + 1.0)
        raised = own.margin.value
        told = [asked_with(own)]
        kill_worker(own)
        told.append(asked_with(own))

    assert not answer.deadline_met
    assert (own.margin.late, own.margin.paused) == (1, 0)
    # A few answers in time were saved before, each a small share of a late one.
    assert raised == pytest.approx(MOST ** ((1.0 - own.bundle.promise.late) / DEBT) ** 2, rel=0.02)
    for slowdown, expected in told:
        assert slowdown == expected > 1.03


def test_slowdown_is_told_to_all_workers_until_plans_hold_it(tmp_path: Path) -> None:
    replies = Replies(ratio=3.0)
    with supervised(tmp_path / "b", replies) as own:
        for _ in range(5):
            answer_by_worker(own)
        assert own.slowdown == 3.0
        kill_worker(own)
        assert asked_with(own) == (3.0, 3.0)

        replies.seconds, worker = LONG_S, own.worker_pid
        answer_and_learn_until(own, lambda: own.worker_pid != worker)
        assert own.slowdown == 1.0


@pytest.mark.parametrize("waited", [False, True])
def test_pause_does_not_move_the_margin(tmp_path: Path, clock: Clock, waited: bool) -> None:
    with supervised(tmp_path / "b") as own:
        answer_by_worker(own)
        if waited:
            answer = own.predict_one(item(), arrived_ns=clock() - int(2e9 * DEADLINE_S))
        else:
            answer = late(own, clock, 3.0 * DEADLINE_S)

    assert not answer.deadline_met
    assert (own.margin.value, own.margin.late, own.margin.paused) == (1.0, 0, 1)


def test_after_a_late_answer_workers_plan_by_worst_cases_until_one_more_may_be_late(
    tmp_path: Path, clock: Clock
) -> None:
    """In the worst case a feature takes longer than the deadline. A worker that takes over is told the same."""
    folder = write(tmp_path / "b", with_worst(LONG_S), make_bundle()[1])
    with own_predictor(folder, faults.reply_unless_hung, runs=(1, 4)) as own:
        before = answer_by_worker(own)
        answer = late(own, clock, DEADLINE_S + 1.0)
        careful = own.predict_one(item())
        assert own.runs is not None
        assert own.runs.careful
        os.kill(own.worker_pid, signal.SIGKILL)
        answer_by_worker(own, FEW if own.runs.careful else ALL)
        answer_by_worker(own)

    assert (before.features, answer.deadline_met, careful.features) == (ALL, False, FEW)
    assert (own.runs.broken, own.runs.worst) == (0, 1)


def test_impossible_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeadlineError):
        SupervisedPredictor(make_folder(tmp_path / "b"), SPACE, deadline=DEADLINE_S, runs=(3, 2))


def test_worker_with_a_plan_for_learned_times_takes_over(tmp_path: Path) -> None:
    """A feature that takes longer than the deadline is not planned any more, by this worker and those after it."""
    with supervised(tmp_path / "b", Replies(LONG_S)) as own:
        answer_by_worker(own)
        first = own.worker_pid
        learn_until(own, FEW)
        second, restarts = own.worker_pid, own.restarts
        kill_worker(own)
        after_death = answer_by_worker(own, FEW)
        restart_nursery(own)
        answer_by_worker_of(own, lambda: own._keeper.plan > 0 and own._keeper._ready.qsize() > 0)
        own.use_slack(1e-6)  # too short to learn
        after_restart = answer_by_worker(own, FEW)

    assert second != first
    assert restarts == 0
    assert after_death.reason == after_restart.reason == "planned"


def test_what_the_supervisor_learned_is_told_and_explains_its_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with supervised(tmp_path / "b", Replies(LONG_S)) as own:
        answer_by_worker(own)
        shipped, before = own.explain(item()), own.learning()
        learn_until(own, FEW)
        own.use_slack(SLACK_S)
        found, explained = own.learning(), own.explain(item())

    assert (before.had_slack, before.moved, shipped.learned) == (False, (), None)
    (moved,) = [one for one in found.moved if one.unit == "ends"]
    assert (found.plans > 0, moved.since is not None, moved.ratio > 1000.0) == (True, True, True)
    assert explained.learned is not None
    assert explained.learned >= found.answers
    # By a worker that still has the old plan, `ends` is computed.
    assert "ends" in {*explained.answer.features, *(name for one in explained.better for name in one.features)}
    assert all(one.lacks_ns > 0 for one in explained.better)
    assert any(message.startswith("times changed here (hot): ends ") for message in caplog.messages)


def test_workers_begin_with_what_was_learned_before(tmp_path: Path) -> None:
    """By workers, and by a process without them: without any slack, the first answer knows it."""
    with supervised(tmp_path / "b", Replies(LONG_S)) as own:
        answer_by_worker(own)
        learn_until(own, FEW)
        own.save_learned(tmp_path / "pi.learned", period=0.1)
    bundle = load_bundle(tmp_path / "b")
    kept = load_learned(tmp_path / "pi.learned", bundle)
    assert kept.learned.by_worker
    assert "every 100 ms; by workers" in kept.note

    took = {"mean": 0.0, "spread": 0.0, "ends": LONG_S}
    rows = tuple(LearnedRow(regime, name, 1.0, s, 40, max(s, 1e-5)) for regime in REGIMES for name, s in took.items())
    before = replace(kept.learned, rows=rows, margin=2.0)
    for learned, margin in ((before, 2.0), (replace(before, by_worker=False), 1.0)):
        with own_predictor(bundle, faults.reply_unless_hung, learned=learned) as own:
            assert (own.learned, own.margin.value) == (learned, margin)
            answer_by_worker(own, FEW)
            assert own.learning().moved[0].since == 0
            assert own.explain(item()).learned is not None
            own.use_slack(SLACK_S)
            assert own._keeper.planned == len(REGIMES)  # nothing is planned anew


def test_nothing_is_planned_anew_while_times_are_as_shipped(tmp_path: Path) -> None:
    with supervised(tmp_path / "b", Replies()) as own:
        answer_by_worker(own)
        for _ in range(60):
            own.predict_one(item())
            own.use_slack(SLACK_S)
        worker = own.worker_pid

        assert own._experience.learner is not None
        assert own.learning().answers >= 60
        assert (own._experience.learner.n_plans, own._keeper.plan) == (0, 0)
        assert own.predict_one(item()).features == ALL
        assert own.worker_pid == worker


def test_reply_that_came_too_late_is_learned_from(tmp_path: Path) -> None:
    replies = Replies(LONG_S)
    with supervised(tmp_path / "b", replies) as own:
        answer_by_worker(own)
        own.use_slack(SLACK_S)
        before = own.learning().answers
        replies.held = True
        answer = own.predict_one(item())
        link = own._link
        assert link is not None
        wait_until(lambda: not link.lives())  # the reply is there
        replies.held = False
        own.use_slack(SLACK_S)

        assert "was not done in time" in answer.reason
        assert own.learning().answers == before + 1
        assert own._experience.learner is not None
        assert own._experience.learner.times.expected_ns(("hot", "ends"), 100.0) >= 0.0
        assert own.predict_one(item()).features == ALL
        assert own.restarts == 0


def test_feature_that_is_quicker_than_shipped_is_found_by_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its model is loaded for the new plan: no plan before could reach it."""
    try_at_once(monkeypatch)
    with own_predictor(with_slow_ends(tmp_path), faults.reply_unless_hung) as own:
        answer_by_worker(own, FEW)
        assert 2 not in own._keeper.models
        learn_until(own, ALL)

        assert own._experience.learner is not None
        assert own._experience.learner.n_tried >= 3
        assert own.restarts == own.nursery_restarts == 0


def test_model_that_only_a_new_plan_asks_for_cannot_end_the_nursery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Later plans do without it."""
    try_at_once(monkeypatch)
    monkeypatch.setenv(*switch(at_load=faults.CRASHES))
    replies = Replies(feature=1)
    said: list[str] = []

    def refused() -> bool:
        said.append(capfd.readouterr().err)
        return "The model 0002.onnx hangs or crashes." in "".join(said)

    with own_predictor(with_slow_ends(tmp_path), replies, "tests.runtime.model_faults:space") as own:
        answer_by_worker(own, FEW)
        answer_and_learn_until(own, refused)
        kill_worker(own)

        assert answer_by_worker(own, FEW).reason == "planned"
        assert own._keeper.plan == 0
        replies.seconds = DEADLINE_S / 4
        answer_and_learn_until(own, lambda: own._keeper.plan > 0)
        said.append(capfd.readouterr().err)
        assert "".join(said).count("hangs or crashes") == 1
        assert own.nursery_restarts == 0


@pytest.mark.parametrize("fault", [faults.STEPS_ASIDE, faults.HOLDS_THE_LOCK, faults.CRASHES, faults.EXITS])
def test_worker_that_is_lost_to_a_trial_is_replaced_for_the_next_item(
    predictor: SupervisedPredictor, fault: int
) -> None:
    bad = item(fault)
    worker = kept(predictor, bad).worker_pid
    counts = predictor.counts["late"], predictor.counts["died"]
    predictor._slack_end = hardware_clock() + int(1e9 * EVER_S)

    assert predictor._took_ns("mean", item()) is not None
    assert predictor._took_ns("ends", bad) is None
    assert predictor._kept.small is None
    assert predictor.predict_one(item()).features == ALL
    assert predictor.worker_pid != worker
    assert (predictor.counts["late"], predictor.counts["died"]) == counts


def test_unit_that_fails_in_a_trial_costs_no_worker(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)
    worker = predictor.worker_pid
    predictor._slack_end = hardware_clock() + int(1e9 * EVER_S)

    assert predictor._took_ns("ends", item(faults.RAISES)) is None
    assert predictor._took_ns(2, item()) is not None
    assert predictor.predict_one(item()).features == ALL
    assert predictor.worker_pid == worker


def test_plans_for_times_as_shipped_are_those_of_the_bundle_with_the_hand_over() -> None:
    bundle, budget = with_regimes(make_bundle()[0], rehearsed=1e-6, cold=2e-6), 1.0
    times = WorkerTimes(bundle, HAND_OVERS, budget)

    for regime in bundle.regimes:
        expected = with_hand_over(bundle, HAND_OVERS).at(budget, regime)
        laid_out = times.bundle(regime, times.changes(regime))
        assert laid_out.times == expected.times
        assert laid_out.models == expected.models


def test_hand_over_is_learned_in_plans_and_not_in_typical_times_of_the_worker() -> None:
    """Both took half as long as was measured: 1 µs of dispatch and a hand-over of 1 s, half of each before."""
    bundle, budget = make_bundle()[0], 10.0
    times = WorkerTimes(bundle, HAND_OVERS, budget)
    changes = {**times.changes("hot"), BEFORE: Change(0.5), AFTER: Change(0.5)}

    learned = times.bundle("hot", changes).times

    assert times.expected_ns(("hot", BEFORE), 10.0) == pytest.approx(0.5e9, rel=1e-5)
    assert learned.planned.dispatch(10.0) == pytest.approx(0.5, rel=1e-5)
    assert learned.typical.dispatch(10.0) == bundle.times.typical.dispatch(10.0)


def own_predictor(folder: Path | Bundle, reply: Any, space: str = SPACE, **options: Any) -> SupervisedPredictor:
    return SupervisedPredictor(folder, space, deadline=DEADLINE_S, reserve=MARGIN_S, reply=reply, **options)


def try_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try units without regard to time and energy."""
    for name, value in (("TRY_AFTER", 1), ("LOOK_AFTER", 0), ("TRY_SHARE", 1e9), ("MOST_CREDIT_NS", 10**15)):
        monkeypatch.setattr(learner, name, value)


def wide_bundle() -> Bundle:
    return changed(make_bundle()[0], budgets=(1e-3, DEADLINE_S), steps=())


def with_slow_ends(tmp_path: Path) -> Path:
    """Return the folder of a bundle by which the feature `ends` takes all of the deadline, and is not planned."""
    bundle = wide_bundle()
    mean, spread, _ = bundle.times.worst.features
    slow = changed(bundle, costs=(mean, spread, CostFunction.of(DEADLINE_S)))
    return write(tmp_path / "slow", slow, make_bundle()[1])


def with_worst(seconds: float) -> Bundle:
    """Return a bundle by which the feature `ends` takes some seconds in the worst case, and is planned as short."""
    bundle = wide_bundle()
    mean, spread, ends = bundle.times.worst.features
    worst = replace(bundle.times.worst, terms=(mean, spread, CostFunction.of(seconds)))
    times: BundleTimes = bundle.times._replace(worst=worst)
    assert times.planned.terms[2] == ends
    return replace(bundle, times=times)
