"""A node that learns: plans that follow its times, units that are tried, work that ends before the next item."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Predictor
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.learning.experience import LEAST_SLACK_NS
from polydom_runtime.learning.learned_times import Changes, LearnedTimes, Unit
from polydom_runtime.learning.learner import (
    BETWEEN_PLANS,
    KEPT_NS,
    PLANS_AT_ONCE,
    REMEMBERED,
    REST,
    TRY_SHARE,
    Learner,
)
from polydom_runtime.learning.slowdown import QUICK
from polydom_runtime.measuring.cost_samples import AFTER, BEFORE, WAKING
from polydom_runtime.policy.plan import Plan
from polydom_runtime.policy.rehearsal import Kept
from polydom_runtime.policy.states import reachable
from polydom_runtime.testing import ManualClock
from tests.bundle_parts import unit_times
from tests.runtime.lattice_world import NAMES, US, LatticeWorld, lattice_bundle, microseconds
from tests.runtime.learning.test_learned_times import seen

COSTS = tuple(map(microseconds, (100.0, 150.0, 200.0, 250.0, 300.0)))
GAINS = 0.1, 0.14, 0.17, 0.2, 0.22
ACCURACIES = [
    0.3 + 0.65 * (1.0 - math.prod(1.0 - g for k, g in enumerate(GAINS) if mask >> k & 1)) for mask in range(32)
]
MODEL, DISPATCH = 20.0, 20.0
DEADLINE, PERIOD = 650 * US, 0.01
SIGMA = 0.1
LEARNING, AFTERWARDS = 60, 400


def bundle_with(change: Mapping[str, float]) -> Bundle:
    """Return a bundle whose units take some times as long as usual; a star means all."""
    every = change.get("*", 1.0)
    costs = [cost * change.get(name, every) for name, cost in zip(NAMES, COSTS, strict=True)]
    dispatch, models = microseconds(DISPATCH) * every, MODEL * US * every

    def times(ratio: float) -> Any:
        return unit_times(NAMES, [cost * ratio for cost in costs], (), dispatch * ratio)

    return lattice_bundle(
        ACCURACIES,
        [cost * 1.5 for cost in costs],
        models=models,
        dispatch=dispatch * 1.5,
        planned=times(1.0),
        guarded=times(1.3),
    )


class NoisyWorld(LatticeWorld):
    """Units take log-normal times around the typical ones of a bundle, some times as long each.

    An answer ends once, and with the first model that runs in it.
    """

    def __init__(self, bundle: Bundle, seed: int, change: Mapping[str, float] = {}) -> None:
        super().__init__(bundle)
        self._ends = True
        self.change = dict(change)
        self._rng = np.random.default_rng(seed)

    def draw(self) -> None:
        """Let the units take other times for the next item."""
        usual = {name: 1e9 * cost(1.0) for name, cost in zip(NAMES, COSTS, strict=True)}
        usual |= {BEFORE: 500.0 * DISPATCH, AFTER: 500.0 * DISPATCH, WAKING: 0.0}
        every = self.change.get("*", 1.0)
        noise = np.exp(SIGMA * self._rng.standard_normal(len(usual) + 1)).tolist()
        self.taken = {
            name: round(ns * self.change.get(name, every) * x)
            for (name, ns), x in zip(usual.items(), noise, strict=False)
        }
        self.models = [round(1e3 * MODEL * every * noise[-1])] * len(self.models)

    def _size(self, item: Any) -> Any:
        self._ends = True
        return super()._size(item)

    def _model(self, number: int) -> Callable[[], int]:
        def run() -> int:
            self.clock.now_ns += self.models[number] + self._ends * self.taken[AFTER]
            self._ends = False
            return self.bundle.models[number].mask

        return run

    def play(self, predictor: Predictor, items: int, seconds: float = PERIOD) -> list[float]:
        """Answer items with some slack after each; return the scores, 0 for late ones."""
        scores = []
        for _ in range(items):
            self.draw()
            answer = predictor.predict_one(1.0)
            scores.append(answer.accuracy if answer.deadline_met else 0.0)
            predictor.use_slack(seconds)
            self.clock.advance(seconds=PERIOD)
        return scores


def learner_of(predictor: Predictor) -> Learner:
    learner = predictor._experience.learner
    assert learner is not None
    return learner


@pytest.mark.parametrize(
    ("regime", "change", "settling"),
    [
        ("hot", {"a": 4.0}, 0),
        ("hot", {"e": 2.0}, 0),
        ("hot", {"d": 0.25}, 0),
        ("hot", {"*": 0.25}, 0),
        (None, {"*": 0.25}, 0),
        ("hot", {"*": 2.0}, 340),
        (None, {"*": 2.0}, 340),
    ],
    ids=str,
)
def test_after_a_change_it_scores_as_the_plan_that_knows(
    regime: Regime | None, change: Mapping[str, float], settling: int
) -> None:
    """Within a point, in the mean of three seeds, and late as promised.

    Within two points after sleeps, where the first feature also tells of waking up. That is so from the sixtieth answer
    on, or once the margin is down again: a few answers may be late until a change is known, and each raises the margin
    for a hundred.
    """
    found = []
    for seed in range(3):
        world = NoisyWorld(bundle_with({}), seed)
        predictor = world.predictor(DEADLINE, regime=regime)
        world.play(predictor, LEARNING)
        world.change = dict(change)
        learning = world.play(predictor, LEARNING)
        settled = world.play(predictor, settling)
        scores = world.play(predictor, AFTERWARDS)
        knowing = NoisyWorld(bundle_with(change), seed, change)
        known = knowing.play(knowing.predictor(DEADLINE, adapt=False), AFTERWARDS)
        late = learning.count(0.0), (settled + scores).count(0.0)
        found.append((float(np.mean(scores)), float(np.mean(known)), *late))
    score, known_score, late_at_first, late_afterwards = np.mean(found, axis=0)

    assert score > known_score - (0.01 if regime else 0.02)
    assert late_afterwards <= 0.01 * (settling + AFTERWARDS)
    assert late_at_first <= 4


@pytest.mark.parametrize("seed", range(3))
def test_while_nothing_changes_no_plan_is_laid_out(seed: int) -> None:
    world = NoisyWorld(bundle_with({}), seed)
    predictor = world.predictor(DEADLINE)
    scores = world.play(predictor, LEARNING + AFTERWARDS)
    still = NoisyWorld(bundle_with({}), seed)
    as_built = still.play(still.predictor(DEADLINE, adapt=False), LEARNING + AFTERWARDS)

    assert learner_of(predictor).n_plans == 0
    assert np.mean(scores) == pytest.approx(np.mean(as_built), abs=0.01)


def test_without_slack_nothing_is_learned_but_what_all_share() -> None:
    world = NoisyWorld(bundle_with({}), 0, {"*": 2.0})
    predictor = world.predictor(DEADLINE)
    world.play(predictor, LEARNING, seconds=0.5e-9 * LEAST_SLACK_NS)

    assert predictor.learning().answers == 0
    assert predictor.slowdown == pytest.approx(2.0, rel=0.2)


def test_slow_down_is_one_again_when_a_plan_knows_it() -> None:
    """Else all would count twice: in the plan, and in the division of the time left."""
    world = NoisyWorld(bundle_with({}), 0, {"*": 3.0})
    predictor = world.predictor(2 * DEADLINE, regime="hot")
    world.play(predictor, 10, seconds=0.0)
    without_slack = predictor.slowdown
    world.play(predictor, 1 + QUICK)  # the first items after the plan may be as slow as those before

    assert without_slack > 2.0
    assert (learner_of(predictor).n_plans, predictor.slowdown) == (1, 1.0)


def test_feature_that_no_plan_uses_is_found_again_when_it_is_quick() -> None:
    """`e` took so long that no plan has it; nothing but a trial can tell that it became quick."""
    slow = {"e": 10.0}
    world = NoisyWorld(bundle_with(slow), 0, slow)
    predictor = world.predictor(DEADLINE)
    world.play(predictor, LEARNING)
    before = [predictor.predict_one(1.0).features for _ in range(5)]
    world.change = {"e": 0.1}
    world.play(predictor, AFTERWARDS)
    after = predictor.predict_one(1.0).features

    assert all("e" not in features for features in before)
    assert "e" in after


def test_feature_that_raises_when_it_is_tried_harms_nothing() -> None:
    slow = {"e": 10.0}
    world = NoisyWorld(bundle_with(slow), 0, slow)
    world.results["e"] = RuntimeError("no sound")
    predictor = world.predictor(DEADLINE)
    scores = world.play(predictor, AFTERWARDS)

    assert learner_of(predictor).n_tried > 0
    assert min(scores) > 0.3
    assert (predictor.failures, predictor.causes.counts) == ({}, {})


def test_adapt_false_keeps_all_still() -> None:
    world = NoisyWorld(bundle_with({}), 0, {"*": 3.0})
    predictor = world.predictor(DEADLINE, adapt=False)
    plan = predictor._plans.hot
    scores = world.play(predictor, LEARNING)

    assert 0.0 in scores
    assert (predictor.slowdown, predictor.margin.value, predictor.margin.late) == (1.0, 1.0, 0)
    assert (predictor._experience.learner, predictor._plans.hot, len(predictor._experience.unread)) == (None, plan, 0)


@pytest.mark.parametrize("block", [1, 2, 3, 40])
def test_unit_that_alternates_between_two_times_gets_few_plans(block: int) -> None:
    """A cache that is hit or not: however the answers fall, plans are laid out rarely."""
    world, late = NoisyWorld(bundle_with({}), 0), 0
    predictor = world.predictor(DEADLINE)
    answers = 1200
    for number in range(answers // block):
        world.change = {"e": 3.0 if number % 2 else 1.0}
        late += world.play(predictor, block).count(0.0)

    assert learner_of(predictor).n_plans <= REMEMBERED + answers / REST
    assert late <= 0.1 * answers


@pytest.mark.parametrize("odd", [10, 1_000_000])
def test_no_plan_is_made_from_one_odd_value(odd: int) -> None:
    """One item that took ten times as long, or for which the process was stopped for minutes, of every hundred."""
    world = NoisyWorld(bundle_with({}), 0)
    predictor = world.predictor(DEADLINE)
    world.play(predictor, LEARNING)
    plan = predictor._plans.cold
    for _ in range(4):
        world.change = {"*": float(odd)}
        world.play(predictor, 1)
        world.change = {}
        world.play(predictor, 99)

    assert learner_of(predictor).n_plans == 0
    assert predictor._plans.cold is plan


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_clock_that_jumps_harms_nothing(jump: float) -> None:
    """In slack, before it and within an answer."""
    world = NoisyWorld(bundle_with({}), 0)
    predictor = world.predictor(DEADLINE)
    for where in ("slack", "answer", "none"):
        world.play(predictor, LEARNING)
        if where == "answer":
            world.taken["a"] = round(1e9 * jump)
            predictor.predict_one(1.0)
        world.clock.now_ns += round(1e9 * jump)
    scores = world.play(predictor, LEARNING)

    assert learner_of(predictor).n_plans == 0
    assert min(scores[5:]) > 0.3


@pytest.mark.parametrize("size", [math.nan, math.inf, 0.0, "none"])
def test_items_without_a_size_of_the_build_harm_nothing(size: Any) -> None:
    world = NoisyWorld(bundle_with({}), 0)
    predictor = world.predictor(DEADLINE)
    world.draw()
    for _ in range(LEARNING):
        predictor.predict_one(size)
        predictor.use_slack(PERIOD)
        world.clock.advance(seconds=PERIOD)

    assert (learner_of(predictor).times.answers, learner_of(predictor).n_plans) == (0, 0)
    assert min(world.play(predictor, LEARNING)) > 0.3


def test_plan_in_slices_is_the_plan_at_once() -> None:
    """Answers and their decisions between two slices change neither."""
    change = {"b": 3.0, "d": 0.5}
    other = bundle_with(change)
    at_once = LatticeWorld(other).predictor(DEADLINE)._plans.hot
    world = NoisyWorld(bundle_with({}), 0)
    predictor = world.predictor(DEADLINE)
    before, n_slices = predictor._plans.hot, 0
    for _ in predictor._plans.renew("hot", other):
        n_slices += 1
        world.draw()
        predictor.predict_one(1.0)
        assert predictor._plans.hot is before

    assert n_slices > 5
    assert tables(predictor._plans.hot) == tables(at_once)
    assert tables(before) == tables(LatticeWorld(bundle_with({})).predictor(DEADLINE)._plans.hot)


def test_plan_in_slices_for_runs_has_a_careful_one_without_the_models_that_are_out() -> None:
    """Model 30 is the only one that reads all features."""
    other, longer = bundle_with({"b": 2.0}), 10 * DEADLINE
    at_once = LatticeWorld(other).predictor(longer, runs=(1, 20))._plans.hot.careful
    predictor = NoisyWorld(bundle_with({}), 0).predictor(longer, runs=(1, 20))
    predictor.leave_out([30])
    deque(predictor._plans.renew("hot", other), maxlen=0)
    careful = predictor._plans.hot.careful

    assert careful is not None
    assert at_once is not None
    assert targets(careful) == targets(at_once) - {31}


def targets(plan: Plan) -> set[int]:
    moves = [move for state in reachable(plan.root) for cell in range(len(plan.cells)) for move in state.rows[cell][4]]
    return {move.target for move in moves if move is not None}


def tables(plan: Plan) -> list[Any]:
    """Return all decisions of a plan: times, features, targets, and the models that may answer."""
    return [
        (
            state.mask,
            state.model.number,
            [(model.number, less) for model, less in state.answers],
            [
                (worst, enough, target(move), ends, tuple(map(target, moves)))
                for worst, enough, move, ends, moves in (state.rows[cell] for cell in range(len(plan.cells)))
            ],
        )
        for state in sorted(reachable(plan.root), key=lambda state: state.mask)
    ]


def target(move: Any) -> tuple[int, int] | None:
    return None if move is None else (move.feature, move.target)


class FakeWork:
    """Slices and trials that take their time by a manual clock."""

    def __init__(self, clock: ManualClock, slice_ns: Callable[[], int] = lambda: 0, trial_ns: int = 0) -> None:
        self._clock, self._slice_ns, self._trial_ns = clock, slice_ns, trial_ns
        self.models: Sequence[int] = ()
        self.renewed: list[Regime] = []
        self.tried: list[Unit] = []

    def renew(self, regime: Regime, changes: Changes) -> Iterator[None]:
        for _ in range(20):
            yield
            self._clock.now_ns += self._slice_ns()
        self.renewed.append(regime)

    def took_ns(self, unit: Unit, item: Any) -> int | None:
        self.tried.append(unit)
        self._clock.now_ns += 2 * self._trial_ns
        return None if unit == "c" else self._trial_ns


def learner(work: FakeWork, bundle: Bundle | None = None) -> Learner:
    bundle = bundle or lattice_bundle(ACCURACIES[:8], COSTS[:3])
    return Learner(LearnedTimes(bundle, DEADLINE), bundle.names, work, work._clock)


MOVED = tuple(seen((0, 100.0), (1, 600.0), end=6.0))
"""An answer in which `b` took four times as long."""


def test_work_ends_before_the_next_item_and_goes_on_after_it() -> None:
    """Slices of a millisecond: three fit into 3.5 ms, and a plan of twenty needs several periods."""
    clock = ManualClock()
    work = FakeWork(clock, lambda: 1_000_000)
    ours, periods = learner(work), 0
    answers = deque([MOVED] * 10)
    while not work.renewed and periods < 100:
        began = clock.now_ns
        is_new = ours.use(3.5e-3, answers, None)
        assert clock.now_ns - began <= 3_500_000
        assert is_new == bool(work.renewed)
        clock.now_ns += 10_000_000
        periods += 1

    assert work.renewed == ["hot"]
    assert 7 <= periods <= 8
    assert (ours.n_plans, ours.longest_slice_ns) == (1, 1_000_000)


def test_slices_that_take_longer_than_the_slack_are_rare() -> None:
    """Slices of 5 ms do not begin in 3.5 ms of slack once one was seen, but that is forgotten by a tenth each time."""
    clock = ManualClock()
    work = FakeWork(clock, lambda: 5_000_000)
    ours, late = learner(work), 0
    answers = deque([MOVED] * 10)
    for _ in range(15):
        began = clock.now_ns
        ours.use(3.5e-3, answers, None)
        late += clock.now_ns - began > 3_500_000
        clock.now_ns += 10_000_000

    assert late <= 4


def test_answers_wait_for_slack() -> None:
    clock = ManualClock()
    ours, answers = learner(FakeWork(clock)), deque([MOVED] * 10)
    ours.use(0.9e-9 * KEPT_NS, answers, None)
    waited = len(answers)
    ours.use(1e-3, answers, None)

    assert (waited, len(answers), ours.times.answers) == (10, 0, 10)


def test_plans_follow_each_other_slowly() -> None:
    clock = ManualClock()
    work = FakeWork(clock)
    ours, at = learner(work), []
    for number in range(3000):
        factor = 4.0 if number // 35 % 2 else 1.0
        before = ours.n_plans
        ours.use(1e-3, deque([tuple(seen((0, 100.0), (1, 150.0 * factor), end=6.0))]), None)
        at += [number] * (ours.n_plans - before)
        clock.now_ns += 10_000_000

    waits = [b - a for a, b in pairwise(at)]
    assert min(waits) >= BETWEEN_PLANS
    assert min(waits[REMEMBERED:]) >= BETWEEN_PLANS << (REMEMBERED - 1 - PLANS_AT_ONCE)
    assert len(at) > 12


def test_trials_take_a_share_of_time_and_turns() -> None:
    """`c` is in no answer, and fails each time it is tried; `b` neither; `a` is in all."""
    clock = ManualClock()
    work = FakeWork(clock, trial_ns=150_000)
    ours = learner(work)
    began, spent = clock.now_ns, 0
    for _ in range(5000):
        before = clock.now_ns
        ours.use(1e-3, deque([tuple(seen((0, 100.0), end=6.0))]), Kept(1.0, 1.0))
        spent += clock.now_ns - before
        clock.now_ns += 300_000

    assert 0.5 * TRY_SHARE * (clock.now_ns - began) < spent <= TRY_SHARE * (clock.now_ns - began)
    assert abs(work.tried.count("b") - work.tried.count("c")) <= 5
    assert "a" not in work.tried


def test_feature_that_fails_is_not_tried_and_others_are() -> None:
    clock = ManualClock()
    work = FakeWork(clock, trial_ns=150_000)
    ours = learner(work)
    for _ in range(500):
        ours.use(5e-3, deque([tuple(seen((0, 100.0), end=6.0))]), Kept(1.0, 1.0), {"b": 3})
        clock.now_ns += 5_000_000

    assert set(work.tried) == {"c"}


def test_nothing_is_tried_without_a_kept_item() -> None:
    clock = ManualClock()
    work = FakeWork(clock)
    ours = learner(work)
    for _ in range(500):
        ours.use(5e-3, deque([tuple(seen((0, 100.0), end=6.0))]), None)
        clock.now_ns += 5_000_000

    assert work.tried == []
