"""Violations of monotonicity, and the tolerance that they need."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polydom_builder.exceptions import LatticeError
from polydom_builder.lattice import monotonicity
from polydom_builder.lattice.monotonicity import estimate_tolerance, violations
from tests.draws import draws
from tests.property import strategies as own

law = settings(max_examples=draws(40, 80), derandomize=True)

some_scores = st.dictionaries(st.integers(0, 31), st.sampled_from((0.5, 0.6, 0.7)) | st.floats(-1.0, 1.0), max_size=32)


def pairs(scores: dict[int, float]) -> list[tuple[float, int]]:
    return [
        (max(0.0, scores[i] - scores[j]), (j & ~i).bit_count())
        for i, j in product(scores, repeat=2)
        if i != j and i & j == i
    ]


@law
@given(some_scores, st.sampled_from((1, 40, 1 << 22)))
def test_every_pair_is_compared(scores: dict[int, float], block: int) -> None:
    """Amounts and distances are those of a double loop, however many pairs are compared at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(monotonicity, "BLOCK_OF_PAIRS", block)
        amounts, distances = violations(scores)

    assert sorted(zip(amounts.tolist(), distances.tolist(), strict=True)) == sorted(pairs(scores))


@law
@given(some_scores, st.floats(0.0, 1.0))
def test_tolerance_holds_for_the_share_asked_for(scores: dict[int, float], quantile: float) -> None:
    """At least that share of the pairs violates by no more, and no smaller violation would do."""
    amounts = [amount for amount, _ in pairs(scores)]

    e = estimate_tolerance(scores, quantile)

    if amounts:
        assert e in amounts
        assert np.mean(np.array(amounts) <= e) >= quantile - 1e-9
        assert np.mean(np.array(amounts) < e) <= quantile + 1e-9
    else:
        assert e == 0.0


@law
@given(st.data(), st.integers(0, 5), own.tolerances)
def test_tolerance_is_at_most_the_one_the_scores_were_drawn_with(
    data: st.DataObject, n_features: int, tolerance: float
) -> None:
    """The largest violation of relaxed monotone scores is at most their e; monotone scores have none."""
    scores = data.draw(own.scores(n_features, tolerance))

    assert estimate_tolerance(dict(enumerate(scores.tolist())), quantile=1.0) <= tolerance * (1 + 1e-9)


def test_a_lattice_of_thirteen_features_is_compared_whole() -> None:
    """8,192 sets have 3^13 - 2^13 pairs; noise in the scores shows at every distance but is left behind far away."""
    rng = np.random.default_rng(0)
    masks = np.arange(1 << 13)
    scores = 0.5 + 0.03 * np.bitwise_count(masks) + rng.normal(0.0, 0.02, len(masks))

    amounts, distances = violations(dict(enumerate(scores.tolist())))

    assert len(amounts) == len(distances) == 3**13 - 2**13
    worst = [float(np.quantile(amounts[distances == d], 0.99, method="inverted_cdf")) for d in (1, 4, 9)]
    assert worst[0] > worst[1] >= worst[2] == 0.0


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how many sets there are and what to do."""
    monkeypatch.setattr(monotonicity, "MAX_PAIRS", 4)

    with pytest.raises(LatticeError, match=r"At most 4 pairs.*4 sets.*fewer sets"):
        violations({0: 0.5, 1: 0.5, 2: 0.5, 3: 0.5})


@pytest.mark.parametrize("quantile", [-0.1, 1.1, math.nan])
def test_impossible_quantiles_are_refused(quantile: float) -> None:
    """A quantile is a share."""
    with pytest.raises(LatticeError, match="between 0 and 1"):
        estimate_tolerance({0: 0.5, 1: 0.6}, quantile)


def test_scores_that_are_no_numbers_are_refused() -> None:
    """NaN would compare as no violation."""
    with pytest.raises(LatticeError, match="finite"):
        violations({0: 0.5, 1: math.nan})
