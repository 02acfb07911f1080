"""Times of units and their sums over sets, against sums written out."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime import CostFunction, Feature, FeatureSpace, Step, UnitTimes
from polydom_runtime.bundles.unit_times import StepTime, step_users
from polydom_runtime.costs import ZERO
from polydom_runtime.features import members

F = 6
costs = st.builds(CostFunction.of, *[st.integers(0, 100).map(float)] * 6)


@st.composite
def times(draw: st.DrawFn) -> UnitTimes:
    users = draw(st.lists(st.integers(1, (1 << F) - 1), max_size=3))
    steps = [f"s{k}" for k in range(len(users))]
    terms = draw(st.lists(costs, min_size=F + len(users), max_size=F + len(users)))
    return UnitTimes((*"abcdef", *steps), tuple(users), tuple(terms), draw(costs), draw(costs), draw(costs))


masks = st.integers(0, (1 << F) - 1)


def summed(times: UnitTimes, mask: int, done: int = 0) -> np.ndarray:
    """Return the weights of the features in `mask` and not in `done`, their steps and waking, added one by one."""
    total = np.array(times.waking.weights if mask and not done else ZERO.weights)
    for feature in members(mask & ~done):
        total += times.features[feature].weights
    for step in times.steps:
        if step.users & mask and not step.users & done:
            total += step.cost.weights
    return total


@given(times(), masks)
def test_time_of_a_set_is_dispatch_and_its_units(times: UnitTimes, mask: int) -> None:
    assert times.of_set(mask).weights == tuple(summed(times, mask) + times.dispatch.weights)


@given(times(), st.lists(st.tuples(masks, masks), min_size=1, max_size=9))
def test_times_of_many_sets_leave_out_what_is_done(times: UnitTimes, pairs: list[tuple[int, int]]) -> None:
    wanted, done = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))

    assert times.of_sets(wanted, done).tolist() == [summed(times, w, d).tolist() for w, d in pairs]
    assert times.of_sets(wanted, int(done[0])).tolist() == [summed(times, w, pairs[0][1]).tolist() for w, _ in pairs]


@given(times(), st.permutations(range(F)), st.integers(1, F))
def test_part_costs_what_the_whole_costs_for_the_same_features(times: UnitTimes, order: list[int], size: int) -> None:
    chosen = order[:size]
    part = times.part(chosen)

    assert part.names[:size] == tuple(times.names[i] for i in chosen)
    for mask in range(1 << size):
        whole = sum(1 << chosen[i] for i in members(mask))
        assert part.of_set(mask) == times.of_set(whole)


def test_part_has_its_steps_in_the_order_of_the_space_that_is_left() -> None:
    first, second = Step("first", np.asarray), Step("second", np.asarray)
    space = FeatureSpace(
        [Feature("a", len, step=first), Feature("b", len, step=second), Feature("c", len, step=first)], size=len
    )
    steps = {"first": (("a", "c"), ZERO), "second": (("b",), ZERO)}
    times = UnitTimes.given(dict.fromkeys("abc", ZERO), steps)

    part = times.part([1, 2])

    assert [(step.name, step.users) for step in times.steps] == list(step_users(space))
    assert [(step.name, step.users) for step in part.steps] == list(step_users(space.part(["b", "c"])))


@given(times(), st.integers(0, 8))
def test_scaled_times_and_more_of_dispatch(times: UnitTimes, factor: int) -> None:
    more = CostFunction.of(3.0)

    assert times.scaled(factor).of_set(0b101) == times.of_set(0b101) * factor
    assert times.plus_dispatch(more).of_set(0b11) == times.of_set(0b11) + more
    assert times.plus_dispatch(more) == replace(
        times, before=times.before + CostFunction.of(1.5), after=times.after + CostFunction.of(1.5)
    )


@given(times())
def test_times_between_lie_between_in_every_unit(low: UnitTimes) -> None:
    high = low.mapped(lambda cost: cost * 2.0 + CostFunction.of(4.0))

    assert low.between(high, 0.25) == low.mapped(lambda cost: cost * 1.25 + CostFunction.of(1.0))


def test_given_times_stand_by_name() -> None:
    times = UnitTimes.given(
        {"a": CostFunction.of(1.0), "b": CostFunction.of(2.0)},
        {"step": (("b",), CostFunction.of(4.0))},
        before=CostFunction.of(1.0),
        after=CostFunction.of(2.0),
        waking=CostFunction.of(32.0),
        dispatch=CostFunction.of(5.0),
        model=16.0,
    )

    assert times.steps == (StepTime("step", 0b10, CostFunction.of(4.0)),)
    assert [cost(1.0) for cost in times.around] == [3.5, 32.0, 4.5]
    assert [times.of_set(mask)(1.0) for mask in range(4)] == [8.0, 41.0, 46.0, 47.0]
    assert times.model == 16.0
