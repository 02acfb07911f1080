"""Costs of sets by a rule of the user, from the lattice to the node."""

from pathlib import Path

import numpy as np
import pytest

from polydom_builder.sets.combined_costs import upper
from polydom_builder.verification.verify import verify_bundle
from polydom_runtime import Feature, FeatureSpace, Predictor, Seams
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import ZERO, CostFunction
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.builder.searches import QUERIES, fit, search

US = task.US


def lanes(costs: dict[str, CostFunction]) -> CostFunction:
    """The two dear features run at the same time as the rest."""
    dear = sum((c for name, c in costs.items() if name in ("roughness", "turns")), ZERO)
    rest = sum((c for name, c in costs.items() if name not in ("roughness", "turns")), ZERO)
    return upper([dear, rest])


def test_cost_beyond_sums_is_honoured_from_the_lattice_to_the_bundle(every_score: list[float], tmp_path: Path) -> None:
    found, summed = fit(search(combine=lanes, tolerance=0.1)), fit(search(tolerance=0.1))
    bundle = found.export(tmp_path / "b")

    assert found.set_costs_(0b11111)(500) < summed.set_costs_(0b11111)(500)
    for number, entry in enumerate(bundle.models):
        assert bundle.candidate(number).cost.weights == pytest.approx(found.set_costs_(entry.mask).weights)
    for n, budget in QUERIES:
        best = max(every_score[m] for m in range(32) if m == 0 or found.set_costs_(m)(n) <= budget)
        assert 1.02 * found.index_.best(n, budget).accuracy >= best - 1e-12
    assert verify_bundle(tmp_path / "b").ok


def head(x: np.ndarray) -> list[float]:
    return [float(x[0])]


def second_of(x: np.ndarray) -> list[float]:
    return [float(x[1])]


def test_node_has_the_time_that_a_cost_beyond_sums_leaves(tmp_path: Path) -> None:
    """Each feature takes 100 µs alone, both take no more: within 120 µs both are computed."""
    clock, seconds = ManualClock(), [0.0]

    def timed(x: np.ndarray) -> list[float]:
        clock.advance(seconds=seconds[0])
        return head(x)

    space = FeatureSpace([Feature("a", timed), Feature("b", second_of)], size=len)
    costs = UnitTimes.given(
        dict.fromkeys("ab", CostFunction.of(100 * US)), dispatch=CostFunction.of(1 * US), model=5 * US
    )
    rng = np.random.default_rng(0)
    items = [rng.normal(size=5) for _ in range(120)]
    labels = [int(x[0] + x[1] > 0) for x in items]
    found = search(space=space, deadline=120 * US, combine=lambda parts: upper(parts.values()), alpha=1.0)
    found.fit(items, labels, costs=costs).export(tmp_path / "b")
    predictor = Predictor.load(tmp_path / "b", space, seams=Seams(clock=clock))

    for seconds[0] in (50 * US, 100 * US):
        assert predictor.predict_one(items[0]).features == ("a", "b")
