"""Bounds on the fewest trainings that settle every set, with all collections of trainings as the oracle."""

import math
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples.paper.algorithms.fewest_trainings import fewest_trainings
from polydom_builder.exceptions import LatticeError
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime.costs import CostFunction
from tests import synthetic
from tests.builder.lattice.test_lattice import EVERYTHING, constant_costs
from tests.draws import draws
from tests.property import strategies as own
from tests.property.lattice_oracle import ROUNDING, score_of, worst_ratio

law = settings(max_examples=draws(15, 30), derandomize=True)


class Oracle:
    """Says by double loops whether trained sets settle every set that fits."""

    def __init__(
        self, scores: NDArray[np.float64], costs: SetCosts, region: QueryRegion, alpha: float, tolerance: float
    ) -> None:
        self.scores, self.alpha, self.tolerance = scores.tolist(), alpha, tolerance
        prepared = Costs(costs.weights(np.arange(len(scores))), region)
        seen = [prepared.covered_by(prepared, row) for row in range(len(scores))]
        # A subset of what covers S covers S, though a near tie may hide it.
        self.covers = [
            np.any([seen[p] for p in range(len(scores)) if p & r == r], axis=0).tolist() for r in range(len(scores))
        ]
        self.fitting = np.flatnonzero(np.isfinite(prepared.far)).tolist()

    def settled(self, trained: Iterable[int]) -> bool:
        chosen = set(trained)
        return all(s in chosen or self._by_witnesses(s, chosen) for s in self.fitting)

    def _by_witnesses(self, s: int, trained: set[int]) -> bool:
        lower = max((self.scores[r] for r in trained if self.covers[r][s]), default=-math.inf)
        upper = min((self.scores[t] for t in trained if s & ~t == 0), default=math.inf)
        return self.alpha * lower >= upper + self.tolerance


@law
@given(st.data(), own.set_costs(max_features=3), own.alphas, own.tolerances)
def test_the_fewest_trainings_lie_between_the_bounds(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float
) -> None:
    """No collection of fewer than `at_least` sets settles every set, and `enough` does."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))
    oracle = Oracle(scores, costs, region, alpha, tolerance)

    found = fewest_trainings(scores, costs, region, alpha=alpha, tolerance=tolerance)

    masks = range(len(scores))
    fewest = next(k for k in range(len(scores) + 1) if any(map(oracle.settled, combinations(masks, k))))
    assert found.at_least <= fewest <= len(found.enough)
    assert oracle.settled(found.enough)


@law
@given(st.data(), own.set_costs(max_features=5), own.alphas, own.tolerances)
def test_what_is_enough_settles_every_set_and_none_of_it_is_needless(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float
) -> None:
    """Each of the sets is missed by some set; and together they keep the promise for every query."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))
    oracle = Oracle(scores, costs, region, alpha, tolerance)

    enough = fewest_trainings(scores, costs, region, alpha=alpha, tolerance=tolerance).enough

    assert list(enough) == sorted(set(enough))
    assert oracle.settled(enough)
    assert not any(oracle.settled(set(enough) - {mask}) for mask in enough)
    assert worst_ratio(enough, scores, costs, region) <= alpha * (1 + ROUNDING)


@law
@given(st.data(), own.set_costs(), own.alphas, own.tolerances, st.integers(1, 3))
def test_best_first_never_trains_fewer(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float, batch: int
) -> None:
    """A search that does not know the scores cannot beat the bound for who does."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))
    slack: dict[str, Any] = {"alpha": alpha, "tolerance": tolerance}

    trained = expand_best_first(costs, region, score_of(scores), batch=batch, **slack)

    assert fewest_trainings(scores, costs, region, **slack).at_least <= len(trained)


@pytest.mark.parametrize("kind", ["cf1", "cfinf", "saturating"])
@pytest.mark.parametrize("budgets", [(0.0, math.inf), (3e3, 3e3)])
def test_bounds_are_close_on_the_papers_scores(kind: str, budgets: tuple[float, float]) -> None:
    """With 8 features at alpha = 1.1 the bounds are within a factor of 1.5 of each other, and best-first is above."""
    rng = np.random.default_rng(1)
    costs, scores = synthetic.costs(8, rng), synthetic.scores(kind, 8, rng)
    region = QueryRegion(synthetic.SIZES, budgets)

    found = fewest_trainings(scores, costs, region, alpha=1.1)

    trained = expand_best_first(costs, region, score_of(scores), alpha=1.1)
    assert found.at_least <= len(found.enough) <= 1.5 * found.at_least
    assert found.at_least <= len(trained)
    assert Oracle(scores, costs, region, 1.1, 0.0).settled(found.enough)


def test_all_sets_are_needed_where_each_is_dearer_and_better() -> None:
    """At alpha = 1 nothing is spared if a higher cost always buys a higher score."""
    costs = constant_costs(1.0, 2.0, 4.0)

    found = fewest_trainings(np.arange(8) / 8, costs, EVERYTHING)

    assert found.at_least == 8
    assert found.enough == tuple(range(8))


def test_two_trainings_are_enough_where_no_score_matters() -> None:
    """The empty set is within alpha of all, which the full set proves."""
    found = fewest_trainings(np.linspace(0.5, 0.55, 16), constant_costs(1.0, 1.0, 1.0, 1.0), EVERYTHING, alpha=1.2)

    assert found.at_least == 2
    assert found.enough == (0, 15)


def test_nothing_need_be_trained_where_nothing_fits() -> None:
    """Even the empty set costs more than the deadline."""
    costs = SetCosts([CostFunction.of(1.0)], base=CostFunction.of(10.0))

    found = fewest_trainings(np.array([0.5, 0.6]), costs, QueryRegion((1.0, 2.0), (5.0, 5.0)))

    assert found.at_least == 0
    assert found.enough == ()


@pytest.mark.parametrize(
    ("scores", "slack", "message"),
    [
        (np.array([0.5, 0.6]), {"alpha": 0.9}, "alpha"),
        (np.array([0.5, 0.6]), {"tolerance": -0.1}, "tolerance"),
        (np.array([0.5, 0.6, 0.7]), {}, "one number for each of 2 sets"),
        (np.array([0.5, math.nan]), {}, "finite"),
        (np.array([-0.5, 0.6]), {"alpha": 1.1}, "negative"),
    ],
)
def test_impossible_parameters_are_refused(scores: NDArray[np.float64], slack: dict[str, float], message: str) -> None:
    """The message names what is wrong."""
    with pytest.raises(LatticeError, match=message):
        fewest_trainings(scores, constant_costs(1.0), EVERYTHING, **slack)


def test_too_many_features_are_refused() -> None:
    """The tables of all pairs would not fit."""
    with pytest.raises(LatticeError, match=r"at most 13 features\. Got 14"):
        fewest_trainings(np.zeros(1 << 14), constant_costs(*[1.0] * 14), EVERYTHING)
