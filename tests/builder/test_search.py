"""The front door: from items to a bundle that the node decides with."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from polydom_builder import PolyDomSearch
from polydom_runtime import Predictor, Seams, load_bundle
from polydom_runtime.measuring.cost_samples import AFTER, BEFORE
from polydom_runtime.testing import ManualClock
from tests.builder import searches, task

US = task.US


def search(**changes: Any) -> PolyDomSearch:
    return searches.search(**{"deadline": 100 * US, "alpha": 1.0} | changes)


def test_answer_is_the_best_of_all_sets_at_every_size_and_deadline(every_score: list[float]) -> None:
    """Alpha = 1 and the largest violation of monotonicity as tolerance: no set at all beats the chosen one."""
    masks = list(range(2**5))
    violation = max(every_score[a] - every_score[b] for a in masks for b in masks if a & b == a)
    careful = search(deadline=(50 * US, 400 * US), tolerance=violation).fit(*task.items(), costs=task.costs)
    rng = np.random.default_rng(0)

    for n, budget in zip(rng.uniform(8, 2000, 300), rng.uniform(50 * US, 400 * US, 300), strict=True):
        best = max(every_score[m] for m in masks if m == 0 or careful.set_costs_(m)(n) <= budget)
        assert careful.index_.best(n, budget).accuracy == pytest.approx(best)


def test_node_computes_what_the_index_promises(fitted: PolyDomSearch, folder: Path) -> None:
    """With costs at their worst case, every answer is planned, in time, and by the set that the index names."""
    signals, _ = task.items(60, seed=1)
    for deadline in (50 * US, 100 * US, 400 * US):
        predictor = Predictor.load(
            folder, task.space, deadline=deadline, policy="strict", seams=Seams(clock=ManualClock())
        )
        for x in signals:
            answer = predictor.predict_one(x)
            assert answer.reason in ("planned", "planned, larger than measured")
            promised = [predictor.bundle.index.best(len(x), c0).accuracy for c0 in (deadline, deadline + 5 * US)]
            assert promised[0] <= answer.accuracy <= promised[1]  # the still clock leaves dispatch unspent


def test_bundle_states_how_far_the_tolerance_holds_and_the_kind_of_its_items(
    fitted: PolyDomSearch, folder: Path
) -> None:
    bundle = load_bundle(folder)

    assert bundle.promise.assumption == fitted.assumption_
    assert fitted.assumption_.n_pairs > 0
    assert bundle.space.item_kind == (1, False)


def test_the_bundle_that_an_export_returns_answers(fitted: PolyDomSearch, tmp_path: Path) -> None:
    answers = [
        Predictor(bundle, task.space, deadline=400 * US, seams=Seams(clock=ManualClock())).predict_one(
            task.items(1, seed=1)[0][0]
        )
        for bundle in (fitted.export(tmp_path / "b"), load_bundle(tmp_path / "b"))
    ]

    assert answers[0] == answers[1]
    assert answers[0].features


def test_node_gives_the_labels_of_scikit_learn(fitted: PolyDomSearch, folder: Path) -> None:
    predictor = Predictor.load(folder, task.space, deadline=400 * US, seams=Seams(clock=ManualClock()))
    signals, _ = task.items(60, seed=1)
    for x in signals:
        answer = predictor.predict_one(x)
        order = [task.space.names.index(f) for f in answer.features]
        row = task.space.extract_all(x)
        columns = [c for i in sorted(order) for c in range(*task.space.column_slices()[i].indices(99))]
        expected = fitted.trainer_.fit(order).predict(row[None, columns])[0]
        assert answer.label == expected


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps what was measured."""
    return tmp_path_factory.mktemp("measured")


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), RandomForestClassifier(5, max_depth=4, random_state=0), KNeighborsClassifier(5)],
    ids=lambda e: type(e).__name__,
)
def test_any_classifier_goes_from_host_to_node(estimator: Any, measured: Path, tmp_path: Path) -> None:
    """Costs are measured here, once; model runs too, of each classifier."""
    items, labels = task.items(90)
    few = {"deadline": 1.0, "quantile": 0.5, "cv": 2, "max_trainings": 4, "memory": measured}
    built = search(estimator=estimator, **few).fit(items, labels)
    built.export(tmp_path / "any.bundle")
    predictor = Predictor.load(tmp_path / "any.bundle", task.space)

    assert predictor.predict_one(items[0]).label in ("calm", "loud", "slow")
    assert built.samples_ is not None
    assert set(built.fits_) == {"difference", *task.space.names, BEFORE, AFTER}


def test_integer_and_boolean_labels_come_back_as_they_were(tmp_path: Path) -> None:
    items, _ = task.items(90)
    for labels in ([7 * (k % 3) - 3 for k in range(90)], [k % 3 == 0 for k in range(90)]):
        search(cv=2, max_trainings=6).fit(items, labels, costs=task.costs).export(tmp_path / "labels.bundle")
        predictor = Predictor.load(tmp_path / "labels.bundle", task.space, seams=Seams(clock=ManualClock()))
        answers = [predictor.predict_one(x).label for x in items]
        assert {type(a) for a in answers} == {type(labels[0])}
        assert set(answers) <= set(labels)


def test_any_budget_and_any_deadline_give_the_same_answers() -> None:
    items, labels = task.items()
    general = search(deadline=None, tolerance=0.02).fit(items, labels, costs=task.costs)
    fixed = search(deadline=100 * US, tolerance=0.02).fit(items, labels, costs=task.costs)

    staircase = fixed.staircase_
    assert general.staircase_ is None
    assert staircase is not None
    for n in np.linspace(8, 2000, 50):
        assert staircase.best(n).accuracy == pytest.approx(general.index_.best(n, 100 * US).accuracy, abs=0.02)
