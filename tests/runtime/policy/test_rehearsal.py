"""Rehearsals: which items are kept, what is computed, and that nothing of it counts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polydom_runtime.bundles.references import References
from polydom_runtime.policy.rehearsal import BRIEF_NS, MAX_BYTES, RECENT, REPEATS, Kept, KeptItems
from polydom_runtime.prediction import Policy
from polydom_runtime.predictor import ANSWER_NS, Predictor, Seams
from polydom_runtime.testing import ManualClock
from tests.bundle_parts import with_regimes
from tests.runtime.lattice_world import US, LatticeWorld, lattice_bundle, microseconds

COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0), (0.1, 0.1, 0.1)))
ACCURACIES = [0.5 + 0.1 * mask.bit_count() for mask in range(8)]
DEADLINE = 100 * US


@pytest.fixture
def world() -> LatticeWorld:
    return LatticeWorld(with_regimes(lattice_bundle(ACCURACIES, COSTS), rehearsed=1 * US, cold=40 * US))


@pytest.fixture(params=["anytime", "strict"])
def predictor(world: LatticeWorld, request: pytest.FixtureRequest) -> Predictor:
    policy: Policy = request.param
    return world.predictor(DEADLINE, policy=policy)


def rehearse(world: LatticeWorld, predictor: Predictor) -> list[str]:
    """Rehearse after a sleep; return the features that were computed."""
    world.clock.advance(seconds=0.02)
    world.calls.clear()
    predictor.rehearse()
    return world.calls.copy()


def test_before_any_item_there_is_nothing_to_rehearse(world: LatticeWorld, predictor: Predictor) -> None:
    assert rehearse(world, predictor) == []


def test_item_to_warm_up_with_is_one_to_rehearse_with(world: LatticeWorld, predictor: Predictor) -> None:
    predictor.warm_up(1.0)

    assert set(rehearse(world, predictor)) == {"a", "b", "c"}


def test_all_features_of_the_plan_are_computed(world: LatticeWorld, predictor: Predictor) -> None:
    predictor.predict_one(1.0)

    assert set(rehearse(world, predictor)) == {"a", "b", "c"}


@pytest.mark.parametrize("unsteady", [("b",), ("a", "c"), ("a", "b", "c")])
def test_unsteady_features_are_computed_for_answers_alone(
    world: LatticeWorld, predictor: Predictor, unsteady: tuple[str, ...]
) -> None:
    """Such as one with a state, which another item would change."""
    world.bundle = replace(world.bundle, references=References(unsteady=unsteady))
    predictor = world.predictor(DEADLINE, policy=predictor.policy)
    predictor.warm_up(1.0)
    assert set(world.calls) == {"a", "b", "c"} - {*unsteady}
    world.calls.clear()
    assert set(predictor.predict_one(1.0).features) == {"a", "b", "c"}

    assert set(rehearse(world, predictor)) == {"a", "b", "c"} - {*unsteady}
    world.calls.clear()
    for _ in range(20):
        predictor.use_slack(1.0)
        predictor.predict_one(1.0)
    assert [world.calls.count(name) for name in unsteady] == [20] * len(unsteady)


def counted(predictor: Predictor) -> Any:
    """Return all that items count in."""
    book, trace = predictor._failures, predictor.trace
    return (
        predictor.slowdown,
        predictor.failures,
        predictor.out,
        predictor.n_oversized,
        predictor._items,
        book.streaks.copy(),
        (trace, trace.size, trace.features.copy(), trace.marks.copy()),
    )


@pytest.mark.parametrize("n", [1.0, 99.0, 150.0])
def test_nothing_of_a_rehearsal_counts(world: LatticeWorld, predictor: Predictor, n: float) -> None:
    predictor.predict_one(n)
    before = counted(predictor)
    world.slow_down(3.0)
    for _ in range(10):
        assert rehearse(world, predictor)

    assert counted(predictor) == before


def test_progress_is_of_real_items_only(world: LatticeWorld) -> None:
    progress = np.zeros(1, np.int64)
    predictor = world.predictor(DEADLINE, progress=progress)
    predictor.predict_one(1.0)
    progress[0] = 42
    rehearse(world, predictor)

    assert progress[0] == 42


def test_answers_are_the_same_as_without_rehearsals(world: LatticeWorld) -> None:
    plain, rehearsing = (world.predictor(DEADLINE, regime="hot") for _ in range(2))
    for n in np.random.default_rng(0).uniform(1.0, 100.0, 50).tolist():
        rehearse(world, rehearsing)
        world.clock.advance(seconds=1.0)

        assert rehearsing.predict_one(n) == plain.predict_one(n)


@pytest.mark.parametrize("result", [RuntimeError("sensor gone"), [np.nan], [1.0, 2.0], None])
def test_failing_feature_is_swallowed(world: LatticeWorld, predictor: Predictor, result: object) -> None:
    predictor.predict_one(1.0)
    world.results["b"] = result
    before = counted(predictor)

    assert {"a", "b"} <= set(rehearse(world, predictor))
    assert counted(predictor) == before


def test_feature_that_failed_last_time_is_left_out(world: LatticeWorld, predictor: Predictor) -> None:
    world.results["a"] = RuntimeError()
    predictor.predict_one(1.0)

    calls = rehearse(world, predictor)

    assert calls
    assert "a" not in calls


def test_failing_model_and_item_without_a_size_are_swallowed(world: LatticeWorld) -> None:
    def fail() -> int:
        raise RuntimeError

    predictor = Predictor(
        world.bundle, world.space, deadline=DEADLINE, seams=Seams(clock=world.clock, run_of=lambda _: fail)
    )
    predictor.predict_one(None)
    assert rehearse(world, predictor) == []
    predictor.predict_one(1.0)

    assert rehearse(world, predictor)


def test_long_deadline_is_not_used_up(world: LatticeWorld) -> None:
    """One feature takes longer than an answer in a rehearsal may."""
    predictor = world.predictor(1.0)
    predictor.predict_one(1.0)
    world.taken["a"] = 2 * ANSWER_NS

    calls = rehearse(world, predictor)

    assert 0 < len(calls) <= REPEATS + 1


# Which items are kept


def kept_of(sizes: list[float]) -> tuple[float, float]:
    kept = KeptItems()
    for size in sizes:
        kept.offer(np.zeros(int(size)), size)
    assert kept.small is not None
    assert kept.larger is not None
    return kept.small.size, kept.larger.size


def test_small_item_and_one_of_the_smaller_quarter_are_kept() -> None:
    sizes = np.random.default_rng(0).permutation(np.arange(1.0, 65.0)).tolist()
    small, larger = kept_of(sizes + sizes)

    assert small <= 4.0
    assert 15.0 <= larger <= 19.0


def test_kept_items_follow_the_sizes_that_come() -> None:
    small, larger = kept_of([1.0, 2.0, 3.0] * 10 + np.linspace(100.0, 200.0, 2 * RECENT).tolist())

    assert small >= 100.0
    assert larger >= 110.0


def test_array_is_kept_as_a_copy_as_long_as_it_is_small() -> None:
    kept, item = KeptItems(), np.arange(6.0).reshape(2, 3)[:, ::-1]
    kept.offer(item, 6.0)
    item[:] = 0.0

    assert kept.small is not None
    assert kept.small.item.tolist() == [[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]]


@pytest.mark.parametrize(
    ("item", "size"),
    [
        (np.zeros(MAX_BYTES // 8 + 1), 1.0),
        (None, 1.0),
        (np.zeros(3), float("nan")),
        (np.zeros(3), 0.0),
        (np.zeros(3), float("inf")),
    ],
)
def test_unfit_item_is_not_kept(item: object, size: float) -> None:
    kept = KeptItems()
    kept.offer(item, size)

    assert kept.small is kept.larger is None


def test_items_of_one_size_are_copied_once() -> None:
    kept = KeptItems()
    kept.offer(np.zeros(3), 3.0)
    first = kept.small
    for _ in range(10):
        kept.offer(np.ones(3), 3.0)

    assert kept.small is kept.larger is first


def answers(scores: list[float | None], microseconds: float, best: float = 0.8) -> tuple[list[str], KeptItems]:
    """Return which items a rehearsal answers, if the answers have these scores and each takes so long."""
    kept, clock, asked = KeptItems(), ManualClock(), list[str]()
    kept.small, kept.larger, kept.best = Kept("small", 1.0), Kept("larger", 8.0), best
    coming = iter(scores)

    def answer(item: Any) -> float | None:
        asked.append(item)
        clock.advance(seconds=microseconds * US)
        return next(coming)

    kept.rehearse(answer, clock, deadline_ns=100_000)
    return asked, kept


def test_small_item_is_repeated_until_it_gets_as_far_as_the_last_time() -> None:
    assert answers([0.8, 0.5], 1)[0] == ["small", "larger"]
    assert answers([0.6, 0.8, 0.5], 1)[0] == ["small", "small", "larger"]
    assert answers([0.6, 0.7, 0.7, 0.5], 1)[0] == [*["small"] * REPEATS, "larger"]


def test_score_to_reach_is_what_the_last_rehearsal_reached() -> None:
    kept = answers([0.6, 0.7, 0.6, 0.5], 1)[1]

    assert kept.best == 0.7


def test_no_answer_is_begun_when_the_rehearsal_took_long() -> None:
    asked = answers([0.6, 0.6, 0.6], BRIEF_NS / 1e3)[0]

    assert asked == ["small"]


def test_rehearsal_ends_with_an_item_that_cannot_be_answered() -> None:
    assert answers([None], 1)[0] == ["small"]
    assert answers([0.6, None], 1)[0] == ["small"] * 2
