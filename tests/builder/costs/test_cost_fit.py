"""Cost fits: on or above the quantile, and of the right growth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polydom_builder.costs.cost_fit import choose_basis, fit_cost
from polydom_builder.exceptions import FitError
from polydom_runtime.costs import CostFunction
from tests.draws import draws

SIZES = np.geomspace(10.0, 1e5, 12)


@settings(max_examples=draws(25, 60))
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.9, 0.99, 1.0]), st.integers(1, 12))
def test_worst_case_is_never_below_the_quantile(seed: int, quantile: float, n_sizes: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = SIZES[:n_sizes]
    truth = CostFunction((1e-5, *rng.choice([0.0, 1e-9], 5).tolist()))
    samples = np.array([truth(n) for n in sizes])[:, None] * rng.lognormal(0.0, 0.3, (n_sizes, 40))
    fit = fit_cost(sizes, samples, quantile)

    high = np.quantile(samples, quantile, axis=1)
    assert all(fit.worst(n) >= q for n, q in zip(sizes, high, strict=True))
    assert (fit.slack >= 0.0).all()


@pytest.mark.parametrize(
    ("truth", "basis"),
    [
        (CostFunction.of(1e-5), (0,)),
        (CostFunction.of(1e-6, linear=1e-8), (0, 2)),
        (CostFunction.of(1e-6, square=1e-10), (0, 4)),
        (CostFunction.of(1e-6, cube=1e-14), (0, 5)),
    ],
)
def test_growth_is_recognised_through_noise(truth: CostFunction, basis: tuple[int, ...]) -> None:
    noise = np.random.default_rng(0).normal(1.0, 0.005, len(SIZES))

    assert choose_basis(SIZES, np.array([truth(n) for n in SIZES]) * noise) == basis


def test_one_size_gives_a_constant() -> None:
    fit = fit_cost(np.array([100.0]), np.full((1, 5), 2e-6), 0.99)

    assert fit.worst(1e6) == pytest.approx(2e-6)


@pytest.mark.parametrize("bad", [0.0, -1e-6, np.nan, np.inf])
def test_impossible_sample_is_refused(bad: float) -> None:
    samples = np.full((12, 5), 1e-6)
    samples[3, 2] = bad

    with pytest.raises(FitError, match="positive, finite"):
        fit_cost(SIZES, samples, 0.99)
