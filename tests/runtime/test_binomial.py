"""Bounds on rates against exact arithmetic, and plans against item-by-item computation."""

import math
from bisect import bisect_left
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime.binomial import Look, SamplingPlan, items_needed, lower_bound, misses_allowed, upper_bound
from polydom_runtime.exceptions import CertificateError

counts = st.integers(1, 60).flatmap(lambda items: st.tuples(st.integers(0, items), st.just(items)))
confidences = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999])
PLANS = [
    SamplingPlan.single_look(0.05, 0.95),
    SamplingPlan.single_look(0.05, 0.95, misses=3),
    SamplingPlan.many_looks(0.05, 0.95, most_misses=8),
    SamplingPlan.many_looks(0.2, 0.99, most_misses=5),
    SamplingPlan.many_looks(0.02, 0.5, most_misses=3),
]


def at_most(misses: int, items: int, rate: float) -> float:
    """Return the probability of at most so many misses, term by term."""
    return math.fsum(math.comb(items, k) * rate**k * (1.0 - rate) ** (items - k) for k in range(misses + 1))


def item_by_item(plan: SamplingPlan, rate: float) -> tuple[float, float]:
    """Return the probabilities that a plan proves and that it refutes, until its last look, one item at a time."""
    chances = np.zeros(plan.last + 1)  # of so many misses, undecided
    chances[0] = 1.0
    proven = refuted = 0.0
    for items in range(1, plan.last + 1):
        chances[1:] = chances[1:] * (1.0 - rate) + chances[:-1] * rate
        chances[0] *= 1.0 - rate
        enough = bisect_left(range(items + 1), True, key=partial(plan.is_refutation, items=items))
        refuted += chances[enough:].sum()
        chances[enough:] = 0.0
        good = [m for m in range(items + 1) if plan.is_proof(m, items)]
        proven += chances[good].sum()
        chances[good] = 0.0
    return proven, refuted


def test_bounds_are_those_of_published_tables() -> None:
    """Of Clopper and Pearson's two-sided 95 % intervals for 10 of 100 and 1 of 20."""
    assert round(lower_bound(10, 100, 0.975), 4) == 0.0490
    assert round(upper_bound(10, 100, 0.975), 4) == 0.1762
    assert round(lower_bound(1, 20, 0.975), 4) == 0.0013
    assert round(upper_bound(1, 20, 0.975), 4) == 0.2487


@given(counts, confidences)
def test_at_the_upper_bound_so_few_misses_have_the_rest_of_the_confidence(
    count: tuple[int, int], confidence: float
) -> None:
    misses, items = count
    bound = upper_bound(misses, items, confidence)

    expected = 1.0 if misses == items else 1.0 - confidence
    assert at_most(misses, items, bound) == pytest.approx(expected, rel=1e-9)


@given(counts, confidences)
def test_at_the_lower_bound_so_many_misses_have_the_rest_of_the_confidence(
    count: tuple[int, int], confidence: float
) -> None:
    misses, items = count
    bound = lower_bound(misses, items, confidence)

    if misses == 0:
        assert bound == 0.0
    else:
        assert 1.0 - at_most(misses - 1, items, bound) == pytest.approx(1.0 - confidence, rel=1e-9)


def test_bounds_hold_for_a_million_items() -> None:
    low, high = lower_bound(1000, 1_000_000, 0.99), upper_bound(1000, 1_000_000, 0.99)
    normal = 2.326 * math.sqrt(1000)

    assert low * 1e6 == pytest.approx(1000 - normal, abs=3)
    assert high * 1e6 == pytest.approx(1000 + normal, abs=3)


def test_4603_clean_items_prove_a_permille_and_4602_do_not() -> None:
    assert items_needed(0.001, 0.99) == 4603
    assert 0.999**4603 <= 0.01 < 0.999**4602
    assert [items_needed(0.001, 0.99, misses) for misses in (1, 2)] == [6636, 8403]


@given(st.sampled_from([0.3, 0.05, 0.02]), confidences, st.integers(0, 12))
def test_items_needed_are_the_fewest_that_allow_so_many_misses(rate: float, confidence: float, misses: int) -> None:
    items = items_needed(rate, confidence, misses)

    assert misses_allowed(items, rate, confidence) == misses
    assert (misses_allowed(items - 1, rate, confidence) or -1) < misses or items == 1
    assert at_most(misses, items, rate) <= (1.0 - confidence) * (1.0 + 1e-9)
    assert upper_bound(misses, items, confidence) <= rate * (1.0 + 1e-9)


