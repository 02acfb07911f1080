"""The progressive modality, and searches that start from what is known."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from polydom_builder.exceptions import LatticeError
from polydom_builder.lattice import feasible, progressive
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.lattice.candidates import select_candidates
from polydom_builder.lattice.monotonicity import estimate_tolerance
from polydom_builder.lattice.progressive import expand_progressively, proven_alpha
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime.costs import CostFunction
from tests.builder.lattice.test_lattice import EVERYTHING, constant_costs, flat
from tests.draws import draws
from tests.property import strategies as own
from tests.property.lattice_oracle import ROUNDING, score_of, worst_ratio

law = settings(max_examples=draws(12, 25), derandomize=True)

ALPHAS = (2.0, 1.5, 1.2, 1.1, 1.02, 1.0)
falling = st.lists(st.sampled_from(ALPHAS), min_size=1, unique=True).map(lambda alphas: sorted(alphas, reverse=True))


class Hours:
    """A clock that only trainings turn, by an hour a set."""

    def __init__(self, scores: NDArray[np.float64]) -> None:
        self.now = 0.0
        self._score = score_of(scores)

    def __call__(self) -> float:
        return self.now

    def score(self, masks: list[int]) -> list[float]:
        self.now += len(masks)
        return self._score(masks)


def ratios(
    expanded: Mapping[int, float], costs: SetCosts, region: QueryRegion, tolerance: float
) -> list[tuple[float, float]]:
    """Return lb and ub of each untrained set that fits, by double loops."""
    n_sets = 1 << costs.n_features
    prepared = Costs(costs.weights(np.arange(n_sets)), region)
    covers = [prepared.covered_by(prepared, row) for row in range(n_sets)]
    return [
        (
            max((a for r, a in expanded.items() if covers[r][s]), default=-math.inf),
            min((a + tolerance for t, a in expanded.items() if s & ~t == 0), default=math.inf),
        )
        for s in range(n_sets)
        if s not in expanded and np.isfinite(prepared.far[s])
    ]


def settles(alpha: float, bounds: Sequence[tuple[float, float]]) -> bool:
    return all(alpha * low >= high for low, high in bounds)


@law
@given(st.data(), own.set_costs(max_features=4), own.tolerances, st.booleans())
def test_proven_alpha_is_the_smallest_that_settles_every_set(
    data: st.DataObject, costs: SetCosts, tolerance: float, many: bool
) -> None:
    """It settles all untrained sets that fit, anything less does not; inf stands for none, as with negative scores."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance)) - data.draw(st.sampled_from((0.0, 0.5, 2.0)))
    trained = data.draw(st.sets(st.integers(0, len(scores) - 1)))
    trained |= data.draw(st.sampled_from((set(), {0, len(scores) - 1})))
    expanded = {mask: float(scores[mask]) for mask in trained}

    with mock.patch.object(feasible, "EASY_SETS", 2 if many else 1 << 16):
        alpha = proven_alpha(expanded, costs, region, tolerance)

    bounds = ratios(expanded, costs, region, tolerance)
    if alpha == math.inf:
        assert not settles(1.0, bounds)
        assert not settles(1e12, bounds)
    else:
        assert alpha >= 1.0
        assert settles(alpha, bounds)
        assert alpha == 1.0 or not settles(alpha * (1 - ROUNDING), bounds)


@law
@given(st.data(), own.set_costs(max_features=4), falling, own.tolerances, st.integers(1, 3), st.integers(2, 20))
def test_what_comes_back_keeps_the_promise_of_its_alpha(
    data: st.DataObject, costs: SetCosts, alphas: list[float], tolerance: float, batch: int, budget: int
) -> None:
    """Whenever the budget ends, the trained sets and their candidates answer each query within the proven alpha."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))
    score = score_of(scores)  # fails if a set is asked for twice

    progress = expand_progressively(
        costs, region, score, alphas=alphas, tolerance=tolerance, batch=batch, max_trainings=budget
    )

    slack = {"alpha": progress.alpha, "tolerance": tolerance}
    kept = select_candidates(progress.expanded, costs, region, **slack)
    assert len(progress.expanded) <= budget
    assert worst_ratio(progress.expanded, scores, costs, region) <= progress.alpha * (1 + ROUNDING)
    assert worst_ratio(kept, scores, costs, region) <= progress.alpha * (1 + ROUNDING)


@law
@given(st.data(), own.set_costs(max_features=4), falling, own.tolerances, st.integers(1, 3))
def test_with_budget_for_every_set_the_last_alpha_is_proven(
    data: st.DataObject, costs: SetCosts, alphas: list[float], tolerance: float, batch: int
) -> None:
    """Then the last search is completed, and more may be proven than it asked for."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))

    progress = expand_progressively(
        costs, region, score_of(scores), alphas=alphas, tolerance=tolerance, batch=batch, max_trainings=len(scores)
    )

    again = expand_best_first(
        costs, region, score_of(scores), alpha=alphas[-1], tolerance=tolerance, known=progress.expanded
    )
    assert 1.0 <= progress.alpha <= alphas[-1]
    assert again == progress.expanded


