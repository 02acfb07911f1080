"""From scores of held-out answers to confidences."""

from itertools import pairwise

import numpy as np
import pytest

from polydom_builder.bundling.calibration import HeldOut, calibrate, calibration_error, crossed, equal_parts
from polydom_runtime.arrays import Floats


def told(n: int, seed: int = 0) -> tuple[Floats, np.ndarray]:
    """Return scores that are too sure, and hits: an answer of score s is right with the probability s²."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.3, 1.0, n)
    return scores, rng.random(n) < scores**2


def test_confidence_is_the_share_of_right_answers_with_such_a_score() -> None:
    scores, hits = told(100_000)
    calibration = calibrate(scores, hits, np.ones(len(scores)))

    assert len(calibration.scores) == 16
    for score in (0.4, 0.5, 0.7, 0.9):
        assert calibration(score) == pytest.approx(score**2, abs=0.02)


@pytest.mark.parametrize("n", [1, 2, 29, 59, 60, 480, 1000])
def test_confidence_never_falls_and_is_never_certain(n: int) -> None:
    """Even if the surest answers are wrong: there are as many parts as have 30 items each, 16 at most."""
    rng = np.random.default_rng(n)
    scores = rng.random(n)
    for hits in (scores < 0.5, scores > 0.5, np.zeros(n, dtype=bool), np.ones(n, dtype=bool)):
        found = calibrate(scores, hits, rng.uniform(0.5, 2.0, n))

        assert all(a < b for a, b in pairwise(found.scores))
        assert all(a <= b for a, b in pairwise(found.confidences))
        assert 0.0 < found.confidences[0] <= found.confidences[-1] < 1.0
        assert len(found.scores) <= min(max(n // 30, 1), 16)


def test_a_weight_counts_as_so_many_items() -> None:
    scores, hits = told(300)
    weights = np.random.default_rng(1).integers(1, 4, 300)
    once = calibrate(scores, hits, weights.astype(float))
    often = calibrate(np.repeat(scores, weights), np.repeat(hits, weights), np.ones(weights.sum()))

    assert [once(s) for s in (0.4, 0.6, 0.9)] == pytest.approx([often(s) for s in (0.4, 0.6, 0.9)], abs=0.03)


def test_equal_scores_are_in_one_part() -> None:
    """As trees give them: few different ones."""
    scores = np.array([0.5] * 700 + [0.75] * 200 + [1.0] * 100)
    hits = np.arange(1000) % 10 < np.repeat([5, 7, 9], [700, 200, 100])
    found = calibrate(scores, hits, np.ones(1000))

    assert found.scores == (0.5, 0.75, 1.0)
    assert found.confidences == pytest.approx((0.5, 0.7, 0.9), abs=0.01)


def test_parts_are_of_equal_weight() -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.random(5000), rng.uniform(0.1, 5.0, 5000)
    parts = equal_parts(values, weights, 10)

    assert np.bincount(parts, weights) / weights.sum() == pytest.approx(np.full(10, 0.1), abs=0.001)
    assert all(values[parts == k].max() < values[parts == k + 1].min() for k in range(9))


def test_confidences_to_judge_by_come_from_other_folds() -> None:
    """In one fold all answers are wrong, and nothing in the others says so."""
    hits = np.repeat([True, True, False], 100)
    scores = np.tile(np.linspace(0.5, 1.0, 100), 3)
    found = crossed(
        HeldOut(hits, scores, np.ones(300), np.arange(300), np.repeat([0, 1, 2], 100), np.ones(300, dtype=bool))
    )

    assert found[200:].min() > 0.9
    assert found[:200].max() < 0.6


@pytest.mark.parametrize("n", [1, 3, 100])
def test_one_fold_is_divided(n: int) -> None:
    scores, hits = told(n)
    found = crossed(HeldOut(hits, scores, np.ones(n), np.arange(n), np.zeros(n, dtype=np.intp), np.ones(n, dtype=bool)))

    assert np.isfinite(found).all()


def test_calibration_error_is_the_mean_difference() -> None:
    confidences = np.repeat([0.6, 0.8], 500)
    hits = np.arange(1000) % 10 < np.repeat([5, 9], 500)

    assert calibration_error(confidences, hits, np.ones(1000)) == pytest.approx(0.1)
    assert calibration_error(confidences, hits, np.repeat([3.0, 1.0], 500)) == pytest.approx(0.1)
    assert calibration_error(np.repeat([0.5, 0.9], 500), hits, np.ones(1000)) == pytest.approx(0.0)


def test_calibration_makes_the_error_small() -> None:
    """On fresh answers: from a sixth to what chance leaves in 15 parts of 1333 answers."""
    calibration = calibrate(*told(30_000), np.ones(30_000))
    scores, hits = told(20_000, seed=1)
    confidences = np.array([calibration(score) for score in scores.tolist()])

    assert calibration_error(scores, hits, np.ones(20_000)) > 0.15
    assert calibration_error(confidences, hits, np.ones(20_000)) < 0.025
