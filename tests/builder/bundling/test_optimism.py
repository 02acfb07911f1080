"""How much of the score of a chosen set is luck."""

import numpy as np
import pytest

from polydom_builder.bundling.corrected_scores import Winner, optimism

SHARES = np.full(20, 0.05)
EVERY = np.arange(30)


def noise(seed: int, n_sets: int = 30) -> np.ndarray:
    """Return the parts of sets that are all equally good: 0 on average."""
    return np.random.default_rng(seed).normal(size=(n_sets, 20))


def test_what_is_taken_from_the_best_of_equal_sets_is_its_luck() -> None:
    """The mean of many worlds: the best set scores 0.45, and is worth 0."""
    before, after = [], []
    for seed in range(100):
        parts = noise(seed)
        row = int((parts @ SHARES).argmax())
        before.append(parts[row] @ SHARES)
        after.append(before[-1] - optimism(parts, SHARES, [Winner(row, EVERY)])[0])

    assert np.mean(before) > 0.4
    assert np.mean(after) == pytest.approx(0.0, abs=0.05)


def test_a_set_far_better_than_all_others_loses_nothing() -> None:
    parts = noise(0)
    parts[3] += 5.0

    assert optimism(parts, SHARES, [Winner(3, EVERY)]).tolist() == [0.0]


def test_a_set_with_more_rivals_loses_more() -> None:
    parts = noise(0)
    row = int((parts @ SHARES).argmax())
    rivals = np.setdiff1d(EVERY, [row])

    alone, few, many = optimism(parts, SHARES, [Winner(row, np.append(rivals[:k], row)) for k in (0, 3, 29)])

    assert 0.0 == alone < few < many
