"""Bundles that state confidences: on fresh items they are as often right as they say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from polydom_builder import GreedySearch, PolyDomSearch
from polydom_builder.__main__ import main as inspect_main
from polydom_builder.bundling.risks import risk_points
from polydom_builder.exceptions import TrainingError
from polydom_runtime import Predictor, Seams
from polydom_runtime.__main__ import main as node_main
from polydom_runtime.bundles.confidence import RiskPoint
from polydom_runtime.describing.outlook_table import in_range
from polydom_runtime.tables import percent
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.builder.searches import made, search

SEARCH: dict[str, Any] = {"deadline": (0.02, 1.0), "cv": 3, "confidence": True, "max_mismatches": 20}
ESTIMATORS = {
    "forest": RandomForestClassifier(10, max_depth=5, random_state=0),
    "bayes": GaussianNB(),
    "linear SVC": make_pipeline(StandardScaler(), LinearSVC()),
    "SVC": make_pipeline(StandardScaler(), SVC()),
}


def right_and_sure(predictor: Predictor, binary: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the answers to fresh items are right, and their confidences."""
    items, labels = task.items(600, seed=9)
    answers = [predictor.predict_one(item) for item in items]
    wanted = [label == "loud" for label in labels] if binary else labels
    right = np.array([answer.label == label for answer, label in zip(answers, wanted, strict=True)])
    return right, np.array([answer.confidence for answer in answers])


