"""Costs of errors: what is refused, the prior, the score, and the answers on host and node."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from polydom_builder import GreedySearch, PolyDomSearch, verify_bundle
from polydom_builder.exceptions import TrainingError
from polydom_builder.training.error_costs import CostSaved, checked_error_costs
from polydom_builder.training.labels import targets_of
from polydom_builder.training.scoring import scoring_name
from polydom_runtime import ManualClock, Predictor, Seams
from polydom_runtime.bundles.confidence import ErrorCosts
from polydom_runtime.features import members
from tests.builder import task
from tests.builder.searches import FEW, LOGISTIC, made, search
from tests.builder.shared_memory import shared_memory

ITEMS, SIGNALS = task.items(120)
FAULTS = ["fault" if label == "loud" else "ok" for label in SIGNALS]
COSTS: dict[tuple[Any, Any], Any] = {("fault", "ok"): 5.0, ("ok", "fault"): 1.0}
NO_ANSWER: dict[tuple[Any, Any], Any] = {("fault", None): 0.3, ("ok", None): 0.3}
SAME = {(a, b): 1 for a in ("calm", "loud", "slow") for b in ("calm", "loud", "slow") if a != b}


def fitted(costs: Any = COSTS, labels: Any = FAULTS, kind: Any = PolyDomSearch, **changes: Any) -> Any:
    given = {"deadline": 400 * task.US, "cv": 3, "memory": shared_memory(), **FEW[kind]} | changes
    return made(kind, costs_of_errors=costs, **given).fit(ITEMS, labels, costs=task.costs)


@pytest.fixture(scope="module")
def by_cost() -> Any:
    """A search with the costs of errors, fitted once; no test alters it."""
    return fitted(alpha=None)


def mean_cost(labels: Any, answers: Any) -> float:
    return float(np.mean([COSTS.get((true, said), 0.0) for true, said in zip(labels, answers, strict=True)]))


@pytest.mark.parametrize(
    ("costs", "changes", "said"),
    [
        (5, {}, r"must be a mapping. Got 5. Give costs_of_errors=\{\(true label"),
        ({"fault": 5}, {}, "by pairs of labels. Got 'fault'"),
        ({("fault", "ok", "fault"): 5}, {}, "by pairs of labels. Got .'fault', 'ok', 'fault'"),
        ({**COSTS, ("fault", "Ok"): 5}, {}, "of the labels of the items, .'fault', 'ok'.. Got 'Ok' in "),
        (COSTS | {("fault", 1): 5}, {}, "Got 1 in "),
        ({("fault", "ok"): 5}, {}, "must have a cost. Got none for .'ok', 'fault'., nor for 0 others"),
        (COSTS | {("fault", "ok"): -1}, {}, "Got -1 for .'fault', 'ok'"),
        (COSTS | {("fault", "ok"): math.nan}, {}, "must be 0, or a number from 5e-91 to 2e.90. Got nan"),
        (COSTS | {("fault", "ok"): math.inf}, {}, "Got inf"),
        (COSTS | {("fault", "ok"): 10**400}, {}, "must be 0, or a number"),
        (COSTS | {("fault", "ok"): 1e300}, {}, "Got 1e.300"),
        (COSTS | {("ok", "fault"): 1e-300}, {}, "Got 1e-300"),
        (COSTS | {("fault", "ok"): "5"}, {}, "Got '5'"),
        (COSTS | {("fault", "ok"): True}, {}, "Got True"),
        (COSTS | {("ok", "ok"): 2}, {}, "A right answer must not cost more than an error. For 'ok'.*to say 'fault'"),
        (COSTS | {("ok", "fault"): 0}, {}, "Always to say 'fault' costs nothing"),
        (COSTS | {("ok", None): 1}, {}, "must have a cost. Got none for .'fault', None., nor for 0 others"),
        (COSTS | {(None, "ok"): 1}, {}, "of the labels of the items, .'fault', 'ok'.. Got None in "),
        (COSTS | {("ok", None): 0.5, ("fault", None): 2.5}, {}, "No answer, None, .* Some label never costs more"),
        (COSTS | {("ok", None): 0, ("fault", None): 0}, {}, "Always to say None costs nothing"),
        (COSTS | {("ok", None): 1, ("fault", None): -1}, {}, "Got -1 for .'fault', None"),
        (COSTS | NO_ANSWER | {("ok", "ok"): 0.4}, {}, "For 'ok' it costs more than to say None"),
        (COSTS | NO_ANSWER, {"scoring": "accuracy"}, "scoring must be left out .* Got 'accuracy'"),
        (COSTS, {"estimator": Ridge(), "labels": np.linspace(0, 1, 120)}, "left out for a regressor"),
        (COSTS, {"estimator": LinearSVC()}, "LinearSVC has none. Wrap it in CalibratedClassifierCV"),
    ],
)
@pytest.mark.parametrize("kind", [PolyDomSearch, GreedySearch])
def test_costs_that_say_no_choice_are_refused_before_training(costs: Any, changes: Any, said: str, kind: Any) -> None:
    with pytest.raises(TrainingError, match=said):
        fitted(costs, kind=kind, **changes)


def test_early_stops_by_accuracy_are_refused() -> None:
    with pytest.raises(TrainingError, match="early_stop must be left out with costs_of_errors"):
        fitted(early_stop=0.01)


def test_cost_of_a_right_answer_changes_no_choice(by_cost: Any) -> None:
    dearer = {pair: cost + 2.0 for pair, cost in COSTS.items()} | {("fault", "fault"): 2.0, ("ok", "ok"): 2.0}

    assert by_cost.trainer_.errors == fitted(dearer).trainer_.errors


def test_labels_and_costs_may_be_of_numpy() -> None:
    labels = np.array([label == "fault" for label in FAULTS])
    found = fitted({(np.True_, np.False_): np.float32(5), (False, True): np.int64(1)}, labels)

    assert found.trainer_.errors == ErrorCosts(((0.0, 1.0), (5.0, 0.0)), 80 / 120)


@pytest.mark.parametrize("kind", [PolyDomSearch, GreedySearch])
def test_prior_is_the_label_of_least_cost_in_folds_and_in_the_bundle(kind: Any, tmp_path: Path) -> None:
    """A third of the items is faulty: a fault is the better guess from twice the cost on."""
    found = [fitted({("fault", "ok"): cost, ("ok", "fault"): 1.0}, kind=kind) for cost in (1.9, 2.1)]

    assert [search.prior_[0] for search in found] == [1, 0]
    assert [search.trainer_.fit((), np.arange(30)).predict(np.zeros((1, 1)))[0] for search in found] == ["ok", "fault"]
    bundle = found[1].export(tmp_path / "x")
    assert (0, pytest.approx(0.0, abs=0.02)) == bundle.prior


def test_ratio_of_costs_may_be_any() -> None:
    with pytest.warns(UserWarning, match="No feature set scores more"):
        found = fitted({("fault", "ok"): 1e90, ("ok", "fault"): 1e-90})

    assert found.predict(ITEMS[:5]).tolist() == ["fault"] * 5


def test_prior_counts_weights() -> None:
    weights = [2.0 if label == "ok" else 1.0 for label in FAULTS]
    found = search(costs_of_errors={("fault", "ok"): 3.9, ("ok", "fault"): 1.0}, deadline=400 * task.US)

    assert found.fit(ITEMS, FAULTS, costs=task.costs, sample_weight=weights).prior_[0] == 1


def test_score_is_the_share_of_the_cost_of_the_best_constant_answer_that_is_saved() -> None:
    """Of 3 faults one is missed, which costs 5; 2 of 7 sound items are alarms. Always 'fault' costs 7, in training."""
    true = np.array(["fault"] * 3 + ["ok"] * 7)
    said = np.array(["fault"] * 2 + ["ok"] + ["fault"] * 2 + ["ok"] * 5)
    scorer = CostSaved(np.array(["fault", "ok"]), ErrorCosts(((0.0, 5.0), (1.0, 0.0)), 0.7))

    class Model:
        def predict(self, rows: Any) -> Any:
            return said[rows]

    rows = np.arange(10)
    assert pytest.approx(scorer(Model(), rows, true)) == 1.0 - (5 + 2) / 7
    assert pytest.approx(scorer(Model(), rows, true, np.array([1, 1, 0] + [1] * 7)) * 0.9 + 0.1) == 1.0 - 2 / 7
    with pytest.raises(ValueError, match=r"one of the training. Got .*'odd'"):
        scorer(Model(), rows, np.array(["odd"] * 10))


def test_no_answer_has_a_cost_in_the_score() -> None:
    """An alarm costs 1, no answer 0.5 for a fault and 0.25 for a sound item."""
    scorer = CostSaved(np.array(["fault", "ok"]), ErrorCosts(((0.0, 5.0, 0.5), (1.0, 0.0, 0.25)), 0.25))

    class Model:
        def predict(self, rows: Any) -> Any:
            return np.array(["fault", None, "fault", None], dtype=object)[rows]

    assert scorer(Model(), np.arange(4), np.array(["fault", "fault", "ok", "ok"])) == 1.0 - (0.5 + 1 + 0.25) / 4 / 0.25


@pytest.mark.parametrize(("costs", "is_worth"), [((0.3, 3.4), True), ((0.3, 3.6), False), ((1e-9, 4.9), True)])
def test_no_answer_is_worth_it_if_its_shares_of_both_errors_are_less_than_1(
    costs: tuple[float, float], is_worth: bool
) -> None:
    """At the probabilities where both labels cost the same, 1/6 and 5/6, each costs 5/6."""
    given = COSTS | dict(zip(NO_ANSWER, reversed(costs), strict=True))
    targets = targets_of(FAULTS, len(FAULTS))

    if is_worth:
        found = checked_error_costs(given, targets)
        assert found is not None
        assert found.abstain
    else:
        with pytest.raises(TrainingError, match="No answer"):
            checked_error_costs(given, targets)


def test_no_answer_that_costs_nearly_nothing_is_all_that_there_is() -> None:
    with pytest.warns(UserWarning, match="No feature set scores more"):
        found = fitted(COSTS | {("fault", None): 1e-60, ("ok", None): 1e-60})

    assert found.predict(ITEMS[:5]).tolist() == [None] * 5
    assert found.prior_[0] == 2


def test_estimator_may_see_labels_or_their_numbers() -> None:
    by_label = fitted(COSTS | NO_ANSWER).trainer_
    by_number = replace(by_label, by_number=True)

    assert by_number.scores([0, 0b11110]) == by_label.scores([0, 0b11110])
    assert by_number.scores([0b11110])[0] > 0.0


def test_score_below_the_best_constant_answer_counts_as_0(by_cost: Any) -> None:
    assert by_cost.trainer_.mean("level", [-0.3, 0.1]) == 0.0
    assert min(by_cost.expanded_.values()) >= 0.0


def test_scoring_of_the_user_wins(by_cost: Any) -> None:
    found = fitted(scoring="balanced_accuracy")

    assert found.expanded_[0] == 0.5
    assert scoring_name(found.trainer_.scoring) == "balanced_accuracy"
    assert scoring_name(by_cost.trainer_.scoring) == "cost_saved"


def test_equal_costs_give_the_answers_of_the_estimator() -> None:
    masks = [0, 0b11, 0b11111]
    plain, same = (fitted(costs, SIGNALS).trainer_ for costs in (None, SAME))
    answers = [[t.codes(t.fitted(m), t.table.rows_of(members(m))).tolist() for m in masks] for t in (plain, same)]

    assert answers[0] == answers[1]
    saved = [max(1.0 - (1.0 - score) * 1.5, 0.0) for score in plain.scores(masks)]
    assert same.scores(masks) == pytest.approx(saved)


def test_costs_lower_the_mean_cost_on_new_items(by_cost: Any) -> None:
    signals, kinds = task.items(600, seed=1)
    labels = ["fault" if kind == "loud" else "ok" for kind in kinds]
    plain, with_costs = (mean_cost(labels, found.predict(signals)) for found in (fitted(None), by_cost))

    assert with_costs < 0.9 * plain


def test_bundle_whose_prior_is_to_abstain_verifies(tmp_path: Path) -> None:
    """The score of the prior is 0 up to rounding, and so are its parts."""
    bundle = fitted(COSTS | NO_ANSWER).export(tmp_path / "x")

    assert bundle.prior == (2, pytest.approx(0.0, abs=1e-9))
    assert verify_bundle(tmp_path / "x").failures == ()


@pytest.mark.parametrize("unsure", [False, True], ids=["", "abstains"])
@pytest.mark.parametrize("labels", [FAULTS, SIGNALS], ids=["two classes", "three classes"])
def test_host_answers_as_the_node_does(labels: Any, unsure: bool, tmp_path: Path) -> None:
    costs = COSTS if labels is FAULTS else SAME | {("slow", "calm"): 4.0, ("loud", "calm"): 3.0}
    no_answer = {(label, None): 0.3 for label in set(labels)} if unsure else {}
    found = fitted(costs | no_answer, labels, max_mismatches=2)
    found.export(tmp_path / "x")
    node = Predictor.load(tmp_path / "x", task.space, seams=Seams(clock=ManualClock()))
    new, _ = task.items(300, seed=2)
    answers = [node.predict_one(item).label for item in new]

    assert answers == found.predict(new).tolist()
    assert (None in answers) == unsure
    assert answers != fitted(None, labels).predict(new).tolist()
    assert np.allclose(found.predict_proba(new).sum(axis=1), 1.0)


def test_host_scores_by_the_costs_of_the_training(by_cost: Any) -> None:
    new, kinds = task.items(300, seed=2)
    labels = ["fault" if kind == "loud" else "ok" for kind in kinds]

    assert 1.0 - mean_cost(labels, by_cost.predict(new)) / by_cost.trainer_.errors.constant == by_cost.score(
        new, labels
    )
    with pytest.raises(TrainingError, match=r"one of the training. Got .*odd"):
        by_cost.score(new, ["odd"] * 300)


def test_probabilities_may_be_there_only_after_the_fit() -> None:
    stack = StackingClassifier([("a", LOGISTIC), ("b", GaussianNB())], cv=2)

    assert fitted(estimator=stack, deadline=0.1).trainer_.errors is not None


def test_search_with_costs_is_cloned_and_changed() -> None:
    found = search(costs_of_errors=COSTS)

    assert clone(found).get_params()["answers__costs_of_errors"] == COSTS
    assert found.set_params(estimator=LogisticRegression(C=0.1), estimator__C=2.0).estimator.C == 2.0


def test_other_costs_have_another_place_in_the_cache(by_cost: Any) -> None:
    known = by_cost.trainer_.errors
    others = None, known, known._replace(costs=((0.0, 5.0), (2.0, 0.0)))
    keys = {replace(by_cost.trainer_, errors=errors).key for errors in others}

    assert len(keys) == 3
