"""What a unit's last observations say: what moves it and what does not, factors and constants, and odd values."""

import math
import random
from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime.learning.unit_history import (
    AS_SHIPPED,
    FOUND_EARLY,
    FOUND_EVERY,
    LARGE,
    QUICK,
    SLOWER,
    TINY_NS,
    WINDOW,
    Change,
    UnitHistory,
)

SHIPPED = 10_000.0

times = st.floats(0.0, 1e12) | st.sampled_from((0.0, 1e-300, 1.0, TINY_NS, 1e15))


def of(*took: float, shipped: float = SHIPPED, constant: bool = False) -> UnitHistory:
    """Return a history of items of one size."""
    history = UnitHistory(shipped, AS_SHIPPED, constant=constant)
    for number, each in enumerate(took, 1):
        history.add(shipped, each, number)
    return history


def noisy(n: int, factor: float = 1.0, sigma: float = 0.15, seed: int = 0) -> list[float]:
    rng = random.Random(seed)
    return [factor * SHIPPED * math.exp(rng.gauss(0.0, sigma)) for _ in range(n)]


@pytest.mark.parametrize("odd", [0.0, 50 * SHIPPED, 1e15])
@pytest.mark.parametrize("before", [0, 1, 10, 100])
def test_one_odd_value_or_two_move_nothing(before: int, odd: float) -> None:
    """Also at the start, where the bundle counts for the whole window."""
    usual = [SHIPPED] * before

    assert of(*usual, odd).change == AS_SHIPPED
    assert of(*usual, odd, odd).change == AS_SHIPPED
    assert of(*usual, odd, odd, SHIPPED).change == AS_SHIPPED


@pytest.mark.parametrize(("factor", "few"), [(0.25, QUICK), (4.0, QUICK), (0.5, SLOWER), (1.5, SLOWER)])
def test_large_change_is_known_after_a_few_observations_both_ways(factor: float, few: int) -> None:
    changed = of(*[SHIPPED] * 20, *[factor * SHIPPED] * few)
    back = of(*[SHIPPED] * 20, *[factor * SHIPPED] * 20, *[SHIPPED] * few)

    assert changed.change == pytest.approx(Change(factor, 0.0))
    assert back.change == pytest.approx(AS_SHIPPED)


def test_small_change_is_known_once_it_is_most_of_the_window() -> None:
    small = math.exp(0.8 * LARGE)
    needed = WINDOW // 2 + 1

    assert of(*[small * SHIPPED] * (needed - 1)).change == AS_SHIPPED
    assert of(*[small * SHIPPED] * (needed + FOUND_EVERY)).change.factor == pytest.approx(small)


def test_what_few_observations_said_is_corrected_by_a_few_more() -> None:
    """After a jump those before it count no more, and those that made it are no full window."""
    jumped = [SHIPPED] * 20 + [2.6 * SHIPPED] * SLOWER

    assert of(*jumped).change.factor == pytest.approx(2.6)
    assert of(*jumped, *[2.0 * SHIPPED] * (SLOWER + FOUND_EARLY)).change.factor == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(5))
def test_estimate_stays_near_a_steady_time(seed: int) -> None:
    history, seen = UnitHistory(SHIPPED, AS_SHIPPED), []
    for number, took in enumerate(noisy(2000, seed=seed)):
        history.add(SHIPPED, took, number)
        seen.append(history.change.factor)

    assert min(seen) > 0.8
    assert max(seen) < 1.25


@pytest.mark.parametrize("block", [1, 2])
def test_unit_that_alternates_between_two_times_stays_at_one_of_them_or_between(block: int) -> None:
    """A cache that is hit in turn: no three in a row agree, so nothing jumps at each of them."""
    history, seen = UnitHistory(SHIPPED, AS_SHIPPED), []
    for number, k in enumerate(islice(cycle([1.0] * block + [8.0] * block), 400)):
        history.add(SHIPPED, k * SHIPPED, number)
        seen.append(history.change.factor)

    assert set(seen) <= {1.0, 8.0}


def test_where_sizes_differ_a_constant_is_told_from_a_factor() -> None:
    sizes = [1e3 * 2**k for k in range(6)] * 6
    added, times_two = UnitHistory(1e4, AS_SHIPPED), UnitHistory(1e4, AS_SHIPPED)
    for number, shipped in enumerate(sizes):
        added.add(shipped, shipped + 20_000.0, number)
        times_two.add(shipped, 2.0 * shipped, number)

    assert added.change == pytest.approx(Change(1.0, 20e-6))
    assert times_two.change == pytest.approx(Change(2.0, 0.0))


def test_items_of_one_size_only_tell_a_factor() -> None:
    assert of(*[SHIPPED + 20_000.0] * WINDOW).change == pytest.approx(Change(3.0, 0.0))


@pytest.mark.parametrize("shipped", [0.0, 1e-9, 0.5 * TINY_NS])
def test_of_a_unit_that_was_shipped_with_no_time_a_constant_is_learned(shipped: float) -> None:
    """A factor would be one of noise, and of zero none."""
    assert of(*[5_000.0] * WINDOW, shipped=shipped).change == pytest.approx(Change(1.0, 5e-6 - 1e-9 * shipped))


def test_what_is_observed_together_with_others_differs_by_a_constant() -> None:
    history = of(*[4.0 * SHIPPED] * WINDOW, constant=True)

    assert history.change == pytest.approx(Change(1.0, 30e-6))


def test_first_pairs_are_as_expected_from_a_change_that_is_known() -> None:
    """Else a unit that follows the others would begin as shipped again."""
    history = UnitHistory(SHIPPED, Change(3.0, 1e-6))
    for number in range(FOUND_EVERY):
        history.add(SHIPPED, 3.0 * SHIPPED + 1e3, number)

    assert history.change.factor == pytest.approx(3.1)
    assert history.usual_ns == SHIPPED


def test_shared_part_is_noted_only_when_it_was_observed() -> None:
    history = UnitHistory(SHIPPED, AS_SHIPPED, shared=0.5)
    seen = []
    for number in range(1, QUICK + 1):
        history.add(SHIPPED, SHIPPED, number, 0.7)
        seen.append(history.shared)

    assert seen == [0.5] * (QUICK - 1) + [0.7]
    assert (history.observed, history.newest) == (QUICK, QUICK)


@given(st.lists(st.tuples(times, times), max_size=80), st.booleans())
def test_whatever_is_observed_the_change_is_finite_and_no_error(pairs: list[tuple[float, float]], con: bool) -> None:
    history = UnitHistory(SHIPPED, AS_SHIPPED, constant=con)
    for number, (shipped, took) in enumerate(pairs):
        history.add(shipped, took, number)

        assert all(map(math.isfinite, history.change))
        assert history.change.factor >= 0.0
        assert math.isfinite(history.noise_ns)
    assert len(history._pairs) <= WINDOW


@given(st.lists(times, min_size=1, max_size=80))
def test_estimate_is_within_what_was_observed_or_shipped(took: list[float]) -> None:
    factor, offset = of(*took).change

    assert offset == 0.0
    assert min(1.0, *(t / SHIPPED for t in took)) <= factor <= max(1.0, *(t / SHIPPED for t in took))


@pytest.mark.parametrize("took", [-1.0, -1e12])
def test_clock_that_went_back_is_no_negative_time(took: float) -> None:
    history = of(*[took] * WINDOW)

    assert history.change == Change(0.0, 0.0)
