"""The lattice searches and limits through the same front door, and the tolerance."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from polydom_builder.exceptions import LatticeError
from polydom_builder.lattice.monotonicity import estimate_tolerance
from polydom_builder.verification.verify import verify_bundle
from polydom_runtime import Predictor
from polydom_runtime.exceptions import BundleFormatError
from tests.builder import task
from tests.builder.searches import QUERIES, fit, search

US = task.US


@pytest.mark.parametrize("lattice", ["best-first", "layers", "all"])
def test_each_complete_lattice_search_keeps_the_promise(lattice: str, every_score: list[float], tmp_path: Path) -> None:
    found = fit(search(lattice=lattice, tolerance=0.1))

    for n, budget in QUERIES:
        best = max(every_score[m] for m in range(32) if m == 0 or found.set_costs_(m)(n) <= budget)
        assert 1.02 * found.index_.best(n, budget).accuracy >= best - 1e-12
    found.export(tmp_path / "b")
    assert verify_bundle(tmp_path / "b").ok


def test_search_as_printed_builds_a_bundle_without_a_proof(tmp_path: Path) -> None:
    fit(search(lattice="as-printed")).export(tmp_path / "b")

    Predictor.load(tmp_path / "b", task.space)
    with pytest.raises(BundleFormatError, match="built without it"):
        verify_bundle(tmp_path / "b")


def test_all_indexes_answer_alike() -> None:
    ours, *others = [fit(search(index=index)).index_ for index in ("envelope", "sweep", "all-crossings", "scan")]

    for other in others:
        assert [ours.best(n, c).mask for n, c in QUERIES] == [other.best(n, c).mask for n, c in QUERIES]


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
    alphas = [fit(search(alpha=1.0, tolerance=0.05, max_trainings=limit)) for limit in (3, 6, 12, 32)]

    assert [len(found.expanded_) for found in alphas[:2]] == [3, 6]
    assert all(a.alpha_ >= b.alpha_ for a, b in pairwise(alphas))
    for found in alphas:
        for n, budget in QUERIES:
            best = max(every_score[m] for m in range(32) if m == 0 or found.set_costs_(m)(n) <= budget)
            assert found.alpha_ * found.index_.best(n, budget).accuracy >= best - 1e-12
    with pytest.raises(LatticeError, match="empty and the full set"):
        fit(search(max_trainings=1))