@law
@given(st.data(), own.set_costs(max_features=4), own.tolerances, st.integers(2, 16), st.integers(1, 3))
def test_tolerance_that_is_estimated_is_the_largest_violation_and_the_alpha_is_proven_for_it(
    data: st.DataObject, costs: SetCosts, violated: float, budget: int, batch: int
) -> None:
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, violated))

    progress = expand_progressively(
        costs,
        region,
        score_of(scores),
        alphas=ALPHAS,
        tolerance=None,
        quantile=1.0,
        batch=batch,
        max_trainings=budget,
    )

    assert progress.tolerance == estimate_tolerance(progress.expanded, 1.0)
    assert len(progress.expanded) <= budget
    assert settles(progress.alpha * (1 + ROUNDING), ratios(progress.expanded, costs, region, progress.tolerance))


@law
@given(st.data(), own.set_costs(min_features=2, max_features=3), st.integers(1, 3))
def test_a_larger_budget_never_proves_less(data: st.DataObject, costs: SetCosts, batch: int) -> None:
    """The same trainings come first, whatever the budget."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features))
    runs = [
        expand_progressively(costs, region, score_of(scores), alphas=ALPHAS, batch=batch, max_trainings=budget)
        for budget in range(2, len(scores) + 1)
    ]

    for less, more in pairwise(runs):
        assert list(less.expanded) == list(more.expanded)[: len(less.expanded)]
        assert less.alpha >= more.alpha


@law
@given(st.data(), own.set_costs(max_features=4), st.floats(0.5, 20.0), st.integers(1, 3))
def test_no_batch_begins_after_the_time_is_up(data: st.DataObject, costs: SetCosts, hours: float, batch: int) -> None:
    """But for the empty and the full set, each batch begins within the time given."""
    region = data.draw(own.regions(costs))
    clock = Hours(data.draw(own.scores(costs.n_features)))

    progress = expand_progressively(
        costs, region, clock.score, alphas=ALPHAS, batch=batch, max_seconds=hours, clock=clock
    )

    assert {0, (1 << costs.n_features) - 1} <= progress.expanded.keys()
    assert len(progress.expanded) == clock.now
    assert clock.now == 2.0 or clock.now < hours + batch


def test_what_was_completed_with_a_smaller_tolerance_does_not_count() -> None:
    """Two trainings complete α = 1.5. The third shows a violation of .2, so that {1} may score .8 + .2, over .6."""
    scores = [0.6, 0.4, 0.4, 0.8]

    progress = expand_progressively(
        constant_costs(1.0, 2.0),
        EVERYTHING,
        lambda masks: [scores[m] for m in masks],
        alphas=(2.0, 1.5, 1.2),
        tolerance=None,
        quantile=1.0,
        max_trainings=3,
    )

    assert progress.alpha == pytest.approx(1.0 / 0.6)
    assert progress.tolerance == pytest.approx(0.2)


def test_part_of_a_batch_is_trained_with_the_last_of_the_budget() -> None:
    """A budget of 5 pays for the two ends and three more sets, whatever the batch."""
    costs = constant_costs(*[1.0] * 5)

    progress = expand_progressively(
        costs,
        EVERYTHING,
        lambda masks: [1.0 + m.bit_count() for m in masks],
        alphas=(1.5, 1.0),
        batch=4,
        max_trainings=5,
    )

    assert len(progress.expanded) == 5
    assert 1.5 < progress.alpha < 6.0


def test_all_that_the_sets_prove_is_said_though_a_larger_alpha_was_asked_for() -> None:
    """Two trainings complete α = 2 and prove 1.2."""
    progress = expand_progressively(
        constant_costs(1.0, 1.0),
        EVERYTHING,
        lambda masks: [0.5 + 0.05 * m.bit_count() for m in masks],
        alphas=[2.0],
        max_trainings=4,
    )

    assert list(progress.expanded) == [0, 3]
    assert progress.alpha == pytest.approx(1.2)


def test_lattice_too_large_to_look_at_proves_what_was_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing smaller is claimed, and nothing at all if no search was completed."""
    costs = SetCosts([CostFunction.of(linear=1.0 + i) for i in range(30)])
    monkeypatch.setattr(progressive, "sets_in_doubt", mock.Mock(side_effect=LatticeError("Too many.")))

    def score(masks: list[int]) -> list[float]:
        return [0.5 + 0.01 * m.bit_count() for m in masks]

    completed = expand_progressively(costs, EVERYTHING, score, alphas=(2.0, 1.9), max_trainings=10)
    cut_short = expand_progressively(constant_costs(1.0, 1.0), EVERYTHING, score, alphas=(1.0,), max_trainings=3)

    assert completed.alpha == 1.9
    assert cut_short.alpha == math.inf


