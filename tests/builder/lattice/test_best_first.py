"""Climbing from the best trained set."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polydom_builder.lattice.best_first import climb
from tests.draws import draws

FEATURES = 5


@settings(max_examples=draws(25, 60))
@given(st.integers(0, 2**32), st.sets(st.integers(0, 2**FEATURES - 1), max_size=8))
def test_climb_ends_where_no_single_feature_helps(seed: int, trained: set[int]) -> None:
    """Nothing known is lost or trained again, what does not fit is not trained, and the end is a local best."""
    full = (1 << FEATURES) - 1
    scores = np.random.default_rng(seed).random(full + 1).tolist()
    expanded = {mask: scores[mask] for mask in trained | {0, full}}
    asked: list[int] = []

    def score(masks: list[int]) -> list[float]:
        asked.extend(masks)
        return [scores[mask] for mask in masks]

    def fits(mask: int) -> bool:
        return mask % 3 != 1

    known = climb(expanded, FEATURES, score, fits)

    assert known == expanded | {mask: scores[mask] for mask in asked}
    assert len(set(asked)) == len(asked)
    assert not set(asked) & expanded.keys()
    assert all(map(fits, asked))
    best = max(known, key=known.__getitem__)
    near = [best ^ 1 << i for i in range(FEATURES)]
    assert best == full or all(scores[m] <= known[best] for m in near if fits(m) or m in expanded)


def test_climb_trains_nothing_where_more_features_score_more() -> None:
    expanded = {0: 0.1, 1: 0.5, 7: 0.9}

    assert climb(expanded, 3, lambda masks: [1.0] * len(masks), lambda mask: True) == expanded
