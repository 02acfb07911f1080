"""Answers that a fitted search gives on the host, without a bundle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import f1_score, log_loss, roc_auc_score
from sklearn.svm import SVC

from polydom_builder import GreedySearch, PolyDomSearch
from polydom_builder.exceptions import TrainingError
from polydom_runtime import FeatureSpace, Predictor, Seams
from polydom_runtime.exceptions import DeadlineError, ItemError
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.builder.searches import LOGISTIC, fit, search
from tests.builder.shared_memory import shared_memory

US = task.US
ITEMS, LABELS = task.items(60, seed=1)
DEADLINES = np.geomspace(50 * US, 400 * US, 60)


@pytest.fixture(scope="module")
def greedy() -> GreedySearch:
    return fit(
        GreedySearch(LOGISTIC, task.space, deadline=(50 * US, 400 * US), cv=2, memory=shared_memory(), lambdas=(0.0,))
    )


def quick(**changes: Any) -> PolyDomSearch:
    return search(**{"cv": 2, "max_trainings": 6} | changes)


def test_each_item_gets_the_answer_of_the_set_that_the_index_names(fitted: PolyDomSearch, greedy: GreedySearch) -> None:
    for found in (fitted, greedy):
        answers = found.predict(ITEMS, DEADLINES)
        used = found.features_used(ITEMS, DEADLINES)

        for item, deadline, answer, names in zip(ITEMS, DEADLINES, answers, used, strict=True):
            best = found.index_.best(len(item), deadline)
            order = [task.space.names.index(name) for name in best.features]
            assert names == best.features
            assert answer == found.trainer_.fit(order).predict(row_of(item, order))[0]


def test_host_and_node_give_the_same_label_by_the_same_set(fitted: PolyDomSearch, folder: Path) -> None:
    predictor = Predictor.load(folder, task.space, deadline=150 * US, policy="strict", seams=Seams(clock=ManualClock()))
    answers = [predictor.predict_one(item) for item in ITEMS]
    used = fitted.features_used(ITEMS, 150 * US)
    same = [k for k, answer in enumerate(answers) if set(answer.features) == set(used[k])]

    assert len(same) > 50
    assert [answers[k].label for k in same] == fitted.predict(ITEMS, 150 * US)[same].tolist()


def test_longest_deadline_is_the_default(fitted: PolyDomSearch) -> None:
    assert fitted.features_used(ITEMS, 400 * US) == fitted.features_used(ITEMS)


def test_greedy_follows_its_sequence(greedy: GreedySearch) -> None:
    (sequence,) = greedy.sequences_
    names = tuple(task.space.names[i] for i in sequence)
    used = greedy.features_used(ITEMS, 100 * US)

    assert len({len(features) for features in used}) > 1
    assert all(features == names[: len(features)] for features in used)


def test_prior_answers_if_nothing_fits(fitted: PolyDomSearch) -> None:
    with pytest.warns(UserWarning, match="from 50 µs to 400 µs; for 1 µs it may lack"):
        answers = fitted.predict(ITEMS, US)
    with pytest.warns(UserWarning, match="may lack"):
        probabilities = fitted.predict_proba(ITEMS, US)

    assert answers.tolist() == [fitted.classes_[fitted.prior_[0]]] * 60
    assert np.unique(probabilities).tolist() == [0.0, 1.0]


def test_probabilities_are_in_the_order_of_the_classes(fitted: PolyDomSearch) -> None:
    probabilities = fitted.predict_proba(ITEMS, DEADLINES)

    assert probabilities.shape == (60, 3)
    assert fitted.classes_.tolist() == ["calm", "loud", "slow"]
    assert fitted.classes_[probabilities.argmax(axis=1)].tolist() == fitted.predict(ITEMS, DEADLINES).tolist()


def test_estimator_without_probabilities_gives_none() -> None:
    unfitted = quick(estimator=SVC())

    assert not hasattr(unfitted, "predict_proba")
    assert not hasattr(fit(unfitted), "predict_proba")


@pytest.mark.parametrize("labels", [[7 * (k % 3) - 3 for k in range(90)], [k % 3 == 0 for k in range(90)]])
def test_labels_are_as_they_were_given(labels: list[Any]) -> None:
    answers = quick().fit(task.items(90)[0], labels, costs=task.costs).predict(ITEMS)

    assert {type(answer) for answer in answers.tolist()} == {type(labels[0])}
    assert set(answers.tolist()) <= set(labels)


def test_score_is_the_share_of_right_answers_by_weight(fitted: PolyDomSearch) -> None:
    hits = fitted.predict(ITEMS, DEADLINES) == LABELS
    weights = [*range(60)]

    assert 0.5 < np.mean(hits) < 1.0
    assert fitted.score(ITEMS, LABELS, DEADLINES) == pytest.approx(np.mean(hits))
    assert fitted.score(ITEMS, LABELS, DEADLINES, weights) == pytest.approx(np.average(hits, weights=weights))


def half_of_right(model: Any, rows: NDArray[Any], labels: NDArray[Any]) -> float:
    return float(np.mean(model.predict(rows) == labels)) / 2.0


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ("neg_log_loss", lambda found: -log_loss(LABELS, found.predict_proba(ITEMS, DEADLINES))),
        ("roc_auc_ovr", lambda found: roc_auc_score(LABELS, found.predict_proba(ITEMS, DEADLINES), multi_class="ovr")),
        ("f1_macro", lambda found: f1_score(LABELS, found.predict(ITEMS, DEADLINES), average="macro")),
        (half_of_right, lambda found: np.mean(found.predict(ITEMS, DEADLINES) == LABELS) / 2.0),
    ],
)
def test_score_is_by_the_scoring_of_the_search(scoring: Any, expected: Callable[[PolyDomSearch], float]) -> None:
    three = FeatureSpace(task.space.features[:3], size=len)
    found = quick(space=three, scoring=scoring, alpha=1.0, max_trainings=None).fit(
        *task.items(90), costs=task.costs.part(range(3))
    )

    assert found.score(ITEMS, LABELS, DEADLINES) == pytest.approx(expected(found))


def test_regressor_answers_with_numbers() -> None:
    lengths = [float(np.log(len(item))) for item in ITEMS]
    found = quick(estimator=Ridge(), alpha=None).fit(ITEMS, lengths, costs=task.costs)
    answers = found.predict(ITEMS)
    wrong = [-length for length in lengths]

    assert (answers.dtype.kind, answers.shape) == ("f", (60,))
    assert not hasattr(found, "classes_")
    assert not hasattr(found, "predict_proba")
    assert found.score(ITEMS, lengths) > found.score(ITEMS, wrong) == 0.0


def test_model_is_trained_once(fitted: PolyDomSearch) -> None:
    assert fitted.trainer_.fitted(3) is fitted.trainer_.fitted(3)


def test_names_of_features_are_those_of_the_bundle() -> None:
    """The label follows the spread alone, so that no other feature is of use."""
    items, _ = task.items(90)
    labels = [bool(item.std() > 1.2) for item in items]
    found = search(cv=2, tolerance=0.05).fit(items, labels, costs=task.costs)
    used = {
        name for size in (8, 100, 2000) for c in (50, 100, 400) for name in found.index_.best(size, c * US).features
    }

    names = found.get_feature_names_out().tolist()
    assert used <= set(names) < set(task.space.names)
    assert names == sorted(names, key=task.space.names.index)


@pytest.mark.parametrize("deadline", [0.0, -1.0, np.nan, 1e7, "fast", [100 * US] * 59, [100 * US] * 59 + [0.0]])
def test_deadlines_are_positive_seconds_for_all_or_each(fitted: PolyDomSearch, deadline: Any) -> None:
    with pytest.raises(DeadlineError, match="positive number of seconds, less than 1e\\+06, or one for each of the 60"):
        fitted.predict(ITEMS, deadline)


def test_search_for_any_budget_needs_a_deadline() -> None:
    found = fit(quick(deadline=None))

    with pytest.raises(DeadlineError, match="deadline must be given: the search was fitted for any budget"):
        found.predict(ITEMS)
    assert len(found.predict(ITEMS, 100 * US)) == 60


def test_one_deadline_outside_of_the_range_is_told(fitted: PolyDomSearch) -> None:
    with pytest.warns(UserWarning, match=r"for 60 s it may lack .* Are 60 s meant, and not 60 ms\?") as told:
        fitted.predict(ITEMS, [100 * US] * 59 + [60.0])

    assert [warning.filename for warning in told] == [__file__]


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "features_used", "get_feature_names_out"])
def test_answers_need_a_fit(ask: str) -> None:
    for unfitted in (quick(), GreedySearch(LOGISTIC, task.space)):
        with pytest.raises(NotFittedError):
            getattr(unfitted, ask)(ITEMS)
        with pytest.raises(NotFittedError):
            unfitted.score(ITEMS, LABELS)
        assert not hasattr(unfitted, "classes_")


def test_items_are_of_the_kind_of_the_fit(fitted: PolyDomSearch) -> None:
    with pytest.raises(ItemError, match="Item 1 must be an array of 1 dimension, as the items of the fit are"):
        fitted.predict([ITEMS[0], np.zeros((3, 3))])
    with pytest.raises(ItemError, match="There must be items to answer"):
        fitted.predict([])
    with pytest.raises(ItemError, match="Put a single item into a list"):
        fitted.predict(ITEMS[0])


def test_there_is_one_label_and_one_weight_for_each_item(fitted: PolyDomSearch) -> None:
    with pytest.raises(TrainingError, match=r"one label for each item\. Got 60 items and 59 labels"):
        fitted.score(ITEMS, LABELS[1:])
    with pytest.raises(TrainingError, match=r"one weight for each item\. Got 59 for 60"):
        fitted.score(ITEMS, LABELS, sample_weight=[1.0] * 59)


def row_of(item: NDArray[np.float64], order: list[int]) -> NDArray[np.float32]:
    row = task.space.extract_all(item)
    slices = task.space.column_slices()
    return np.concatenate([np.zeros(0, np.float32), *(row[slices[i]] for i in sorted(order))])[None]