def test_a_score_of_zero_proves_nothing() -> None:
    """No multiple of the empty set's 0 reaches what the single feature may score."""
    progress = expand_progressively(
        constant_costs(1.0, 1.0),
        EVERYTHING,
        lambda masks: [float(m == 3) for m in masks],
        alphas=(2.0,),
        max_trainings=2,
    )

    assert progress.alpha == math.inf


def test_no_features_cost_one_training() -> None:
    """The empty set is the full set."""
    progress = expand_progressively(constant_costs(), EVERYTHING, flat, alphas=(1.0,), max_trainings=1)

    assert progress.expanded == {0: 0.5}
    assert progress.alpha == 1.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alphas": ()}, "one or more"),
        ({"alphas": (2.0, 0.9)}, ">= 1"),
        ({"alphas": (math.nan,)}, ">= 1"),
        ({"alphas": (1.5, 2.0)}, "must fall strictly"),
        ({"alphas": (2.0, 1.5, 1.5)}, "must fall strictly"),
        ({"max_trainings": None}, "must have a budget"),
        ({"max_trainings": 1}, "empty and the full set.*at least 2. Got 1"),
        ({"max_seconds": 0.0}, "max_seconds"),
        ({"max_seconds": math.nan}, "max_seconds"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"batch": 0}, "batch"),
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, Any], message: str) -> None:
    """The message says what must hold and what was got; nothing is trained."""
    arguments: dict[str, Any] = {"alphas": (2.0, 1.5), "max_trainings": 5} | wrong
    score = mock.Mock(side_effect=AssertionError)

    with pytest.raises(LatticeError, match=message):
        expand_progressively(constant_costs(1.0, 1.0), EVERYTHING, score, **arguments)


@law
@given(st.data(), own.set_costs(max_features=4), own.alphas, own.tolerances, st.integers(1, 3))
def test_known_sets_are_not_asked_for_and_the_rest_is_settled(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float, batch: int
) -> None:
    """A search that starts from any known sets returns them too, and keeps the promise."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))
    known = {m: float(scores[m]) for m in data.draw(st.lists(st.integers(0, len(scores) - 1), unique=True))}

    def unknown(score: Callable[[list[int]], list[float]]) -> Callable[[list[int]], list[float]]:
        def ask(masks: list[int]) -> list[float]:
            assert known.keys().isdisjoint(masks)
            assert 0 < len(masks) <= batch
            return score(masks)

        return ask

    with mock.patch.object(feasible, "EASY_SETS", data.draw(st.sampled_from((4, 1 << 16)))):
        trained = expand_best_first(
            costs, region, unknown(score_of(scores)), alpha=alpha, tolerance=tolerance, batch=batch, known=known
        )

    assert {m: scores[m] for m in trained} == trained
    assert known.keys() | {0, len(scores) - 1} <= trained.keys()
    assert worst_ratio(trained, scores, costs, region) <= alpha * (1 + ROUNDING)


@pytest.mark.parametrize("known", [{}, None])
def test_nothing_known_is_the_plain_search(known: Mapping[int, float] | None) -> None:
    """Order included."""
    rng = np.random.default_rng(0)
    costs = SetCosts([CostFunction.of(i, linear=10.0 - i) for i in range(7)])
    scores = np.maximum.accumulate(rng.random(1 << 7))

    plain = expand_best_first(costs, EVERYTHING, score_of(scores), alpha=1.1, batch=3)

    assert list(expand_best_first(costs, EVERYTHING, score_of(scores), alpha=1.1, batch=3, known=known)) == list(plain)


@pytest.mark.parametrize(
    ("known", "message"), [({4: 0.5}, "0 to 3. Got 4"), ({-1: 0.5}, "Got -1"), ({1: math.nan}, "finite")]
)
def test_impossible_known_sets_are_refused(known: dict[int, float], message: str) -> None:
    """Masks of other features and scores that are no numbers would settle sets falsely."""
    with pytest.raises(LatticeError, match=message):
        expand_best_first(constant_costs(1.0, 1.0), EVERYTHING, flat, known=known)
