"""The lattice searches and limits through the same front door, and the tolerance."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.paper.systems import INDEXES
from polydom_builder import QueryRegion
from polydom_builder.exceptions import LatticeError
from polydom_builder.exploration import explore_best_first
from polydom_builder.lattice.monotonicity import estimate_tolerance
from polydom_builder.sets.set_costs import SetCosts
from polydom_builder.verification.verify import verify_bundle
from polydom_runtime import CostFunction
from tests.builder import task
from tests.builder.searches import QUERIES, fit, search

US = task.US


def test_a_search_with_a_tolerance_keeps_its_promise(every_score: list[float], tmp_path: Path) -> None:
    found = fit(search(tolerance=0.1))

    for n, budget in QUERIES:
        best = max(every_score[m] for m in range(32) if m == 0 or found.set_costs_(m)(n) <= budget)
        assert 1.02 * found.index_.best(n, budget).accuracy >= best - 1e-12
    found.export(tmp_path / "b")
    assert verify_bundle(tmp_path / "b").ok


def test_the_paper_s_indexes_answer_like_the_built_one() -> None:
    found = fit(search())

    for build in INDEXES.values():
        other, _ = build(found.candidates_, found.region_)
        assert [found.index_.best(*query).mask for query in QUERIES] == [other.best(*query).mask for query in QUERIES]


def test_nothing_that_fits_an_item_is_better_than_the_best_set_by_one_feature() -> None:
    """Where features may do harm, the best-first search climbs from its best set; small items count too."""
    region, small_only = QueryRegion((10.0, 1000.0), (1.0, 100.0)), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        costs = SetCosts([CostFunction.of(rng.uniform(1, 30), linear=rng.uniform(0.0, 0.05)) for _ in range(5)])
        scores = [0.1, *rng.permutation(np.linspace(0.5, 0.9, 31)).tolist()]

        def score(masks: list[int], scores: list[float] = scores) -> list[float]:
            return [scores[mask] for mask in masks]

        found = explore_best_first(costs, region, score, alphas=(1.0,))

        best = max(found.expanded, key=found.expanded.__getitem__)
        near = [best ^ 1 << i for i in range(5)]
        if best != 0b11111:
            assert [m for m in near if costs(m)(10.0) <= 100.0 and scores[m] > scores[best]] == []
            small_only += any(costs(m)(10.0) <= 100.0 < costs(m)(1000.0) for m in near)
    assert small_only >= 5


def test_tolerance_is_estimated_from_what_was_trained() -> None:
    found = fit(search(tolerance="auto", tolerance_quantile=1.0))

    pairs = [(a, b) for a in found.expanded_ for b in found.expanded_ if a != b and a & b == a]
    largest = max(found.expanded_[a] - found.expanded_[b] for a, b in pairs)
    assert found.tolerance_ == pytest.approx(max(largest, 0.0))


@pytest.mark.parametrize("limit", [{"max_trainings": 20}, {"max_seconds": 1e4}, {"max_trainings": 40}])
def test_limits_go_with_an_estimated_tolerance(limit: dict[str, Any], every_score: list[float]) -> None:
    """The tolerance is the largest violation among the trained sets, and the promise holds with it."""
    found = fit(search(alpha=1.0, tolerance="auto", tolerance_quantile=1.0, **limit))

    assert len(found.expanded_) <= limit.get("max_trainings", 32)
    assert found.tolerance_ == estimate_tolerance(found.expanded_, 1.0) > 0.0
    for n, budget in QUERIES:
        best = max(every_score[m] for m in found.expanded_ if m == 0 or found.set_costs_(m)(n) <= budget)
        assert found.alpha_ * found.index_.best(n, budget).accuracy + found.tolerance_ >= best - 1e-12


def test_limited_trainings_prove_the_smallest_alpha_they_can(every_score: list[float]) -> None:
    """The tolerance exceeds every violation, so the promise holds for each set, trained or not."""
    alphas = [fit(search(alpha=1.0, tolerance=0.1, max_trainings=limit)) for limit in (3, 6, 12, 32)]

    assert [len(found.expanded_) for found in alphas[:2]] == [3, 6]
    assert all(a.alpha_ >= b.alpha_ for a, b in pairwise(alphas))
    for found in alphas:
        for n, budget in QUERIES:
            best = max(every_score[m] for m in range(32) if m == 0 or found.set_costs_(m)(n) <= budget)
            assert found.alpha_ * found.index_.best(n, budget).accuracy >= best - 1e-12
    with pytest.raises(LatticeError, match="empty and the full set"):
        fit(search(max_trainings=1))
