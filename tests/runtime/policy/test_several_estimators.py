"""Two models of one set: the slow and good one answers if it is in time, otherwise the quick one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.describing.longest_step import longest_step
from polydom_runtime.features import members
from polydom_runtime.learning.slowdown import Slowdown
from polydom_runtime.policy.states import reachable
from polydom_runtime.prediction import Policy
from tests.bundle_parts import changed
from tests.runtime.lattice_world import US, LatticeWorld, lattice_bundle, microseconds
from tests.runtime.policy.test_anytime import FEW, POLICIES, failures, let_take, sizes, worlds

# {a, b, c, d}: 0.58 by lines after 107 µs, 0.69 by trees after 162 µs. {b, c}: 0.55 by trees after 112 µs.
COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0, 40.0)))
SCORES = [0.3 + sum(0.04 + 0.02 * i for i in members(mask)) for mask in range(16)]
LINES, TREES = 5 * US, 60 * US


def two_estimators() -> Bundle:
    """Return a bundle with a quick and a slow model for every set; the slow one scores 0.11 more."""
    bundle = lattice_bundle(SCORES, COSTS, models=LINES)
    lines = tuple(model._replace(estimator="lines") for model in bundle.models)
    trees = (m._replace(estimator="trees", seconds=TREES, accuracy=m.accuracy + 0.11) for m in lines)
    return changed(replace(bundle, models=(*lines, *trees)), shipped=tuple(range(30)))


@pytest.fixture
def world() -> LatticeWorld:
    return LatticeWorld(two_estimators())


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("deadline", "features", "score"),
    [(163 * US, "abcd", 0.69), (112 * US, "abcd", 0.58), (100 * US, "bcd", 0.54), (90 * US, "acd", 0.52)],
)
def test_the_best_model_of_all_sets_that_is_in_time_answers(
    world: LatticeWorld, deadline: float, features: str, score: float, policy: Policy
) -> None:
    """On the way to {a, b, c, d} by lines, trees would score more over {a, b, c}, and are never in time."""
    answer = world.predictor(deadline, policy=policy).predict_one(1.0)

    assert (sorted(answer.features), round(answer.accuracy, 9)) == (list(features), score)
    assert (answer.reason, answer.deadline_met) == ("planned", True)
    assert answer.estimator == ("trees" if score == 0.69 else "lines")


def test_prior_and_a_model_without_a_name_have_no_estimator(world: LatticeWorld) -> None:
    unnamed = LatticeWorld(lattice_bundle(SCORES, COSTS, models=LINES))

    assert [w.predictor(d).predict_one(1.0).estimator for w, d in ((world, 7 * US), (unnamed, 163 * US))] == [None] * 2


@pytest.mark.parametrize("policy", POLICIES)
def test_time_that_features_leave_goes_to_the_slow_model(world: LatticeWorld, policy: Policy) -> None:
    world.taken |= {"a": 1_000, "b": 1_000, "c": 1_000, "d": 1_000}

    answer = world.predictor(112 * US, policy=policy).predict_one(1.0)

    assert (sorted(answer.features), round(answer.accuracy, 9)) == (list("abcd"), 0.69)
    assert answer.deadline_met


@pytest.mark.parametrize("policy", POLICIES)
def test_the_quick_model_answers_if_the_last_feature_leaves_no_time_for_the_slow_one(
    world: LatticeWorld, policy: Policy
) -> None:
    world.taken["d"] += 50_000

    answer = world.predictor(165 * US, policy=policy).predict_one(1.0)

    assert (sorted(answer.features), round(answer.accuracy, 9)) == (list("abcd"), 0.58)
    assert (answer.reason, answer.deadline_met) == ("no time for the model", True)


def test_a_slow_model_answers_at_once_if_a_quick_one_of_a_larger_set_is_worse(world: LatticeWorld) -> None:
    """Feature a fails, so options are searched: {b, c, d} by lines, 0.54, also fits after {b, c}."""
    world.results["a"] = ValueError()

    answer = world.predictor(125 * US).predict_one(1.0)

    assert (sorted(answer.features), round(answer.accuracy, 9)) == (["b", "c"], 0.55)


def test_models_that_cannot_be_in_time_are_not_loaded(world: LatticeWorld) -> None:
    quick = world.predictor(55 * US)

    assert {world.bundle.models[number].estimator for number in quick.loaded} == {"lines"}


def test_the_best_left_answers_when_a_slow_model_is_left_out(world: LatticeWorld) -> None:
    predictor = world.predictor(165 * US)
    predictor.leave_out([29])

    left_out = predictor.predict_one(1.0)
    predictor.leave_out([])
    answer = predictor.predict_one(1.0)

    assert left_out.accuracy == pytest.approx(0.65)
    assert answer.accuracy == pytest.approx(0.69)


def test_a_quick_answer_does_not_hide_that_the_machine_is_slow(
    world: LatticeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After features that took 1.5 times as long, lines save 55 µs: the slowness is 217 µs by 162 µs."""
    predictor, seen = world.predictor(165 * US), []

    class Noted(Slowdown):
        def add(self, ratio: float, each: float = 1.0) -> None:
            seen.append(ratio)

    monkeypatch.setattr("polydom_runtime.learning.experience.CALM", 1.0)
    predictor._experience.slowdown = Noted()
    world.taken["d"] += 50_000

    predictor.predict_one(1.0)

    assert seen == pytest.approx([(157 + 55) / 162])


