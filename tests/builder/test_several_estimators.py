"""A search with several estimators, by name: the index mixes their models, with few more trainings than one needs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone, is_classifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.naive_bayes import GaussianNB

from polydom_builder import PolyDomSearch, verify_bundle
from polydom_builder.bundling.assembly import indexed
from polydom_builder.costs.model_timers import GivenTimer, ModelTime, TimedModel
from polydom_builder.preparation import preparation
from polydom_builder.verification.proof_file import load_proof
from polydom_builder.verification.verify import verify
from polydom_runtime import Predictor, Seams, load_bundle
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.testing import ManualClock
from tests.builder import board, task
from tests.builder.searches import LOGISTIC, search

US = task.US
ESTIMATORS = {"lines": LOGISTIC, "trees": ExtraTreesClassifier(8, max_depth=6, random_state=0)}
LARGE = 4000
"""The trees have more bytes, whatever set they are of."""


class ByLength(GivenTimer):
    """A model of trees takes 150 µs, any other 10 µs."""

    def __call__(self, models: Sequence[TimedModel]) -> list[ModelTime]:
        return [ModelTime(150 * US if len(data) > LARGE else 10 * US) for _, data in models]


@pytest.fixture(scope="module")
def mixed() -> PolyDomSearch:
    return fit(early_stop=0.1)


@pytest.fixture(scope="module")
def folder(mixed: PolyDomSearch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed") / "task.bundle"
    mixed.export(folder)
    return folder


@pytest.fixture(scope="module")
def by_trees(tmp_path_factory: pytest.TempPathFactory) -> tuple[PolyDomSearch, Bundle, Path]:
    """For long deadlines trees explore the lattice, though lines are quicker."""
    found, folder = fit(deadline=(600 * US, 700 * US), slowdown=1.0), tmp_path_factory.mktemp("trees") / "task.bundle"
    bundle = found.export(folder)
    assert found.families_[0].name == "trees"
    return found, bundle, folder


def fit(**changes: Any) -> PolyDomSearch:
    """Return a search by both estimators, timed `ByLength`, on classes that lines cannot tell apart well."""
    given = {
        "estimator": ESTIMATORS,
        "cv": 2,
        "deadline": (40 * US, 700 * US),
        "alpha": 1.0,
        "tolerance": 0.1,
        "random_state": 0,
    }
    signals, _ = task.items(150)
    labels = ["odd" if 1.05 < x.std() < 1.45 or x.mean() > 0.4 else "even" for x in signals]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparation, "model_timer", lambda *_: ByLength(0.0))
        return search(**given | changes).fit(signals, labels, costs=board.samples())


def trained(found: PolyDomSearch) -> int:
    return sum(map(len, found.scores_.values()))


def test_the_index_has_quick_models_for_short_deadlines_and_good_ones_for_long(mixed: PolyDomSearch) -> None:
    by = [mixed.index_.best(8, deadline * US).estimator for deadline in (60, 700)]

    assert by[0] != "trees"
    assert by[1] == "trees"


def test_all_estimators_together_train_at_most_half_as_much_again(mixed: PolyDomSearch) -> None:
    assert len(mixed.expanded_) < trained(mixed) <= 1.5 * len(mixed.expanded_)


def test_every_candidate_is_as_good_as_a_training_says_and_costs_what_its_estimator_takes(mixed: PolyDomSearch) -> None:
    for found in mixed.candidates_[1:]:
        assert found.accuracy == mixed.scores_[found.estimator][found.mask]
        assert found.cost == mixed.costs_[found.estimator](found.mask)
    for deadline in (60 * US, 200 * US, 700 * US):
        best = mixed.index_.best(100, deadline).accuracy
        assert best == max(
            score
            for name, scores in mixed.scores_.items()
            if name in mixed.costs_
            for mask, score in scores.items()
            if mask == 0 or mixed.costs_[name](mask)(100) <= deadline
        )


def test_every_prefix_has_a_quick_model(folder: Path, by_trees: tuple[PolyDomSearch, Bundle, Path]) -> None:
    """Whichever estimator explores the lattice."""
    for bundle in (load_bundle(folder), by_trees[1]):
        quick = {entry.order for entry in bundle.models if entry.seconds < 100 * US}
        assert {entry.estimator for entry in bundle.models} == {"lines", "trees"}
        for entry in bundle.models:
            assert all(entry.order[:k] in quick for k in range(1, len(entry.order) + 1))


def test_the_promise_is_proven(mixed: PolyDomSearch, folder: Path) -> None:
    """It is about the sets of the first estimator; another one may have candidates of the same sets."""
    first = mixed.families_[0].name
    proven = [c.mask for c in mixed.candidates_ if c.estimator in ("", first)]

    assert load_proof(folder).kept.tolist() == proven
    assert len(proven) < len(mixed.candidates_)
    assert verify_bundle(folder).ok


def test_models_of_another_estimator_do_not_stand_for_the_proven_sets(
    by_trees: tuple[PolyDomSearch, Bundle, Path],
) -> None:
    """The promise needs models that score as those of the trees do, which explore the lattice."""
    found, bundle, folder = by_trees
    proof = load_proof(folder)
    worse = tuple(m._replace(accuracy=m.accuracy - 1e-3 * (m.estimator == "trees")) for m in bundle.models)

    assert verify(bundle, proof).ok
    faults = verify(indexed(replace(bundle, models=worse), found.region_), proof).failures
    assert any("has no model" in fault for fault in faults)


def label_of(found: PolyDomSearch, estimator: str, order: Sequence[int], x: Any) -> str:
    """Return the label that scikit-learn gives to an item by the features of a model."""
    (family,) = (f for f in found.families_ if f.name == estimator)
    row = task.space.extract_all(x)
    columns = [c for i in sorted(order) for c in range(*task.space.column_slices()[i].indices(99))]
    label: str = family.trainer.fitted(sum(1 << i for i in order)).predict(row[None, columns])[0]
    return label


@pytest.mark.parametrize("deadline", [60 * US, 300 * US, 700 * US])
def test_host_and_node_give_the_label_of_the_model_that_answers(
    mixed: PolyDomSearch, folder: Path, deadline: float
) -> None:
    node = Predictor.load(folder, task.space, deadline=deadline, policy="strict", seams=Seams(clock=ManualClock()))
    signals, _ = task.items(40, seed=1)

    for x, label in zip(signals, mixed.predict(signals, deadline).tolist(), strict=True):
        named = mixed.index_.best(len(x), deadline)
        assert label == label_of(mixed, named.estimator, [task.space.names.index(f) for f in named.features], x)
        answer = node.predict_one(x)
        (model,) = {node.bundle.models[k] for k, m in node.loaded.items() if m.accuracy == answer.accuracy}
        assert answer.label == label_of(mixed, model.estimator, model.order, x)


def test_probabilities_are_of_the_model_that_answers(mixed: PolyDomSearch) -> None:
    signals, _ = task.items(20, seed=1)

    for deadline in (60 * US, 700 * US):
        sure = mixed.classes_[mixed.predict_proba(signals, deadline).argmax(axis=1)]
        assert sure.tolist() == mixed.predict(signals, deadline).tolist()


@pytest.mark.parametrize("most", [8, 14])
def test_the_limit_of_trainings_holds_for_all_together(most: int) -> None:
    assert trained(fit(max_trainings=most, tolerance=0.1, alpha=1.5)) <= most


def test_each_model_stops_early_by_its_own_confidence(folder: Path) -> None:
    models = load_bundle(folder).models

    calibrations = {name: {m.calibration for m in models if m.estimator == name} for name in ("lines", "trees")}
    assert {m.estimator for m in models} == calibrations.keys()
    assert None not in calibrations["lines"] | calibrations["trees"]
    assert calibrations["lines"].isdisjoint(calibrations["trees"])
    assert all(m.stop is not None for m in models)


def test_a_build_that_starts_again_trains_nothing(tmp_path: Path) -> None:
    few = {"max_trainings": 8, "alpha": 1.5, "memory": str(tmp_path / "cache")}
    first = fit(**few)
    kept = sorted(tmp_path.rglob("*"))

    second = fit(**few)

    assert first.scores_ == second.scores_
    assert kept == sorted(tmp_path.rglob("*"))


def test_a_single_estimator_may_have_a_name() -> None:
    """Nothing else differs."""
    named, unnamed = (
        search(estimator=e).fit(*task.items(60), costs=task.costs) for e in ({"lines": LOGISTIC}, LOGISTIC)
    )

    assert named.expanded_ == unnamed.expanded_
    assert [c.features for c in named.candidates_] == [c.features for c in unnamed.candidates_]
    assert {c.estimator for c in named.candidates_} == {"", "lines"}


def test_parameters_of_each_estimator_are_set_by_its_name() -> None:
    found = clone(search(estimator=ESTIMATORS))

    found.set_params(estimator__trees__max_depth=3, cv=4)
    found.set_params(estimator__lines=GaussianNB(), estimator__lines__var_smoothing=0.5)

    assert is_classifier(found)
    assert found.get_params()["estimator__trees__max_depth"] == 3
    assert (found.estimator["lines"].var_smoothing, found.cv) == (0.5, 4)
    assert (ESTIMATORS["trees"].max_depth, ESTIMATORS["lines"]) == (6, LOGISTIC)
    assert "'trees': ExtraTreesClassifier(max_depth=3" in repr(found)
    with pytest.raises(ValueError, match=r"one of lines, trees\. Got svc"):
        found.set_params(estimator__svc__C=1.0)
