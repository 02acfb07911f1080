"""The any-time policy: time that is left is spent on better sets, and a lack of it never costs the deadline."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from polydom_runtime import CostFunction
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.bundles.unit_times import StepTime, UnitTimes
from polydom_runtime.costs import ZERO, total
from polydom_runtime.features import members
from polydom_runtime.measuring.cost_samples import AROUND, WAKING
from polydom_runtime.policy.planners import size_cells
from polydom_runtime.policy.states import State, reachable
from polydom_runtime.prediction import Policy
from tests.bundle_parts import unit_times
from tests.runtime.lattice_world import NAMES, STEP, US, LatticeWorld, lattice_bundle, microseconds, worst_ns

COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0, 40.0)))
POLICIES: tuple[Policy, ...] = ("anytime", "strict")


def richer_is_better(n_features: int = 4) -> list[float]:
    """Return accuracies that rise with each feature, by 0.04 for the first and more for the later ones."""
    return [0.3 + sum(0.04 + 0.02 * i for i in members(mask)) for mask in range(1 << n_features)]


def half_expected(bundle_costs: Sequence[CostFunction] = COSTS) -> UnitTimes:
    return unit_times(NAMES[: len(bundle_costs)], [cost * 0.5 for cost in bundle_costs], (), microseconds(1.0))


@pytest.fixture
def world() -> LatticeWorld:
    """All takes its worst case: a 10 µs, b 20, c 30, d 40, a model 5 and dispatch 2."""
    return LatticeWorld(lattice_bundle(richer_is_better(), COSTS))


# Within 90 µs by worst cases: {b, c} and a at most, 60 + 7 µs, or {c, d} with 77; {a, c, d} needs 87.
def test_best_set_that_fits_is_planned(world: LatticeWorld) -> None:
    answer = world.predictor(90 * US).predict_one(1.0)

    assert answer.features == ("a", "c", "d")
    assert (answer.label, answer.reason, answer.elapsed_ns) == (0b1101, "planned", 87_000)


def test_time_that_features_do_not_need_is_spent_on_a_better_set(world: LatticeWorld) -> None:
    world.taken |= {"a": 1_000, "c": 3_000}

    answer = world.predictor(90 * US).predict_one(1.0)

    assert (set(answer.features), answer.reason) == ({"a", "b", "c", "d"}, "extended")
    assert answer.deadline_met


def test_strict_policy_leaves_it_unspent(world: LatticeWorld) -> None:
    world.taken |= {"a": 1_000, "c": 3_000}

    assert world.predictor(90 * US, policy="strict").predict_one(1.0).reason == "planned"


def test_overrun_costs_the_rest_of_the_target_never_the_deadline(world: LatticeWorld) -> None:
    predictor = world.predictor(90 * US)
    planned = predictor.predict_one(1.0)
    first = "abcd"[predictor.trace.features[0]]
    world.taken[first] += 35_000

    answer = predictor.predict_one(1.0)

    assert 0.3 < answer.accuracy < planned.accuracy
    assert answer.reason.startswith("no time for ")
    assert answer.reason[-1] in set(planned.features) - set(answer.features)
    assert answer.deadline_met


@pytest.mark.parametrize("policy", POLICIES)
def test_feature_that_takes_all_the_time_leaves_the_prior(world: LatticeWorld, policy: Policy) -> None:
    predictor = world.predictor(90 * US, policy=policy)
    predictor.predict_one(1.0)
    world.taken["abcd"[predictor.trace.features[0]]] = 88_000

    answer = predictor.predict_one(1.0)

    assert (answer.features, answer.label, answer.accuracy) == ((), 0, 0.3)
    assert (answer.reason, answer.deadline_met) == ("no time for the model", True)


@pytest.mark.parametrize(
    "result", [RuntimeError("gone"), [1.0, 2.0], "x", None], ids=["raises", "wide", "text", "none"]
)
@pytest.mark.parametrize("policy", POLICIES)
def test_feature_that_fails_first_is_replaced_by_others(world: LatticeWorld, policy: Policy, result: object) -> None:
    predictor = world.predictor(90 * US, policy=policy)
    predictor.predict_one(1.0)
    first = "abcd"[predictor.trace.features[0]]
    world.results[first] = result

    answer = predictor.predict_one(1.0)

    assert answer.features
    assert first not in answer.features
    assert answer.reason == f"{first} failed"
    assert answer.deadline_met


def test_feature_that_is_not_a_number_is_answered_without(world: LatticeWorld) -> None:
    predictor = world.predictor(90 * US)
    predictor.predict_one(1.0)
    last = "abcd"[predictor.trace.features[-1]]
    world.results[last] = [np.nan]

    answer = predictor.predict_one(1.0)

    assert answer.features
    assert last not in answer.features
    assert answer.reason == f"{last} failed"


def test_failed_feature_does_not_make_the_machine_seem_slow(world: LatticeWorld) -> None:
    """At 110 µs all four fit; after `d` fails within 40 µs the other three still do, in 67 of the 70 left."""
    world.results["d"] = RuntimeError()

    predictor = world.predictor(110 * US)

    for _ in range(2):
        answer = predictor.predict_one(1.0)
        assert set(answer.features) == {"a", "b", "c"}
    assert predictor.slowdown == 1.0


@pytest.mark.parametrize("users", [0b0011, 0b1111])
def test_shared_step_is_paid_once_also_after_a_failure(users: int) -> None:
    world = LatticeWorld(lattice_bundle(richer_is_better(), COSTS, step=(users, microseconds(8.0))))
    world.results["a"] = ValueError()

    answer = world.predictor(500 * US).predict_one(1.0)

    assert set(answer.features) == {"b", "c", "d"}
    assert world.calls.count(STEP) == 1


def test_step_that_fails_takes_its_features_with_it() -> None:
    world = LatticeWorld(lattice_bundle(richer_is_better(), COSTS, step=(0b0011, microseconds(8.0))))
    world.results[STEP] = RuntimeError()

    answer = world.predictor(500 * US).predict_one(1.0)

    assert answer.features == ("c", "d")
    assert answer.reason in ("a failed", "b failed")


def test_nothing_fits(world: LatticeWorld) -> None:
    answer = world.predictor(10 * US).predict_one(1.0)

    assert (answer.features, answer.reason) == ((), "planned")


def test_trace_holds_the_start_of_everything(world: LatticeWorld) -> None:
    world.results["c"] = RuntimeError()
    predictor = world.predictor(150 * US)
    answer = predictor.predict_one(7.0)
    trace = predictor.trace

    assert trace.size == 7.0
    assert sorted(trace.features) == [0, 1, 2, 3]
    assert len(trace.marks) == len(trace.features) + 3
    taken = [b - a for a, b in pairwise(trace.marks)]
    assert taken == [1_000, *(world.taken["abcd"[f]] for f in trace.features), 6_000]
    assert sum(taken) == answer.elapsed_ns


def test_trace_of_an_item_without_a_size(world: LatticeWorld) -> None:
    predictor = world.predictor(150 * US)
    predictor.predict_one(None)

    assert math.isnan(predictor.trace.size)
    assert (predictor.trace.features, len(predictor.trace.marks)) == ([], 3)


@pytest.mark.parametrize("n", [math.inf, 1e308, 10**400, -1, math.nan, True, np.float32(3.0), "7"])
@pytest.mark.parametrize("policy", POLICIES)
def test_no_size_makes_it_raise_even_with_a_feature_out(world: LatticeWorld, policy: Policy, n: Any) -> None:
    predictor = world.predictor(150 * US, policy=policy)
    for _ in range(3):
        predictor.report_failure("a")

    answer = predictor.predict_one(n)

    assert "a" not in answer.features
    assert answer.deadline_met


def test_values_and_progress_are_laid_over_given_memory(world: LatticeWorld) -> None:
    values, progress = np.full(4, -1.0, dtype=np.float32), np.full(1, -1, dtype=np.int64)
    seen = []
    unit = world.space.size

    def size(item: Any) -> Any:
        seen.append(int(progress[0]))
        return unit(item)

    world.space.size = size
    world.results |= {"a": [5.0], "c": [7.0], "b": RuntimeError()}
    predictor = world.predictor(110 * US, values=values, progress=progress)

    answer = predictor.predict_one(1.0)
    predictor.predict_one(1.0)

    assert answer.features == ("a", "c", "d")
    assert values.tolist() == [5.0, -1.0, 7.0, 1.0]
    assert seen == [0, 0]
    assert progress[0] == 0b1101


@pytest.mark.parametrize("policy", POLICIES)
def test_warming_up_runs_every_model_that_may_answer(world: LatticeWorld, policy: Policy) -> None:
    run: set[int] = set()
    run_of = world._model

    def watched(number: int) -> Any:
        model = run_of(number)

        def run_and_tell() -> int:
            run.add(number)
            return model()

        return run_and_tell

    world._model = watched  # type: ignore[method-assign]
    predictor = world.predictor(90 * US, policy=policy)
    predictor.warm_up(1.0)

    assert run == set(predictor.models.loaded)


@pytest.mark.parametrize("policy", POLICIES)
def test_of_equally_good_sets_the_cheapest_is_computed(policy: Policy) -> None:
    world = LatticeWorld(lattice_bundle([0.3, 0.8, 0.8, 0.8], COSTS[1::-1]))

    assert world.predictor(500 * US, policy=policy).predict_one(1.0).features == ("b",)


def test_guard_leaves_time_for_the_end_of_the_answer() -> None:
    """All at its worst takes 2 + 10 + 5 + 2 µs; by what is expected there is plenty of time."""
    dispatch = microseconds(4.0)
    bundle = lattice_bundle(
        [0.3, 0.8],
        [microseconds(30.0)],
        dispatch=dispatch,
        guarded=unit_times("a", [microseconds(10.0)], (), dispatch),
        planned=unit_times("a", [microseconds(1.0)], (), dispatch * 0.1, model_ratio=0.2),
    )
    world = LatticeWorld(bundle)
    world.taken["a"] = 10_000

    assert world.predictor(18.5 * US).predict_one(1.0).features == ()
    assert world.calls == []  # not begun in vain
    answer = world.predictor(19.5 * US).predict_one(1.0)
    assert (answer.features, answer.deadline_met) == (("a",), True)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("deadline", "features"), [(67.5, ()), (68.5, ("a",)), (88.5, ("a",)), (89.5, ("a", "b")), (39.5, ())]
)
def test_first_feature_pays_for_waking(policy: Policy, deadline: float, features: tuple[str, ...]) -> None:
    """`a` takes 1 + 50 + 10 + 5 + 2 µs, `b` 21 more."""
    around: dict[str, Any] = {"before": microseconds(1.0), "waking": microseconds(50.0), "after": microseconds(2.0)}
    costs = [microseconds(10.0), microseconds(21.0)]
    world = LatticeWorld(lattice_bundle([0.3, 0.6, 0.5, 0.9], costs, dispatch=ZERO, **around))

    answer = world.predictor(deadline * US, policy=policy).predict_one(1.0)

    assert (answer.features, answer.deadline_met) == (features, True)


def test_waking_that_is_over_leaves_time_for_more() -> None:
    """A sleep that was not one: after `a` there are 50 µs that were kept for waking."""
    costs = [microseconds(10.0), microseconds(21.0)]
    world = LatticeWorld(lattice_bundle([0.3, 0.6, 0.5, 0.9], costs, waking=microseconds(50.0)))
    world.taken[WAKING] = 0

    assert world.predictor(70 * US).predict_one(1.0).features == ("a", "b")


def test_times_as_planned_lead_to_the_target_of_the_start_and_more_time_to_a_better_one() -> None:
    """`b` is planned with 10 µs and its guard is 60, so that {a, b} fits 76 µs after the start and not 27."""
    planned = unit_times("abc", [microseconds(10.0)] * 3, (), microseconds(2.0))
    costs = [microseconds(10.0), microseconds(60.0), microseconds(10.0)]
    world = LatticeWorld(lattice_bundle([0.3, 0.5, 0.4, 0.9, 0.8, 0.6, 0.4, 0.85], costs, planned=planned))
    world.taken["b"] = 10_000

    answers = [world.predictor(deadline * US).predict_one(1.0) for deadline in (10, 30, 50, 70, 90)]

    assert {answer.reason for answer in answers} == {"planned"}
    assert [answer.features for answer in answers] == [(), ("c",), ("c",), ("c",), ("a", "b")]


@pytest.mark.parametrize(("deadline", "features"), [(73, ()), (75, ("a",))])
def test_after_a_failure_no_model_starts_that_would_be_late(deadline: int, features: tuple[str, ...]) -> None:
    """`b` fails 52 µs after the start: the model of `a` and the end take 22 more; that of both took 1."""
    bundle = lattice_bundle(
        [0.3, 0.6, 0.5, 0.9],
        [microseconds(10.0), microseconds(40.0)],
        models=[20 * US, 1 * US, 1 * US],
        dispatch=microseconds(4.0),
    )
    world = LatticeWorld(bundle)
    world.results["b"] = RuntimeError()

    answer = world.predictor(deadline * US).predict_one(1.0)

    assert world.calls == ["a", "b"]
    assert answer.features == features
    assert answer.deadline_met


# Laws, over worlds where four features have any costs, and sets any accuracies.

FEW = settings(max_examples=20, phases=(Phase.explicit, Phase.reuse, Phase.generate))
US_EACH = st.integers(1, 40)
N_SETS = 16


@st.composite
def worlds(draw: st.DrawFn, planned_with: str = "any") -> LatticeWorld:
    """Worlds whose bundle plans with less than its worst cases, or by nothing else."""
    costs = [microseconds(draw(US_EACH), draw(st.sampled_from((0.0, 0.1, 1.0)))) for _ in range(4)]
    accuracies = [0.3, *(k / 20 for k in draw(st.lists(st.integers(5, 19), min_size=15, max_size=15)))]
    step = draw(st.none() | st.tuples(st.integers(1, N_SETS - 1), US_EACH.map(microseconds)))
    models = [k * US for k in draw(st.lists(st.integers(1, 20), min_size=15, max_size=15))]
    around: dict[str, Any] = {name: microseconds(draw(US_EACH) / 8) for name in ("before", "after")}
    around["waking"] = microseconds(draw(st.integers(0, 40)))
    if planned_with == "worst":
        return LatticeWorld(lattice_bundle(accuracies, costs, models=models, dispatch=ZERO, step=step, **around))
    steps = () if step is None else (StepTime(STEP, *step),)
    guarded = unit_times(NAMES[:4], costs, steps, **around)
    shares = [draw(st.sampled_from((0.1, 0.5, 1.0))) for _ in range(6)]
    planned = unit_times(
        NAMES[:4],
        [cost * share for cost, share in zip(costs, shares, strict=False)],
        [StepTime(s.name, s.users, s.cost * shares[4]) for s in steps],
        **{name: cost * shares[5] for name, cost in around.items()},
        model_ratio=draw(st.sampled_from((0.5, 1.0))),
    )
    # The sums of worst cases: less for each unit, with an allowance once for the whole answer.
    less = draw(st.sampled_from((0.8, 1.0)))
    allowance = total([*costs, *(s.cost for s in steps), *around.values()]) * (1.0 - less)
    around = {name: cost * less for name, cost in around.items()}
    around["after"] += allowance
    bundle = lattice_bundle(
        accuracies,
        [cost * less for cost in costs],
        models=models,
        dispatch=ZERO,
        **around,
        step=None if step is None else (step[0], step[1] * less),
        guarded=guarded,
        planned=planned,
    )
    return LatticeWorld(bundle)


def times_of(bundle: Bundle) -> UnitTimes:
    return bundle.times.guarded


def let_take(world: LatticeWorld, n: float, share: Any) -> None:
    """Let every unit take `share()` of its worst case alone at size n, less the nanosecond that floats may lose."""
    times = times_of(world.bundle)
    names = [*times.names, *AROUND]
    costs = [*times.terms, *times.around]
    world.taken = {name: int((worst_ns(cost, n) - 1) * share()) for name, cost in zip(names, costs, strict=True)}
    world.models = [int((model.seconds * 1e9 - 1) * share()) for model in world.bundle.models]


sizes = st.sampled_from((1.0, 3.0, 20.0, 99.9, 100.0, 130.0))
failures = st.none() | st.tuples(st.sampled_from("abcd"), st.sampled_from((RuntimeError(), [np.nan], "x")))


@FEW
@given(worlds(), st.integers(30, 200), st.sampled_from(POLICIES), st.data())
def test_deadline_is_kept_if_no_unit_takes_longer_than_its_worst_case(
    world: LatticeWorld, deadline: int, policy: Policy, data: st.DataObject
) -> None:
    bundle = world.bundle
    deadline_s = max(deadline * US, bundle.times.worst.dispatch(100.0))
    predictor = world.predictor(deadline_s, policy=policy)
    shares = data.draw(st.sampled_from(((1.0,), (0.0, 1.0), (0.0, 1.0, 1.0, 1.0))))
    for n in data.draw(st.lists(sizes, min_size=1, max_size=5)):
        let_take(world, n, lambda: data.draw(st.sampled_from(shares)))
        world.results = dict([failure]) if (failure := data.draw(failures)) else {}

        answer = predictor.predict_one(n)

        assert answer.deadline_met
        assert answer.accuracy >= 0.3


@FEW
@given(worlds("worst"), st.integers(10, 200), st.sampled_from((1.0, 10.0, 100.0)))
def test_times_as_planned_give_at_least_what_the_strict_policy_gives(
    world: LatticeWorld, deadline: int, n: float
) -> None:
    deadline_s = max(deadline * US, world.bundle.times.worst.dispatch(n))
    let_take(world, n, lambda: 1.0)
    anytime, strict = (world.predictor(deadline_s, policy=policy).predict_one(n) for policy in POLICIES)

    assert anytime.accuracy >= strict.accuracy


@FEW
@given(worlds(), st.integers(20, 200), st.sampled_from(POLICIES))
def test_decision_tables_are_consistent(world: LatticeWorld, deadline: int, policy: Policy) -> None:
    predictor = world.predictor(max(deadline * US, world.bundle.times.worst.dispatch(1.0)), policy=policy)
    states = reachable(predictor._plans.hot.root)

    n_cells = len(predictor._plans.hot.cells) + 1
    for state in states:
        assert len(state.rows.worst_ns) == len(state.typical_ns) == n_cells
        for _, enough, best, ends, moves in map(state.rows.__getitem__, range(n_cells)):
            assert moves[0] is None
            going = [move for move in moves if move is not None]
            assert len(going) == len(ends) == len(moves) - 1
            assert (enough, best) == ((ends[-1], moves[-1]) if ends else (-np.inf, None))
            assert all(a < b for a, b in pairwise(ends))
            assert all(a.accuracy < b.accuracy for a, b in pairwise(going))
            for move in going:
                assert move.target & state.mask == state.mask
                assert move.target >> move.feature & 1
                assert move.after.mask == state.mask | 1 << move.feature != state.mask


def best_planned(state: State, cell: int, left_ns: float) -> float:
    *_, ends, moves = state.rows[cell]
    move = moves[int(np.searchsorted(ends, left_ns, side="right"))]
    return state.model.accuracy if move is None else move.accuracy


@FEW
@given(worlds(), st.sampled_from(POLICIES), st.lists(st.integers(0, 200_000), min_size=2, max_size=6).map(sorted))
def test_more_time_left_never_plans_for_less(world: LatticeWorld, policy: Policy, left: list[int]) -> None:
    predictor = world.predictor(200 * US, policy=policy)

    for state in reachable(predictor._plans.hot.root) if policy == "anytime" else [predictor._plans.hot.root]:
        for cell in range(len(state.typical_ns)):
            planned = [best_planned(state, cell, ns) for ns in left]
            assert planned == sorted(planned)


@FEW
@given(worlds("worst"), st.data())
def test_detours_are_the_best_of_all_targets_without_the_feature(world: LatticeWorld, data: st.DataObject) -> None:
    bundle, predictor = world.bundle, world.predictor(1000 * US)
    state = data.draw(st.sampled_from(reachable(predictor._plans.hot.root)))
    n, left_us = data.draw(sizes), data.draw(st.integers(0, 200))
    banned = data.draw(st.integers(0, N_SETS - 1)) & ~state.mask
    worst = bundle.times.worst
    end = worst.after(n) + (0.0 if state.mask else worst.waking(n))

    def rest(mask: int) -> float:
        steps = [s.cost(n) for s in worst.steps if s.users & mask and not s.users & state.mask]
        return sum([worst.features[i](n) for i in members(mask & ~state.mask)]) + sum(steps) + end

    def guard(m: ModelEntry) -> float:
        """Return the time for the next feature and whichever model answers if the plan ends there or at its target."""
        after = state.mask | 1 << state.next_of(m.mask, 0)
        number = predictor.models.best(np.array([after]))[0].number
        return rest(after) + max(m.seconds, 0.0 if number < 0 else bundle.models[number].seconds)

    move = state.detour(banned, n, 0, left_us * 1e3)

    better = [
        m
        for m in bundle.models
        if m.mask & state.mask == state.mask
        and not m.mask & banned
        and m.accuracy > state.model.accuracy
        and max(rest(m.mask) + m.seconds, guard(m)) <= left_us * US
    ]
    assert (move is None) == (not better)
    if move is not None:
        assert move.accuracy == max(m.accuracy for m in better)
        assert not move.target & banned


@FEW
@given(worlds(), st.sampled_from("abcd"), st.sampled_from(POLICIES), st.lists(sizes, min_size=1, max_size=5))
def test_feature_that_is_out_is_in_no_answer(world: LatticeWorld, out: str, policy: Policy, items: list[float]) -> None:
    predictor = world.predictor(150 * US, policy=policy)
    for _ in range(3):
        predictor.report_failure(out)

    for n in items:
        assert out not in predictor.predict_one(n).features
    assert out not in world.calls


@FEW
@given(
    st.tuples(st.floats(0.0, 1e6), st.floats(1e-3, 1e6)).map(lambda pair: (min(pair), max(pair))),
    st.lists(st.floats(1e-3, 1e8), max_size=4),
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9),
)
def test_size_cells_are_conservative(span: tuple[float, float], exact: list[float], places: list[float]) -> None:
    ends = size_cells(span, exact)

    assert all(a < b for a, b in pairwise(ends))
    assert {size for size in exact if size < span[1]} <= set(ends)
    assert span[1] in ends
    cost = CostFunction.of(1.0, log=1.0, linear=1.0, square=1.0)
    for place in places:
        n = span[0] + place * (16.0 * span[1] / 1.0001 - span[0])
        end = ends[int(np.searchsorted(ends, n))] if n <= ends[-1] else math.inf
        assert end == math.inf or cost(end) >= cost(n)
        widest = 1.0601 if n <= span[1] else 1.2501
        assert end == math.inf or n < max(span[0], 1e-9 * span[1]) or end <= widest * n


def test_predictor_never_plans_a_set_worse_than_the_prior() -> None:
    accuracies = [0.9, 0.5, 0.6, 0.7]
    for policy in POLICIES:
        world = LatticeWorld(lattice_bundle(accuracies, COSTS[:2]))
        predictor = world.predictor(500 * US, policy=policy)

        assert predictor.predict_one(1.0).features == ()
        assert world.calls == []
