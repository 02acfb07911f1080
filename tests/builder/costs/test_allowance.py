"""An answer keeps its promise as a whole: what hits it once is paid for once."""

import numpy as np
import pytest

from polydom_builder.costs.allowance import Allowance, find_allowance

SIZES, ROUNDS, FEATURES = 12, 500, 6
PLANNED = np.outer([1e-5, 1e-5, 2e-5, 4e-5, 8e-5, 16e-5, 1e-6], np.geomspace(1.0, 50.0, SIZES))
USERS = [*(1 << f for f in range(FEATURES)), None]
RNG = np.random.default_rng(0)


def allowance(times: np.ndarray, quantile: float = 0.99) -> Allowance:
    return find_allowance(PLANNED, times, USERS, range(FEATURES), quantile)


def exactly() -> np.ndarray:
    return np.repeat(PLANNED[:, :, None], ROUNDS, axis=2)


def test_plan_that_always_holds_needs_none() -> None:
    assert allowance(exactly()) == Allowance(0.0, 0.0)


def test_pause_is_paid_for_once_not_for_each_feature() -> None:
    """One call in fifty takes a millisecond longer; one answer of six features in a hundred has two of them."""
    times = exactly()
    times[RNG.random(times.shape) < 0.02] += 1e-3
    found = allowance(times)

    for seconds in np.quantile(PLANNED.sum(axis=0), [0.0, 0.5, 1.0]):
        assert found.constant + found.share * seconds < 2.5e-3
    assert found.constant + found.share * PLANNED.sum(axis=0).max() > 0.9e-3


def test_slow_spell_is_a_share_of_the_time() -> None:
    """In one round of ten everything takes twice as long."""
    times = exactly()
    times[:, :, ::10] *= 2.0
    found = allowance(times)

    assert 0.95 < found.share < 2.0
    assert found.constant < 1e-4


@pytest.mark.parametrize("quantile", [0.9, 0.99, 0.999])
def test_fresh_answers_exceed_the_plan_as_rarely_as_promised(quantile: float) -> None:
    seen, fresh = (PLANNED[:, :, None] * RNG.lognormal(-0.4, 0.3, (*PLANNED.shape, 4000)) for _ in range(2))
    found = allowance(seen, quantile)
    for mask in (0b1, 0b111, 0b111111):
        units = [u for u, users in enumerate(USERS) if users is None or users & mask]
        planned = PLANNED[units].sum(axis=0)
        late = fresh[units].sum(axis=0) > (found.constant + (1.0 + found.share) * planned)[:, None]
        assert late.mean() <= 1.5 * (1.0 - quantile)


@pytest.mark.parametrize(("features", "sizes"), [(1, 1), (5, 1), (2, 4), (1, 12)])
def test_few_features_or_sizes_will_do(features: int, sizes: int) -> None:
    planned = np.full((features + 1, sizes), 1e-5)
    times = planned[:, :, None] * RNG.uniform(0.9, 1.0, (*planned.shape, 50))
    users = [*(1 << f for f in range(features)), None]

    assert find_allowance(planned, times, users, range(features), 0.99).constant < 1e-5


def test_one_unsteady_feature_is_not_hidden_among_the_others() -> None:
    """One call in two hundred of one feature takes three times as long; answers with it keep the promise too."""
    times = exactly() * RNG.uniform(0.95, 1.0, (*PLANNED.shape, ROUNDS))
    times[2][RNG.random(times[2].shape) < 0.005] *= 3.0
    found = allowance(times, 0.999)
    planned = PLANNED[[2, 6]].sum(axis=0)
    late = times[[2, 6]].sum(axis=0) > (found.constant + (1.0 + found.share) * planned)[:, None]

    assert late.mean() <= 0.001 + 1e-9