@pytest.mark.parametrize("policy", POLICIES)
def test_every_state_has_its_best_model_first_and_then_quicker_ones(world: LatticeWorld, policy: Policy) -> None:
    predictor = world.predictor(400 * US, policy=policy)
    states = [state for plan in predictor._plans.made for state in reachable(plan.root) if state.mask]

    assert states
    for state in states:
        known = [(model.number, less_ns) for model, less_ns in state.answers]
        assert known == [(state.mask + 14, 0), (state.mask - 1, 55_000)]


def test_models_that_are_not_quicker_or_not_better_are_no_answers() -> None:
    """Trees that are as slow as lines, or worse than them, take no room."""
    bundle = two_estimators()
    slow_lines = replace(bundle, models=tuple(m._replace(seconds=TREES) for m in bundle.models))
    poor_trees = replace(
        bundle, models=tuple(m._replace(accuracy=0.55) if m.estimator == "trees" else m for m in bundle.models)
    )
    every = np.array([15])

    answers = [LatticeWorld(b).predictor(1.0).models.answers(every) for b in (slow_lines, poor_trees)]

    assert [rows[rows >= 0].tolist() for rows in answers] == [[29], [14]]


def test_the_model_of_a_target_answers_although_one_of_its_subset_is_better() -> None:
    """Trees over {b, c} score more than those over {a, b, c}, and take too long; lines score least."""
    bundle = two_estimators()
    changes = {0b110: (0.7, 90 * US), 0b111: (0.6, 20 * US)}
    models = [
        m._replace(accuracy=changes[m.mask][0], seconds=changes[m.mask][1])
        if m.estimator == "trees" and m.mask in changes
        else m
        for m in bundle.models
    ]
    world = LatticeWorld(replace(bundle, models=tuple(models)))

    answer = world.predictor(85 * US).predict_one(1.0)

    assert (sorted(answer.features), answer.accuracy, answer.reason) == (["a", "b", "c"], 0.6, "planned")


def test_warm_up_runs_the_models_of_all_estimators(world: LatticeWorld) -> None:
    ran: set[str] = set()
    inner = world._model

    def noted(number: int):  # type: ignore[no-untyped-def]
        run = inner(number)

        def of_number() -> int:
            ran.add(world.bundle.models[number].estimator)
            return run()

        return of_number

    world._model = noted  # type: ignore[method-assign]

    world.predictor(165 * US).warm_up(1.0)

    assert ran == {"lines", "trees"}


def test_the_longest_step_names_the_estimator_of_a_model() -> None:
    """The first of two models of one set is the slower one."""
    bundle = two_estimators()

    step = longest_step(replace(bundle, models=bundle.models[::-1]))

    assert step.name == "model of a+b+c+d of trees"


@st.composite
def mixed_worlds(draw: st.DrawFn, planned_with: str = "any") -> LatticeWorld:
    """Worlds in which each set has a second model, with any score and any time."""
    bundle = draw(worlds(planned_with)).bundle
    lines = [model._replace(estimator="lines") for model in bundle.models]
    trees = [
        m._replace(estimator="trees", seconds=draw(st.integers(1, 60)) * US, accuracy=draw(st.integers(5, 19)) / 20)
        for m in bundle.models
    ]
    return LatticeWorld(changed(replace(bundle, models=(*lines, *trees)), shipped=tuple(range(30))))


@FEW
@given(mixed_worlds(), st.integers(30, 250), st.sampled_from(POLICIES), st.data())
def test_deadline_is_kept_if_no_unit_takes_longer_than_its_worst_case(
    world: LatticeWorld, deadline: int, policy: Policy, data: st.DataObject
) -> None:
    predictor = world.predictor(max(deadline * US, world.bundle.times.worst.dispatch(100.0)), policy=policy)
    shares = data.draw(st.sampled_from(((1.0,), (0.0, 1.0), (0.0, 1.0, 1.0, 1.0))))
    for n in data.draw(st.lists(sizes, min_size=1, max_size=5)):
        let_take(world, n, lambda: data.draw(st.sampled_from(shares)))
        world.results = dict([failure]) if (failure := data.draw(failures)) else {}

        answer = predictor.predict_one(n)

        assert answer.deadline_met
        assert answer.accuracy >= 0.3


@FEW
@given(mixed_worlds("worst"), st.integers(10, 250), st.sampled_from((1.0, 10.0, 100.0)))
def test_times_as_planned_give_at_least_what_the_strict_policy_gives(
    world: LatticeWorld, deadline: int, n: float
) -> None:
    deadline_s = max(deadline * US, world.bundle.times.worst.dispatch(n))
    let_take(world, n, lambda: 1.0)
    anytime, strict = (world.predictor(deadline_s, policy=policy).predict_one(n) for policy in POLICIES)

    assert anytime.accuracy >= strict.accuracy


@FEW
@given(mixed_worlds(), st.integers(20, 250))
def test_more_time_left_never_plans_for_less(world: LatticeWorld, deadline: int) -> None:
    """What a decision gives is its target's score, or that of the best model of the state that is in time."""
    predictor = world.predictor(max(deadline * US, world.bundle.times.worst.dispatch(1.0)))
    plan = predictor._plans.hot

    for state in reachable(plan.root):
        for cell in range(len(state.typical_ns) - 1):
            *_, ends, moves = state.rows[cell]
            n, times = plan.cells[cell], world.bundle.times
            rest = 1e9 * min(times.guarded.after(n), times.worst.after(n))
            given = []
            for least, move in zip((0.0, *ends), moves, strict=True):
                answers = [m.accuracy for m, _ in state.answers if m.model_ns + rest <= least + 1.0]
                given.append(move.accuracy if move else max(answers, default=0.0))
            assert given == sorted(given)
