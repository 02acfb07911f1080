"""The answer without features where the user chooses it: its label, its score, and what the node gives."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from polydom_builder import GreedySearch, PolyDomSearch, verify_bundle
from polydom_builder.exceptions import TrainingError
from polydom_builder.training.chosen_prior import chosen_prior
from polydom_builder.training.labels import targets_of
from polydom_runtime import ManualClock, Predictor, Seams
from tests.builder import task
from tests.builder.searches import FEW, LOGISTIC, made
from tests.builder.shared_memory import shared_memory

ITEMS, SIGNALS = task.items(120)
LABELS = ["calm" if label == "slow" else label for label in SIGNALS]
"""Two of three are calm."""


def fitted(prior: Any, kind: Any = PolyDomSearch, labels: Any = LABELS, **changes: Any) -> Any:
    given = {"deadline": 400 * task.US, "cv": 3, "memory": shared_memory(), "confidence": True, **FEW[kind]} | changes
    return made(kind, prior=prior, **given).fit(ITEMS, labels, costs=task.costs)


def prior_of(search: Any, folder: Path) -> Any:
    """Return what a node answers to an item that is much too late."""
    search.export(folder)
    clock = ManualClock()
    node = Predictor.load(folder, task.space, seams=Seams(clock=clock))
    clock.advance(seconds=1.0)
    answer = node.predict_one(ITEMS[0], arrived_ns=0)
    assert answer.is_prior
    assert not answer.deadline_met
    return answer


@pytest.mark.parametrize("kind", [PolyDomSearch, GreedySearch])
@pytest.mark.parametrize(
    ("prior", "label", "share"), [("label", "calm", 2 / 3), ("loud", "loud", 1 / 3), ("abstain", None, 2 / 3)]
)
def test_node_gives_the_prior_that_was_chosen_with_the_share_of_its_class(
    prior: str, label: str | None, share: float, kind: Any, tmp_path: Path
) -> None:
    answer = prior_of(fitted(prior, kind), tmp_path / "x")

    assert answer.label == label
    assert answer.accuracy == pytest.approx(share)
    assert answer.confidence == pytest.approx(share, abs=0.01)
    assert answer.reason.startswith("no time for ")


def test_other_answers_are_the_same(tmp_path: Path) -> None:
    answers = []
    for prior in ("label", "abstain", "loud"):
        fitted(prior).export(tmp_path / prior)
        assert verify_bundle(tmp_path / prior).failures == ()
        node = Predictor.load(tmp_path / prior, task.space, seams=Seams(clock=ManualClock()))
        answers.append([node.predict_one(item)[:3] for item in ITEMS])

    assert answers[1:] == answers[:-1]
    assert None not in {label for label, *_ in answers[1]}


@pytest.mark.parametrize(
    ("estimator", "kind"), [(LOGISTIC, PolyDomSearch), (LOGISTIC, GreedySearch), (Ridge(), GreedySearch)]
)
def test_sets_are_compared_with_the_best_answer_without_features(estimator: Any, kind: Any) -> None:
    """A bad answer that was chosen makes no set better, and no set worse."""
    is_regressor = isinstance(estimator, Ridge)
    labels: list[Any] = [float(len(item)) for item in ITEMS] if is_regressor else LABELS
    scoring = "neg_mean_absolute_error" if is_regressor else "accuracy"
    given = {"estimator": estimator, "scoring": scoring, "confidence": False, "memory": None}
    best, chosen = (fitted(prior, kind, labels, **given) for prior in ("label", 1e6 if is_regressor else "loud"))

    assert chosen.expanded_ == best.expanded_
    assert chosen.scores_ == best.scores_
    assert best.prior_[1] == best.expanded_[0]
    assert chosen.prior_[1] == pytest.approx(np.mean(labels) - 1e6 if is_regressor else 1 / 3)


@pytest.mark.filterwarnings("ignore:The search was fitted for deadlines")
@pytest.mark.parametrize(("prior", "label"), [("loud", "loud"), ("abstain", "calm")])
def test_search_itself_answers_with_the_label_that_was_chosen(prior: str, label: str) -> None:
    found = fitted(prior)

    assert found.predict(ITEMS[:3], deadline=1e-9).tolist() == [label] * 3


def test_regressor_gives_the_number_that_was_chosen(tmp_path: Path) -> None:
    found = fitted(7, labels=[len(item) for item in ITEMS], estimator=Ridge(), confidence=False)
    answer = prior_of(found, tmp_path / "x")

    assert answer.label == 7.0
    assert answer.accuracy == 0.0


@pytest.mark.parametrize("wanted", [1, True, "True", "on", None, math.nan, ["calm"]])
def test_what_is_no_label_is_refused(wanted: Any) -> None:
    with pytest.raises(
        TrainingError, match=r"The prior must be one of '?label'?, '?abstain'?, '?calm'?, '?loud'?\. Got"
    ):
        chosen_prior(wanted, targets_of(LABELS, len(LABELS)))


@pytest.mark.parametrize("wanted", ["abstain", math.nan, math.inf, None, [1.0, 2.0]])
def test_what_is_no_number_is_refused_for_a_regressor(wanted: Any) -> None:
    with pytest.raises(TrainingError, match="The prior must be label or a finite number for a regressor"):
        chosen_prior(wanted, targets_of([1.0, 2.0, 4.0], 3, regression=True))


@pytest.mark.parametrize(("labels", "wanted", "number"), [([0, 1], 1, 1), ([False, True], True, 1), ([1, 2], 2, 1)])
def test_label_is_found_among_those_of_its_type(labels: list[Any], wanted: Any, number: int) -> None:
    assert chosen_prior(wanted, targets_of(labels, 2)) == number
    with pytest.raises(TrainingError):
        chosen_prior(float(wanted), targets_of(labels, 2))
