"""The spread of a unit between items of like size: its cause and its cure."""

from dataclasses import replace

import numpy as np
import pytest

from polydom_runtime.arrays import Floats
from polydom_runtime.measuring.cost_samples import BEFORE, CostSamples, ItemSamples
from polydom_runtime.measuring.spread import largest_prime_factors, spreads

SIZES = np.random.default_rng(5).integers(1000, 8000, 200).astype(float)
US = 1e-6


def samples(times: Floats, rounds: int = 4, sizes: Floats = SIZES) -> CostSamples:
    """Return samples of a unit that takes `times` on the items, within 5 %, beside a linear one and a constant."""
    noise = np.random.default_rng(1).uniform(1.0, 1.05, (3, len(sizes), rounds))
    seconds = np.stack([times, sizes * 1e-9, np.full(len(sizes), 5 * US)])[:, :, None] * noise
    hot = ItemSamples(sizes, seconds, {})
    empty = np.ones((3, 1, 1))
    units = ("power", "mean", BEFORE)
    return CostSamples(units, np.ones(1), empty, np.ones((3, 1), dtype=np.int64), empty, items={"hot": hot})


def fourier(sizes: Floats) -> Floats:
    """Return times of a Fourier transform: nine times as long where a prime factor is above 100."""
    primes = largest_prime_factors(sizes)
    assert primes is not None
    return sizes * 5e-9 * np.where(primes > 100, 9.0, 1.0)


def test_large_prime_factors_are_found_out_and_their_cure_is_named() -> None:
    (spread,) = spreads(samples(fourier(SIZES)))

    assert (spread.unit, spread.by_prime_factors) == ("power", True)
    assert 8.0 < spread.gain < 12.0
    assert f"sizes with a large prime factor; cure: trim the item to a fast length: x{spread.gain:.0f}" in str(spread)
    assert "trim the item to a fast length" in (spread.warning or "")


def test_content_is_the_cause_where_the_size_is_not() -> None:
    contents = np.random.default_rng(3).permutation(np.repeat([1.0, 3.0], len(SIZES) // 2))
    (spread,) = spreads(samples(SIZES * 5e-9 * contents))

    assert not spread.by_prime_factors
    assert "likely cause: the content" in str(spread)
    assert spread.warning is None


def test_times_that_depend_on_the_size_alone_have_no_spread() -> None:
    assert spreads(samples(SIZES**1.5 * 1e-9)) == []


def test_disturbed_rounds_are_no_spread() -> None:
    """One slow round of four at every third item."""
    made = samples(SIZES * 5e-9)
    seconds = made.items["hot"].seconds.copy()
    seconds[0, ::3, 1] *= 20.0
    disturbed = replace(made, items={"hot": replace(made.items["hot"], seconds=seconds)})

    assert spreads(disturbed) == []


@pytest.mark.parametrize("rounds", [1, 2])
def test_one_round_cannot_tell_items_from_disturbances(rounds: int) -> None:
    assert len(spreads(samples(fourier(SIZES), rounds))) == rounds - 1


def test_few_items_or_none_have_no_spread() -> None:
    made = samples(fourier(SIZES))

    assert spreads(replace(made, items={})) == []
    assert spreads(replace(made, items={"hot": made.items["hot"].part(range(10))})) == []


def test_sizes_that_are_no_whole_numbers_have_no_prime_factors() -> None:
    assert largest_prime_factors(np.array([1.5, 2.0])) is None
    assert largest_prime_factors(np.array([1e12])) is None
    (spread,) = spreads(samples(fourier(SIZES), sizes=SIZES + 0.5))
    assert not spread.by_prime_factors


def test_largest_prime_factors_are_right() -> None:
    found = largest_prime_factors(np.array([1.0, 2.0, 97.0, 3064.0, 3072.0, 1024.0, 8191.0, 99999989.0]))

    assert found is not None
    assert found.tolist() == [1.0, 2.0, 97.0, 383.0, 3.0, 2.0, 8191.0, 99999989.0]
