"""Bounds on rates of misses against scipy's, which computes them by other means (the incomplete beta function)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from polydom_runtime.binomial import SamplingPlan, items_needed, lower_bound, misses_allowed, upper_bound

counts = st.integers(1, 1_000_000).flatmap(lambda items: st.tuples(st.integers(0, min(items, 2_000)), st.just(items)))
confidences = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999])
rates = st.floats(1e-4, 0.3)


@given(counts, confidences)
def test_bounds_are_those_of_clopper_and_pearson(count: tuple[int, int], confidence: float) -> None:
    misses, items = count

    highest = beta.ppf(confidence, misses + 1, items - misses) if misses < items else 1.0
    lowest = beta.ppf(1.0 - confidence, misses, items - misses + 1) if misses else 0.0
    assert upper_bound(misses, items, confidence) == pytest.approx(highest, rel=1e-6)
    assert lower_bound(misses, items, confidence) == pytest.approx(lowest, rel=1e-6)


@given(rates, confidences, st.integers(0, 20))
def test_fewest_items_that_prove_a_rate(rate: float, confidence: float, misses: int) -> None:
    items = items_needed(rate, confidence, misses)

    chance, slack = 1.0 - confidence, 1e-9
    assert binom.cdf(misses, items, rate) <= chance * (1.0 + slack)
    assert items == misses + 1 or binom.cdf(misses, items - 1, rate) >= chance * (1.0 - slack)


@given(st.integers(1, 100_000), rates, confidences)
def test_most_misses_that_prove_a_rate(items: int, rate: float, confidence: float) -> None:
    allowed = misses_allowed(items, rate, confidence)

    chance, slack, most = 1.0 - confidence, 1e-7, -1 if allowed is None else allowed
    assert most < 0 or binom.cdf(most, items, rate) <= chance * (1.0 + slack)
    assert binom.cdf(most + 1, items, rate) >= chance * (1.0 - slack)


@given(rates, confidences, st.integers(0, 20), rates)
def test_chance_of_a_proof_at_a_single_look(rate: float, confidence: float, misses: int, true_rate: float) -> None:
    plan = SamplingPlan.single_look(rate, confidence, misses)

    chance = binom.cdf(misses, plan.last, true_rate)  # right to seven digits where it is not tiny
    assert plan.chance_of_proof(true_rate) == pytest.approx(chance, rel=1e-7, abs=1e-100)
