"""The scores that a bundle states: lowered by the luck of chosen sets, in the same order, and with intervals."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.naive_bayes import GaussianNB

from polydom_builder.bundling.corrected_scores import half_widths
from polydom_builder.exceptions import TrainingError
from polydom_builder.training.trainer import nested_trainers
from polydom_runtime import load_bundle
from polydom_runtime.bundles.bundle import Bundle
from tests.builder import task
from tests.builder.searches import search


def exported(folder: Path, n_items: int = 240, fit: dict[str, Any] | None = None, **changes: Any) -> Bundle:
    """Return the bundle of a search with some parameters and arguments of its fit changed."""
    found = search(**{"alpha": 1.0} | changes)
    return found.fit(*task.items(n_items), costs=task.costs, **fit or {}).export(folder)


def whole_folds_only(estimator: Any, rows: Any, labels: Any) -> float:
    return float(accuracy_score(labels, estimator.predict(rows))) if len(labels) >= 80 else float("nan")


def test_stated_scores_are_lower_than_measured_ones_and_in_their_order(folder: Path) -> None:
    models = sorted(load_bundle(folder).models, key=lambda m: m.accuracy)
    measured = [m.estimate.measured for m in models if m.estimate]

    assert len(measured) == len(models)
    assert measured == sorted(measured)
    assert [a < b for a, b in pairwise(measured)] == [a.accuracy < b.accuracy for a, b in pairwise(models)]
    assert models[-1].accuracy < measured[-1]
    assert all(m.estimate.low < m.accuracy < m.estimate.high for m in models if m.estimate)


def test_models_are_measured_as_without_a_correction(folder: Path, tmp_path: Path) -> None:
    plain = exported(tmp_path / "plain.bundle", correction=None)

    assert {m.order: m.accuracy for m in plain.models} == {
        m.order: m.estimate.measured for m in load_bundle(folder).models if m.estimate
    }
    assert {None} == {m.estimate for m in plain.models}


@pytest.mark.parametrize("correction", ["resampling", "nested"])
def test_the_best_of_sets_that_know_nothing_is_stated_nearly_as_the_prior(correction: str, tmp_path: Path) -> None:
    """The labels are shuffled, so all that a set scores above the prior is luck."""
    items, labels = task.items(150)
    shuffled = np.random.default_rng(0).permutation(labels).tolist()
    given = {"estimator": GaussianNB(), "alpha": 1.0, "tolerance": 0.1, "correction": correction}
    found = search(**given).fit(items, shuffled, costs=task.costs)
    bundle = found.export(tmp_path / "luck.bundle")

    best = max(bundle.models, key=lambda m: m.accuracy)

    assert best.estimate is not None
    assert best.accuracy - bundle.prior.accuracy < 0.6 * (best.estimate.measured - bundle.prior.accuracy)


def test_nested_searches_see_no_held_out_item_of_their_fold() -> None:
    found = search(estimator=GaussianNB(), correction="nested").fit(*task.items(120), costs=task.costs)
    nested = nested_trainers(found.trainer_, 3, None)

    assert 3 == len(found.nested_) == len(nested)
    for part, (train, _) in zip(nested, found.trainer_.splits, strict=True):
        assert part.table.rows.tolist() == found.trainer_.table.rows[train].tolist()
        assert sorted(np.concatenate([test for _, test in part.splits]).tolist()) == list(range(len(train)))
    for part, explored in zip(nested, found.nested_, strict=True):
        assert explored.candidates == dict(zip(explored.kept, part.scores(explored.kept), strict=True))


def test_given_splits_cannot_be_nested() -> None:
    splits = [(np.arange(120), np.arange(120, 240)), (np.arange(120, 240), np.arange(120))]

    with pytest.raises(TrainingError, match="cv must be a number or a splitter"):
        search(cv=splits, correction="nested").fit(*task.items(), costs=task.costs)


def test_nine_intervals_of_ten_hold_the_true_score() -> None:
    """Of sets that are right with probability 0.8, in 40 blocks of 5 items each; a few more, as folds share items."""
    parts = np.random.default_rng(0).binomial(5, 0.8, size=(2000, 40)) / 5

    halves = half_widths(parts, np.full(40, 1 / 40), 200, (0.0, 1.0))

    assert 0.9 < np.mean(abs(parts.mean(axis=1) - 0.8) <= halves) < 0.95


def test_a_set_without_mistakes_has_an_interval_too() -> None:
    """None of 100 items was wrong, so a few in a hundred new ones may be."""
    halves = half_widths(np.ones((1, 20)), np.full(20, 0.05), 100, (0.0, 1.0))

    assert halves.tolist() == [0.03]


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1_macro"])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_scoring_and_weights_give_finite_intervals(scoring: str, weighted: bool, tmp_path: Path) -> None:
    """The groups are of one class each, and one of them weighs nothing."""
    weights = [0.0 if k % 12 == 0 else 1.0 + k % 2 for k in range(120)]
    fit = {"groups": [k % 12 for k in range(120)], "sample_weight": weights if weighted else None}

    bundle = exported(tmp_path / "any.bundle", 120, fit, estimator=GaussianNB(), alpha=1.1, scoring=scoring)

    assert np.isfinite([(m.accuracy, *(m.estimate or [np.nan])) for m in bundle.models]).all()


@pytest.mark.parametrize(
    ("changes", "groups"),
    [
        ({"cv": [(np.arange(120), np.arange(120, 240))]}, [k // 120 for k in range(240)]),
        ({"scoring": whole_folds_only}, None),
    ],
    ids=["one block", "no score of a part"],
)
def test_without_scores_of_blocks_nothing_is_corrected(
    changes: dict[str, Any], groups: list[int] | None, tmp_path: Path
) -> None:
    with pytest.warns(UserWarning, match="are not corrected"):
        bundle = exported(
            tmp_path / "whole.bundle", fit={"groups": groups}, estimator=GaussianNB(), alpha=1.1, **changes
        )

    assert {None} == {m.estimate for m in bundle.models}


def test_another_correction_is_refused() -> None:
    with pytest.raises(TrainingError, match=r"correction must be one of resampling, nested, None\. Got magic"):
        search(correction="magic").fit([], [])
