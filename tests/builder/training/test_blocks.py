"""Blocks of held-out items, and what each contributes to a score."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer

from polydom_builder.training.cache import Cache
from polydom_builder.training.folds import make_blocks, make_splits
from polydom_builder.training.labels import Targets, targets_of
from polydom_builder.training.table import Table
from polydom_builder.training.trainer import Trainer

N = 200
RNG = np.random.default_rng(0)
LABELS = RNG.integers(3, size=N)
ROWS = (LABELS[:, None] + RNG.normal(size=(N, 4))).astype(np.float32)
TARGETS = targets_of(LABELS.tolist(), N)


def trainer(scoring: object = "accuracy", **changes: object) -> Trainer:
    table = Table(ROWS, *TARGETS, tuple(np.array([i]) for i in range(4)))
    splits = make_splits(4, TARGETS, changes.get("groups"), 0)  # type: ignore[arg-type]
    return Trainer(LogisticRegression(), table, splits, scoring, 1, Cache(), **changes)  # type: ignore[arg-type]


def plain(estimator: LogisticRegression, rows: Any, labels: Any) -> float:
    """Score like accuracy, by looking at the rows."""
    assert rows.shape[1] == 2
    return float(np.mean(estimator.predict(rows) == labels))


def test_parts_of_accuracy_are_the_accuracies_of_blocks() -> None:
    made = trainer()
    (found,) = made.scored([0b0011])

    train, test = made.splits[0]
    hits = made.fit((0, 1), train).predict(ROWS[test][:, :2]) == LABELS[test]
    expected = [hits[made.blocks[0] == block].mean() for block in range(made.blocks[0].max() + 1)]
    assert found.parts[: len(expected)] == pytest.approx(expected)
    assert found.score == pytest.approx(found.parts @ made.shares)


def test_any_scorer_has_parts() -> None:
    """Those of a function of the user's that is accuracy are those of accuracy; others are about the score."""
    (known,) = trainer().scored([0b0011])
    (own,) = trainer(plain).scored([0b0011])

    assert own.parts == pytest.approx(known.parts)
    for scoring in ("balanced_accuracy", "neg_log_loss", "roc_auc_ovr", make_scorer(f1_score, average="macro")):
        made = trainer(scoring)
        (found,) = made.scored([0b1111])
        assert found.parts @ made.shares == pytest.approx(found.score, abs=0.02)


def test_weights_count_in_parts() -> None:
    weights = RNG.uniform(size=N)
    made = trainer(weights=weights)
    (found,) = made.scored([0b0011])

    assert found.parts @ made.shares == pytest.approx(found.score)
    assert made.shares.sum() == pytest.approx(1.0)


def test_items_of_a_group_are_in_one_block() -> None:
    groups = np.repeat(np.arange(50), 4).tolist()
    made = trainer(groups=groups)

    for blocks, (_, test) in zip(made.blocks, made.splits, strict=True):
        of_group: dict[int, set[int]] = {}
        for block, item in zip(blocks.tolist(), test.tolist(), strict=True):
            of_group.setdefault(groups[item], set()).add(block)
        assert all(len(found) == 1 for found in of_group.values())
        assert len({*blocks.tolist()}) > 1


def test_each_fold_without_a_block_still_has_every_class() -> None:
    labels = np.array([0] * 18 + [1] * 2)
    targets = Targets(np.array([0, 1]), labels)
    (blocks,) = make_blocks([(np.arange(20), np.arange(20))], targets, None)

    for block in np.unique(blocks):
        assert {*labels[blocks != block].tolist()} == {0, 1}
    (lone,) = make_blocks([(np.arange(19), np.arange(19))], Targets(np.array([0, 1]), labels[:19]), None)
    assert lone.tolist() == [0] * 19


def test_a_set_is_trained_once() -> None:
    made = trainer()
    made.scored([1, 2, 1])

    assert list(made.known) == [1, 2]
    assert made.parts([2, 1]).shape == (2, len(made.shares))