@pytest.mark.parametrize("plan", PLANS)
def test_more_misses_refute_where_fewer_do(plan: SamplingPlan) -> None:
    for items in (1, 7, 60, 200):
        refuted = [plan.is_refutation(misses, items) for misses in range(items + 1)]

        assert refuted == sorted(refuted)


@pytest.mark.parametrize("plan", PLANS)
def test_false_proofs_are_as_rare_as_the_confidence_says(plan: SamplingPlan) -> None:
    proven, _ = item_by_item(plan, plan.rate)

    assert proven <= plan.chance_of_proof(plan.rate) <= 1.0 - plan.confidence


@pytest.mark.parametrize("plan", PLANS)
def test_false_refutations_are_as_rare_as_the_confidence_says(plan: SamplingPlan) -> None:
    later = (Look(500, -1),) if len(plan.looks) > 1 else ()  # a look that proves nothing
    longer = SamplingPlan(plan.rate, plan.confidence, plan.looks + later)

    _, refuted = item_by_item(longer, plan.rate)

    assert 0.0 < refuted <= 1.0 - plan.confidence


@pytest.mark.parametrize("plan", PLANS)
def test_the_chance_of_proof_is_that_of_item_by_item_computation(plan: SamplingPlan) -> None:
    rate = plan.rate / 3  # refutations hardly take any of it away

    proven, refuted = item_by_item(plan, rate)

    assert proven <= plan.chance_of_proof(rate) <= proven + refuted + 1e-12


@pytest.mark.parametrize("confidence", [0.9, 0.99])
@pytest.mark.parametrize("rate", [0.001, 0.0003])
def test_many_looks_spend_all_but_the_last_share(rate: float, confidence: float) -> None:
    plan = SamplingPlan.many_looks(rate, confidence)
    allowed = 1.0 - confidence

    assert allowed * 20 / 22 < plan.chance_of_proof(rate) <= allowed * 21 / 22 * (1 + 1e-9)
    assert plan.looks == tuple(sorted(plan.looks))


def test_a_second_chance_after_4603_items_would_break_the_confidence() -> None:
    greedy = SamplingPlan(0.001, 0.99, (Look(4603, 0), Look(6636, 1)))

    assert greedy.chance_of_proof(0.001) > 0.011
    assert SamplingPlan.many_looks(0.001, 0.99).first == 5296


@given(st.sampled_from(PLANS), st.floats(0.001, 0.5), st.floats(0.001, 0.5))
def test_a_higher_rate_is_never_likelier_to_be_proven(plan: SamplingPlan, one: float, other: float) -> None:
    low, high = sorted((one, other))

    assert plan.chance_of_proof(high) <= plan.chance_of_proof(low) + 1e-12


def test_many_looks_refute_after_two_misses_if_all_miss_but_not_after_one() -> None:
    plan = SamplingPlan.many_looks(0.001, 0.99)

    assert not plan.is_refutation(1, 1)
    assert plan.is_refutation(2, 2)
    assert not plan.is_refutation(5, 4603)
    assert plan.is_refutation(20, 4603)


def test_a_single_look_refutes_where_the_lower_bound_is_above_the_claim() -> None:
    plan = SamplingPlan.single_look(0.001, 0.99)
    enough = next(misses for misses in range(100) if plan.is_refutation(misses, 4603))

    assert lower_bound(enough - 1, 4603, 0.99) <= 0.001 < lower_bound(enough, 4603, 0.99)
    assert not plan.is_refutation(4602, 4602)


@pytest.mark.parametrize(
    ("rate", "confidence", "misses"),
    [
        (0.0, 0.99, 0),
        (1.0, 0.99, 0),
        (math.nan, 0.99, 0),
        (0.1, 1.0, 0),
        (0.1, 0.4, 0),
        (0.1, math.nan, 0),
        (0.1, 0.9, -1),
    ],
)
def test_impossible_claims_are_refused(rate: float, confidence: float, misses: int) -> None:
    for make in (SamplingPlan.single_look, SamplingPlan.many_looks):
        with pytest.raises(CertificateError, match="must be"):
            make(rate, confidence, misses)
