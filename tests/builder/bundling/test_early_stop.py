"""Answering early where a prefix is sure."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

from polydom_builder import PolyDomSearch
from polydom_builder.bundling.calibration import HeldOut, _threshold
from polydom_builder.exceptions import TrainingError
from polydom_runtime import Predictor, Seams
from polydom_runtime.exceptions import BundleMismatchError
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.builder.searches import made

SEARCH: dict[str, Any] = {"deadline": 1.0, "cv": 3, "slowdown": 1.0, "alpha": 1.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("early") / "early.bundle"
    search = made(PolyDomSearch, LogisticRegression(max_iter=1000), early_stop=0.02, **SEARCH)
    search.fit(*task.items(), costs=task.costs).export(folder)
    return folder


def test_threshold_gives_up_no_more_than_it_may() -> None:
    """Brute force over all thresholds, on random models; ties between items are kept together."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        confidence = rng.integers(40, 100, 300) / 100
        weights = rng.integers(1, 4, 300).astype(float)
        every = confidence, weights, np.arange(300), np.zeros(300, dtype=np.intp), np.ones(300, dtype=bool)
        model, best = HeldOut(rng.random(300) < confidence, *every), HeldOut(rng.random(300) < 0.9, *every)
        losses = {
            t: float(np.average((best.hits.astype(float) - model.hits)[above], weights=weights[above]))
            for t in set(confidence.tolist())
            if (above := confidence >= t).sum() >= 30
        }
        allowed = [t for t, loss in losses.items() if loss <= 0.05 + 1e-12]

        assert _threshold(model, best, 0.05) == (min(allowed) if allowed else math.inf)


def test_sure_answers_come_early_and_cost_little_accuracy(folder: Path) -> None:
    """Items that stop early compute fewer features; accuracy falls by no more than noise on fresh items allows."""
    patient, early = (
        Predictor.load(folder, task.space, early_stop=stop, seams=Seams(clock=ManualClock())) for stop in (False, True)
    )
    items, labels = task.items(300, seed=5)
    computed = [(early.predict_one(x), len(early.trace.features)) for x in items]
    full = [patient.predict_one(x) for x in items]
    confident = [k for answer, k in computed if answer.reason == "confident"]

    assert len(confident) > 30
    assert max(confident) < len(patient.bundle.names)
    answers = full, [answer for answer, _ in computed]
    right = [np.mean([a.label == label for a, label in zip(some, labels, strict=True)]) for some in answers]
    assert right[1] >= right[0] - 0.05


def test_node_stops_early_only_when_asked_and_prepared(folder: Path, tmp_path: Path) -> None:
    predictor = Predictor.load(folder, task.space, seams=Seams(clock=ManualClock()))
    assert not any(predictor.predict_one(x).reason == "confident" for x in task.items(60)[0])
    assert predictor.bundle.promise.stop_loss == 0.02

    plain = made(PolyDomSearch, LogisticRegression(max_iter=1000), **SEARCH)
    plain.fit(*task.items(), costs=task.costs).export(tmp_path / "plain.bundle")
    with pytest.raises(BundleMismatchError, match="early_stop"):
        Predictor.load(tmp_path / "plain.bundle", task.space, early_stop=True)


HARD = VotingClassifier([("one", LogisticRegression())], voting="hard")


@pytest.mark.parametrize("options", [{"early_stop": 0.02}, {"confidence": True}], ids=str)
@pytest.mark.parametrize("estimator", [LinearRegression(), HARD], ids=["regressor", "without scores"])
def test_estimator_without_scores_is_refused(estimator: object, options: dict[str, Any]) -> None:
    items, labels = task.items(90)
    targets = [float(len(x)) for x in items] if isinstance(estimator, LinearRegression) else labels
    with pytest.raises(TrainingError, match=r"confidence and early_stop (need .* leave them out|must be left out)"):
        made(PolyDomSearch, estimator, **SEARCH, **options).fit(items, targets, costs=task.costs)
