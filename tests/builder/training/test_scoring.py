"""Scores other than accuracy, from items to the node."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polydom_builder.verification.verify import verify_bundle
from polydom_runtime import Predictor, Seams
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.builder.searches import LOGISTIC, search

US = task.US
F1 = make_scorer(f1_score, pos_label="slow")


def rare_slow(count: int = 360) -> tuple[list[np.ndarray], list[str]]:
    """One item in nine is of the class that matters."""
    items, labels = task.items(count)
    rare = [k for k, label in enumerate(labels) if label != "slow" or k % 9 == 2]
    return [items[k] for k in rare], ["slow" if labels[k] == "slow" else "other" for k in rare]


def test_rare_class_scored_by_f1_from_host_to_node(tmp_path: Path) -> None:
    """The prior never names the rare class, so it scores 0, and any set that finds it beats it at any alpha."""
    items, labels = rare_slow()
    balanced = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
    found = search(estimator=balanced, scoring=F1, alpha=1.1)
    found.fit(items, labels, [k // 12 for k in range(len(items))], costs=task.costs)
    bundle = found.export(tmp_path / "rare.bundle")
    predictor = Predictor.load(tmp_path / "rare.bundle", task.space, seams=Seams(clock=ManualClock()))

    assert labels.count("slow") < len(labels) / 4
    assert bundle.prior == (0, 0.0)
    assert verify_bundle(tmp_path / "rare.bundle").ok
    answers = [predictor.predict_one(x).label for x in items]
    assert f1_score(labels, answers, pos_label="slow") > 0.8


@pytest.mark.filterwarnings("error:y_pred contains classes not in y_true")
def test_held_out_items_may_lack_a_class_without_a_warning() -> None:
    items, labels = task.items()
    classes = sorted(set(labels))
    by_class = [k // 120 if label == classes[0] else 100 + k // 20 for k, label in enumerate(labels)]

    found = search(deadline=400 * US, scoring="balanced_accuracy", cv=5, alpha=None, max_trainings=5)
    found.fit(items, labels, groups=by_class, costs=task.costs)

    assert found.expanded_[0b11111] > 0.5


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss"])
def test_other_scores_are_those_of_scikit_learn(scoring: str, tmp_path: Path) -> None:
    from sklearn.model_selection import cross_val_score

    items, labels = task.items(120)
    found = search(deadline=400 * US, scoring=scoring, correction=None, alpha=None, max_trainings=5)
    found.fit(items, labels, [k // 12 for k in range(120)], costs=task.costs)
    rows = np.stack([task.space.extract_all(x) for x in items])
    expected = cross_val_score(LOGISTIC, rows, labels, scoring=scoring, cv=found.trainer_.splits).mean()
    bundle = found.export(tmp_path / "b")

    assert found.expanded_[0b11111] == pytest.approx(expected)
    for entry in bundle.models:
        if entry.mask in found.expanded_:
            assert entry.accuracy == pytest.approx(found.expanded_[entry.mask], abs=2e-3)


def share_of_right(model: Any, rows: Any, labels: Any) -> float:
    return float(np.mean(model.predict(rows) == labels))


@pytest.mark.parametrize(
    ("scoring", "name"),
    [
        (None, "accuracy"),
        ("f1_macro", "f1_macro"),
        (make_scorer(f1_score, average="macro"), "make_scorer(f1_score, response_method='predict', average=macro)"),
        (share_of_right, f"{__name__}.share_of_right"),
    ],
    ids=["default", "text", "scorer", "function"],
)
def test_bundle_states_its_scoring(scoring: Any, name: str, tmp_path: Path) -> None:
    found = search(deadline=400 * US, cv=2, scoring=scoring, correction=None, alpha=None, max_trainings=3)
    bundle = found.fit(*task.items(60), [k // 6 for k in range(60)], costs=task.costs).export(tmp_path / "b")

    assert bundle.promise.scoring == name


def test_average_precision_needs_no_probabilities(tmp_path: Path) -> None:
    from sklearn.linear_model import SGDClassifier

    items, labels = rare_slow()
    model = make_pipeline(StandardScaler(), SGDClassifier(loss="hinge", random_state=0))
    numbers = [int(label == "slow") for label in labels]
    found = search(estimator=model, deadline=400 * US, scoring="average_precision", alpha=1.1)
    bundle = found.fit(items, numbers, costs=task.costs).export(tmp_path / "b")

    for entry in bundle.models:
        if entry.mask in found.expanded_:
            assert entry.accuracy == pytest.approx(found.expanded_[entry.mask], abs=2e-3)
    assert max(found.expanded_.values()) > 0.8
    assert math.isclose(bundle.prior[1], found.expanded_[0])
