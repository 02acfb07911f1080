"""Other estimators train the sets on which they promise more at some query, and no others."""

from typing import Any

import numpy as np
import pytest

from polydom_builder.families.other_families import OtherFamilies
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime import CostFunction
from tests.builder.families.test_family_choice import N, family

FEATURES = [CostFunction.of(2.0**i) for i in range(N)]


def others(budgets: tuple[float, float], n_known: int = 3, **scores: Any) -> tuple[OtherFamilies, dict[int, float]]:
    """Return a search whose first family, of 10 a model, has explored 60 sets; the other one takes 5."""
    first, other = family("trees", 10.0, more=0.1), family("lines", 5.0, **scores)
    masks = [0, 255, *np.random.default_rng(0).permutation(255)[:58].tolist()]
    explored = dict(zip(masks, first.trainer.scores(masks), strict=True))
    other.trainer.scores([255, 15, 3][:n_known])
    every = (1 << N) - 1
    costs = {f.name: SetCosts(FEATURES, [(CostFunction.of(f.seconds), every)]) for f in (first, other)}
    found = OtherFamilies([first, other], costs, QueryRegion((1.0, 1.0), budgets), explored)
    return found, other.trainer.known  # type: ignore[return-value]


def test_a_quick_estimator_trains_what_slow_ones_have_no_time_for() -> None:
    """From 6 to 12, a slow model has time for no more than two features, a quick one for seven."""
    found, known = others((6.0, 12.0), more=0.05)

    found.train(20, lambda: True)

    costs = [found.costs["lines"](mask)(1.0) for mask in known if mask not in (255, 15, 3)]
    assert costs
    assert max(costs) <= 12.0


def test_an_estimator_that_is_worse_everywhere_is_tried_on_some_of_the_best_sets_only() -> None:
    found, known = others((20.0, 300.0), more=-0.3)

    found.train(20, lambda: True)

    assert 3 < len(known) <= 3 + 20 // 3


@pytest.mark.parametrize(("most", "trained"), [(0, 0), (5, 5)])
def test_no_more_are_trained_than_allowed(most: int, trained: int) -> None:
    found, known = others((6.0, 300.0), more=0.2)

    found.train(most, lambda: True, batch=3)

    assert len(known) == 3 + trained


@pytest.mark.parametrize(("noise", "times", "is_kept"), [(0.9, 1.0, False), (0.9, 0.0, True), (0.0, 1.0, True)])
def test_models_that_are_better_within_noise_are_not_kept(noise: float, times: float, is_kept: bool) -> None:
    """The full set scores most; if that may be noise, a cheaper one takes its place."""
    found, known = others((20.0, 300.0), more=0.2, noise=noise)
    found.train(12, lambda: True)

    kept = found.better([*found.explored], times)

    assert {(family.name, mask in known) for family, mask in kept} <= {("lines", True)}
    assert (255 in {mask for _, mask in kept}) == is_kept


def test_nothing_is_trained_when_the_time_is_over() -> None:
    found, known = others((6.0, 300.0), more=0.2)

    found.train(5, lambda: False)

    assert len(known) == 3


def test_nothing_is_trained_by_an_estimator_that_was_never_compared() -> None:
    found, known = others((6.0, 300.0), n_known=0, more=0.2)

    found.train(5, lambda: True)

    assert len(known) == 0
