"""Tails: never below what was seen, and about right beyond it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polydom_runtime.measuring.tails import relative_error, tail_quantile


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 300), st.floats(0.01, 1.0))
def test_it_is_never_below_the_samples_quantile(seed: int, n_sizes: int, n_rounds: int, quantile: float) -> None:
    samples = np.random.default_rng(seed).lognormal(0.0, 2.0, (n_sizes, n_rounds))

    assert (tail_quantile(samples, quantile) >= np.quantile(samples, quantile, axis=1)).all()


def test_times_that_never_vary_have_no_tail() -> None:
    assert tail_quantile(np.full((3, 50), 2e-6), 0.999).tolist() == [2e-6] * 3


@pytest.mark.parametrize(
    ("inverse", "rounds"),
    [
        (lambda rarity: -np.log(rarity), 200),
        (lambda rarity: (rarity**-0.3 - 1.0) / 0.3, 200),
        (lambda rarity: 2.0 - rarity, 200),
    ],
    ids=["exponential", "Pareto", "uniform"],
)
def test_a_quantile_that_few_samples_reach_is_about_right(inverse: object, rounds: int) -> None:
    """Of 200 samples a size the one in a thousand is mostly not seen; on average over many sizes it is still told."""
    assert callable(inverse)
    rng = np.random.default_rng(0)
    told = [tail_quantile(inverse(rng.random((12, rounds))), 0.999).mean() for _ in range(20)]

    assert np.mean(told) == pytest.approx(inverse(0.001), rel=0.1)


def test_sizes_share_a_shape_but_not_a_scale() -> None:
    samples = np.random.default_rng(0).exponential(size=(2, 2000)) * [[1.0], [1000.0]]
    small, large = tail_quantile(samples, 0.999)

    assert large / small == pytest.approx(1000.0, rel=0.2)


def test_few_rounds_say_nothing_of_their_precision() -> None:
    assert relative_error(np.ones((4, 15)), 0.99) == (np.inf, np.inf)


def test_interval_of_the_median_holds_the_truth_mostly() -> None:
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        samples = rng.lognormal(0.0, 0.2, (1, 160))
        error, _ = relative_error(samples, 0.9)
        held += abs(np.log(np.median(samples))) <= np.log1p(error)

    assert held > 180