@pytest.mark.parametrize("binary", [True, False], ids=["two classes", "three classes"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_fresh_answers_are_right_as_often_as_they_say(name: str, binary: bool, tmp_path: Path) -> None:
    items, labels = task.items(300)
    wanted = [label == "loud" for label in labels] if binary else labels
    found = search(estimator=ESTIMATORS[name], **SEARCH).fit(items, wanted, costs=task.costs)
    found.export(tmp_path / "sure.bundle")
    right, sure = right_and_sure(
        Predictor.load(tmp_path / "sure.bundle", task.space, seams=Seams(clock=ManualClock())), binary
    )
    half = sure >= np.median(sure)

    assert sure.mean() == pytest.approx(right.mean(), abs=0.06)
    assert right[half].mean() >= right.mean()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sure") / "sure.bundle"
    found = search(estimator=GaussianNB(), early_stop=0.02, **SEARCH)
    found.fit(*task.items(300), costs=task.costs).export(folder)
    return folder


def test_a_bundle_states_risks_at_some_deadlines(folder: Path) -> None:
    bundle = Predictor.load(folder, task.space).bundle
    assert bundle.confidence is not None
    risks = bundle.confidence.risks

    assert [r.deadline for r in risks] == [o.deadline for o in in_range(bundle.times.outlook, bundle.promise)]
    for risk, outlook in zip(risks, in_range(bundle.times.outlook, bundle.promise), strict=True):
        first, *others = risk.points
        assert (first.threshold, first.coverage) == (0.0, 1.0)
        assert 1.0 - first.risk == pytest.approx(outlook.score, abs=0.1)
        assert all(point.risk <= first.risk + 0.05 for point in others)


def test_a_wanted_accuracy_is_reached_on_fresh_items(folder: Path) -> None:
    plain = Predictor.load(folder, task.space, seams=Seams(clock=ManualClock()))
    picky = Predictor.load(folder, task.space, accuracy_wanted=0.985, seams=Seams(clock=ManualClock()))
    right, sure = right_and_sure(plain)
    given = sure >= picky.abstain_below

    assert right.mean() < 0.975
    assert 0.2 < given.mean() < 1.0
    assert right[given].mean() >= 0.985 - 2 * np.sqrt(0.985 * 0.015 / given.sum())


def test_a_greedy_bundle_states_confidences_too(tmp_path: Path) -> None:
    options = {**SEARCH, "deadline": 1.0}
    found = made(GreedySearch, LogisticRegression(), lambdas=(0.0,), **options)
    bundle = found.fit(*task.items(120), costs=task.costs).export(tmp_path / "greedy.bundle")
    answer = Predictor.load(tmp_path / "greedy.bundle", task.space).predict_one(task.items(1)[0][0])

    assert answer.confidence is not None
    assert bundle.confidence is not None
    assert bundle.confidence.prior == pytest.approx(
        np.mean(np.array(task.items(120)[1]) == bundle.space.classes[0]), abs=0.2
    )


def test_a_bundle_states_no_confidence_unless_asked(tmp_path: Path) -> None:
    found = search(estimator=GaussianNB(), **{**SEARCH, "confidence": False})
    bundle = found.fit(*task.items(90), costs=task.costs).export(tmp_path / "plain.bundle")

    assert bundle.confidence is None
    assert {model.calibration for model in bundle.models} == {None}


@pytest.mark.parametrize("kind", [PolyDomSearch, GreedySearch])
@pytest.mark.parametrize("value", [None, 1, "yes", 0.9], ids=str)
def test_confidence_is_a_choice_of_two(kind: type[Any], value: object) -> None:
    with pytest.raises(TrainingError, match="confidence must be True or False"):
        made(kind, GaussianNB(), **{**SEARCH, "confidence": value}).fit(*task.items(90), costs=task.costs)


def test_points_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(0)
    confidences, weights = rng.integers(50, 100, 400) / 100, rng.uniform(0.5, 2.0, 400)
    hits = rng.random(400) < confidences
    points = risk_points(confidences, hits, weights)

    assert len(points) > 10
    for threshold, coverage, risk in points:
        given = confidences >= threshold
        assert coverage == pytest.approx(weights[given].sum() / weights.sum())
        mass = weights[given] / weights.mean()
        assert risk == pytest.approx((mass[~hits[given]].sum() + 0.5) / (mass.sum() + 1.0))
        assert given.sum() >= 30


def test_items_that_a_model_abstains_from_are_not_answered_at_any_threshold() -> None:
    sure, hits = np.linspace(1.0, 0.5, 100), np.ones(100, dtype=bool)
    said = np.arange(100) % 4 > 0
    points = risk_points(sure, hits & said, np.ones(100), said)

    assert (points[0].threshold, points[0].coverage, points[0].risk) == (0.0, 0.75, 0.5 / 76)
    assert risk_points(sure, hits, np.ones(100), ~hits) == (RiskPoint(0.0, 0.0, 0.5),)


def test_bundle_whose_models_abstain_states_what_it_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    signals, labels = task.items(240)
    costs = {(a, b): 1.0 for a in set(labels) for b in set(labels) if a != b} | {(a, None): 0.2 for a in set(labels)}
    found = search(deadline=400 * task.US, confidence=True, costs_of_errors=costs, max_mismatches=3)
    bundle = found.fit(signals, labels, costs=task.costs).export(tmp_path / "x")
    new, truth = task.items(600, seed=1)
    node = Predictor.load(tmp_path / "x", task.space, seams=Seams(clock=ManualClock()))
    answers = [node.predict_one(item) for item in new]
    given = [(answer.label == label) for answer, label in zip(answers, truth, strict=True) if answer.label is not None]

    assert bundle.confidence is not None
    ((point, *_),) = [risk.points for risk in bundle.confidence.risks]
    assert point.coverage < 1.0
    assert len(given) / len(new) == pytest.approx(point.coverage, abs=0.05)
    assert 1.0 - np.mean(given) == pytest.approx(point.risk, abs=0.04)
    assert {answer.reason for answer in answers if answer.label is None} == {"unsure"}
    assert node_main(["info", str(tmp_path / "x")]) == 0
    assert f"to at most {percent(1 - point.coverage, 3)} of the items at a deadline" in capsys.readouterr().out


def test_few_items_have_one_point() -> None:
    assert risk_points(np.array([0.5, 0.75]), np.array([False, True]), np.ones(2)) == ((0.0, 1.0, 0.5),)


def test_inspect_and_info_show_the_risks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect_main(["inspect", str(folder)]) == 0
    assert node_main(["info", str(folder)]) == 0
    text = capsys.readouterr().out
    assert inspect_main(["inspect", str(folder), "--json"]) == 0
    confidence = json.loads(capsys.readouterr().out)["result"]["confidence"]

    assert text.count("wrong answers if only the surest share of items is answered") == 2
    assert confidence["prior"] == pytest.approx(1 / 3)
    assert confidence["risks"][0]["points"][0].items() >= {"threshold": 0.0, "coverage": 1.0}.items()
