"""The front door: from items to a bundle that the node decides with."""

import importlib
import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polydom_builder import PolyDomSearch
from polydom_builder.exceptions import ExportError, FitError, LatticeError, TrainingError
from polydom_runtime import Feature, FeatureSpace, Predictor
from polydom_runtime.bundles.index_file import INDEX_FILE, load_bundle
from polydom_runtime.exceptions import DeadlineError, FeatureError, ItemError, PolyDomError
from polydom_runtime.measuring.cost_samples import DISPATCH
from polydom_runtime.measuring.fingerprint import source_fingerprint
from polydom_runtime.testing import ManualClock

from . import task

US = task.US
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


def search(**changes: Any) -> PolyDomSearch:
    return PolyDomSearch(**{"estimator": LOGISTIC, "space": task.space, "deadline": 100 * US, "cv": 3} | changes)


@pytest.fixture(scope="module")
def fitted() -> PolyDomSearch:
    return search(deadline=(50 * US, 400 * US)).fit(*task.items(), costs=task.costs)


@pytest.fixture(scope="module")
def folder(fitted: PolyDomSearch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "task.bundle"
    fitted.export(folder)
    return folder


def test_answer_is_the_best_of_all_sets_at_every_size_and_deadline(fitted: PolyDomSearch) -> None:
    """Alpha = 1 and the largest violation of monotonicity as tolerance: no set at all beats the chosen one."""
    masks = list(range(2**5))
    scores = dict(zip(masks, fitted.trainer_.scores(masks), strict=True))
    violation = max(scores[a] - scores[b] for a in masks for b in masks if a & b == a)
    careful = search(deadline=(50 * US, 400 * US), tolerance=violation).fit(*task.items(), costs=task.costs)
    rng = np.random.default_rng(0)

    for n, budget in zip(rng.uniform(8, 2000, 300), rng.uniform(50 * US, 400 * US, 300), strict=True):
        best = max(scores[m] for m in masks if m == 0 or careful.set_costs_(m)(n) <= budget)
        assert careful.index_.best(n, budget).accuracy == pytest.approx(best)


def test_trained_sets_are_scored_by_cross_validation(fitted: PolyDomSearch) -> None:
    from sklearn.model_selection import cross_val_score

    signals, labels = task.items()
    rows = np.stack([task.space.extract_all(x) for x in signals])
    expected = cross_val_score(LOGISTIC, rows, labels, cv=3).mean()

    assert fitted.expanded_[0b11111] == pytest.approx(expected)


def test_node_computes_what_the_index_promises(fitted: PolyDomSearch, folder: Path) -> None:
    """With costs at their worst case, every answer is planned, in time, and by the set that the index names."""
    signals, _ = task.items(60, seed=1)
    for deadline in (50 * US, 100 * US, 400 * US):
        predictor = Predictor.load(folder, task.space, deadline=deadline, policy="strict", clock=ManualClock())
        for x in signals:
            answer = predictor.predict_one(x)
            assert answer.reason in ("planned", "planned, larger than measured")
            promised = [predictor.bundle.index.best(len(x), c0).accuracy for c0 in (deadline, deadline + 5 * US)]
            assert promised[0] <= answer.accuracy <= promised[1]  # the still clock leaves dispatch unspent


def test_node_gives_the_labels_of_scikit_learn(fitted: PolyDomSearch, folder: Path) -> None:
    predictor = Predictor.load(folder, task.space, deadline=400 * US, clock=ManualClock())
    signals, _ = task.items(60, seed=1)
    for x in signals:
        answer = predictor.predict_one(x)
        order = [task.space.names.index(f) for f in answer.features]
        row = task.space.extract_all(x)
        columns = [c for i in order for c in range(*task.space.column_slices()[i].indices(99))]
        expected = fitted.trainer_.table.classes[fitted.trainer_.fit(order).predict(row[None, columns])[0]]
        assert answer.label == expected


def test_every_prefix_of_a_plan_has_a_model(folder: Path) -> None:
    bundle = load_bundle(folder)

    assert bundle.stored.shipped
    for number in bundle.stored.shipped:
        order = bundle.models[number].order
        assert all(order[:k] in bundle.model_of_order for k in range(1, len(order) + 1))


def test_accuracy_in_the_bundle_is_measured_through_onnx(fitted: PolyDomSearch, folder: Path) -> None:
    from polydom_builder.training.onnx import OnnxModel, to_onnx

    entry = load_bundle(folder).models[-1]
    width = sum(task.space.widths[i] for i in entry.order)
    expected = fitted.trainer_.score(entry.order, lambda fold: OnnxModel(to_onnx(fold, width)))

    assert entry.accuracy == expected


def test_export_is_the_same_every_time(fitted: PolyDomSearch, folder: Path, tmp_path: Path) -> None:
    fitted.export(tmp_path / "again.bundle")

    for file in folder.rglob("*"):
        if file.is_file():
            assert file.read_bytes() == (tmp_path / "again.bundle" / file.relative_to(folder)).read_bytes()


def test_old_bundle_is_replaced_and_a_stranger_is_not(fitted: PolyDomSearch, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "task.bundle"
    fitted.export(target)
    (target / INDEX_FILE).write_bytes(b"old")
    fitted.export(target)

    assert load_bundle(target).stored.shipped
    assert [p.name for p in tmp_path.iterdir()] == ["task.bundle"]
    (tmp_path / "mine").mkdir()
    with pytest.raises(ExportError, match="neither"):
        fitted.export(tmp_path / "mine")


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), RandomForestClassifier(20, max_depth=4, random_state=0), KNeighborsClassifier(5)],
    ids=lambda e: type(e).__name__,
)
def test_any_classifier_goes_from_host_to_node(estimator: Any, tmp_path: Path) -> None:
    """Costs are measured here, model runs too."""
    items, labels = task.items(90)
    built = search(estimator=estimator, deadline=1.0, quantile=0.5, alpha=1.5).fit(items, labels)
    built.export(tmp_path / "any.bundle")
    predictor = Predictor.load(tmp_path / "any.bundle", task.space)

    assert predictor.predict_one(items[0]).label in ("calm", "loud", "slow")
    assert built.samples_ is not None
    assert set(built.fits_) == {"difference", *task.space.names, DISPATCH}


def test_integer_and_boolean_labels_come_back_as_they_were(tmp_path: Path) -> None:
    items, _ = task.items(90)
    for labels in ([7 * (k % 3) - 3 for k in range(90)], [k % 3 == 0 for k in range(90)]):
        search().fit(items, labels, costs=task.costs).export(tmp_path / "labels.bundle")
        predictor = Predictor.load(tmp_path / "labels.bundle", task.space, clock=ManualClock())
        answers = [predictor.predict_one(x).label for x in items]
        assert {type(a) for a in answers} == {type(labels[0])}
        assert set(answers) <= set(labels)


def test_groups_never_stand_on_both_sides_of_a_fold() -> None:
    items, labels = task.items(90)
    groups = [k // 9 for k in range(90)]
    fitted = search(deadline=0.001).fit(items, labels, groups=groups, costs=task.costs)

    for train, test in fitted.trainer_.splits:
        assert not {groups[i] for i in train} & {groups[i] for i in test}


def test_given_test_items_are_scored_on() -> None:
    items, labels = task.items(120)
    split = [(np.arange(60), np.arange(60, 120))]
    fitted = search(cv=split).fit(items, labels, costs=task.costs)

    model = fitted.trainer_.fit((0, 1), np.arange(60))
    expected = (
        model.predict(fitted.trainer_.table.rows_of((0, 1), np.arange(60, 120))) == fitted.trainer_.table.targets[60:]
    ).mean()
    assert fitted.trainer_.scores([0b11]) == [expected]


def test_any_budget_and_any_deadline_give_the_same_answers() -> None:
    items, labels = task.items()
    general = search(deadline=None, tolerance=0.02).fit(items, labels, costs=task.costs)
    fixed = search(deadline=100 * US, tolerance=0.02).fit(items, labels, costs=task.costs)

    assert general.staircase_ is None
    for n in np.linspace(8, 2000, 50):
        assert fixed.staircase_.best(n).accuracy == pytest.approx(general.index_.best(n, 100 * US).accuracy, abs=0.02)


def negative(estimator: Any, rows: Any, labels: Any) -> float:
    return -1.0


def undefined(estimator: Any, rows: Any, labels: Any) -> float:
    return math.nan if rows.shape[1] == 7 else 0.5


class Unconvertible(LogisticRegression):
    trained = 0

    def fit(self, rows: Any, labels: Any, sample_weight: Any = None) -> Any:
        type(self).trained += 1
        return super().fit(rows, labels)


ITEMS, LABELS = task.items(60)


@pytest.mark.parametrize(
    ("changes", "items", "labels", "error", "message"),
    [
        ({}, ITEMS, LABELS[:-1], TrainingError, "60 items and 59 labels"),
        ({}, [], [], TrainingError, "must be items"),
        ({}, ITEMS, ["calm"] * 60, TrainingError, "at least two classes"),
        ({"cv": 61}, ITEMS, LABELS, TrainingError, "smallest class"),
        ({}, [np.zeros(0), *ITEMS[1:]], LABELS, ItemError, "positive, finite number"),
        ({}, [np.full(9, np.nan), *ITEMS[1:]], LABELS, FeatureError, "'level'"),
        ({"alpha": 0.9}, ITEMS, LABELS, TrainingError, "alpha must be a number from 1"),
        ({"tolerance": -0.1}, ITEMS, LABELS, TrainingError, "tolerance must be a number from 0"),
        ({"alpha": "1"}, ITEMS, LABELS, TrainingError, "alpha must be a number"),
        ({"n_jobs": 0}, ITEMS, LABELS, TrainingError, "n_jobs"),
        ({"scoring": "wit"}, ITEMS, LABELS, TrainingError, "scoring must be"),
        ({"estimator": LogisticRegression}, ITEMS, LABELS, TrainingError, "classifier or regressor object"),
        ({}, ITEMS, [["calm", "loud"]] * 60, TrainingError, "one integer, string or boolean an item"),
        ({}, ITEMS, ["calm", None] * 30, TrainingError, "one integer, string or boolean an item"),
        ({"quantile": 0.0}, ITEMS, LABELS, TrainingError, "quantile"),
        ({"deadline": 0.0}, ITEMS, LABELS, DeadlineError, "positive seconds"),
        ({"deadline": -1.0}, ITEMS, LABELS, DeadlineError, "positive seconds"),
        ({}, ITEMS, [float(label == "calm") for label in LABELS], TrainingError, "integers, strings or booleans"),
        ({"estimator": Ridge()}, ITEMS, LABELS, TrainingError, "one number an item"),
        ({"estimator": Ridge()}, ITEMS, [1.0] * 60, TrainingError, "not all the same"),
        ({"estimator": Ridge()}, ITEMS, [math.nan, 1.0] * 30, TrainingError, "finite numbers"),
        ({"estimator": StandardScaler()}, ITEMS, LABELS, TrainingError, "classifier or regressor object"),
        ({"alpha": (1.2, 1.5), "max_trainings": 9}, ITEMS, LABELS, TrainingError, "alphas must fall"),
        ({"alpha": (1.2, 1.1)}, ITEMS, LABELS, TrainingError, "max_trainings or max_seconds"),
        ({"max_trainings": 1}, ITEMS, LABELS, LatticeError, "empty and the full set"),
        ({"max_trainings": 9, "lattice": "layers"}, ITEMS, LABELS, TrainingError, "best-first"),
        ({"lattice": "widest"}, ITEMS, LABELS, TrainingError, "lattice must be one of"),
        ({"index": "b-tree"}, ITEMS, LABELS, TrainingError, "index must be one of"),
        ({"tolerance": "some"}, ITEMS, LABELS, TrainingError, "tolerance must be a number"),
        ({"scoring": lambda model, rows, labels: 1.0}, ITEMS, LABELS, TrainingError, "picklable"),
        ({"scoring": undefined}, ITEMS, LABELS, TrainingError, "Got nan for level.spread.roughness"),
        ({"memory": f"{__file__}/cache"}, ITEMS, LABELS, TrainingError, "memory folder must be writable"),
        ({"deadline": (1e-3, 2e-3, 3e-3)}, ITEMS, LABELS, DeadlineError, "range"),
        ({"deadline": "2ms"}, ITEMS, LABELS, DeadlineError, "range"),
        ({"deadline": (2e-3, 1e-3)}, ITEMS, LABELS, DeadlineError, "range"),
        ({"deadline": 20 * US}, ITEMS, LABELS, DeadlineError, "one model run"),
        ({"size_range": (100.0, 10.0)}, ITEMS, LABELS, PolyDomError, "low <= high"),
        ({"scoring": negative, "alpha": 1.1}, ITEMS, LABELS, LatticeError, "negative"),
    ],
)
def test_bad_input_is_a_clear_error(
    changes: dict[str, Any], items: list[Any], labels: list[Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        search(**changes).fit(items, labels, costs=task.costs)


def test_feature_that_would_change_the_item_is_refused() -> None:
    def centre(x: np.ndarray) -> list[float]:
        x -= x.mean()
        return [float(x[0])]

    space = FeatureSpace([Feature("centred", centre)], size=len)
    with pytest.raises(FeatureError, match=r"'centred'.*read-only"):
        search(space=space).fit(ITEMS, LABELS)


def test_costs_of_nothing_known_are_refused() -> None:
    with pytest.raises(TrainingError, match="CostSamples, a DeviceProfile, or UnitTimes"):
        search().fit(ITEMS, LABELS, costs={"level": 1e-6})


def test_edited_helper_of_a_feature_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "edited_helper.py").write_text("SCALE = 1\n")
    (tmp_path / "edited_space.py").write_text(
        "import edited_helper\n"
        "from polydom_runtime import Feature, FeatureSpace\n"
        "space = FeatureSpace([Feature('scaled', lambda x: [edited_helper.SCALE * x[0]])], size=len)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    space = importlib.import_module("edited_space").space
    before = source_fingerprint(space)

    assert source_fingerprint(space) == before
    (tmp_path / "edited_helper.py").write_text("SCALE = 2\n")
    assert source_fingerprint(space) != before


def test_function_within_a_partial_is_noticed() -> None:
    def scaled(x: np.ndarray, factor: float) -> list[float]:
        return [factor * x[0]]

    def space(factor: float) -> FeatureSpace:
        return FeatureSpace([Feature("scaled", partial(scaled, factor=factor))], size=len)

    assert source_fingerprint(space(1.0)) == source_fingerprint(space(1.0)) != source_fingerprint(space(2.0))


def test_given_costs_must_tell_a_model_s_time() -> None:
    with pytest.raises(FitError, match="time of a model run"):
        search().fit(ITEMS, LABELS, costs=replace(task.costs, model=None))


def test_costs_of_another_space_are_refused() -> None:
    with pytest.raises(FitError, match="features and steps"):
        search().fit(ITEMS, LABELS, costs=task.costs.part(range(4)))
    with pytest.raises(FitError, match="used by"):
        search().fit(
            ITEMS, LABELS, costs=replace(task.costs, names=task.space.names, users=(), terms=task.costs.features)
        )


def test_estimator_without_a_converter_is_refused_before_training() -> None:
    with pytest.raises(ExportError, match="skl2onnx"):
        search(estimator=Unconvertible()).fit(ITEMS, LABELS, costs=task.costs)
    assert Unconvertible.trained == 1


def test_model_whose_export_differs_stops_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from polydom_builder.bundling import export
    from polydom_builder.training import onnx as onnx_models

    honest: Callable[..., bytes] = onnx_models.to_onnx

    def wrong(model: Any, width: int, versions: Any = None) -> bytes:
        other = LogisticRegression().fit(np.random.default_rng(0).normal(size=(90, width)), np.arange(90) % 3)
        return honest(other, width)

    fitted = search().fit(ITEMS, LABELS, costs=task.costs)
    monkeypatch.setattr(export, "to_onnx", wrong)
    with pytest.raises(ExportError, match=r"exported model of [a-z+]+ must give the answers"):
        fitted.export(tmp_path / "wrong.bundle")
    assert list(tmp_path.iterdir()) == []


def test_inspect_shows_candidates_costs_and_staircase(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from polydom_builder.__main__ import main

    assert main(["inspect", str(folder)]) == 0
    text = capsys.readouterr().out
    assert main(["inspect", str(folder), "--json", "--deadline", "100us"]) == 0
    document = json.loads(capsys.readouterr().out)

    assert "staircase at 50 µs" in text
    assert "staircase at 400 µs" in text
    assert list(document["staircases"]) == ["100 µs"]
    assert document["candidates"][0]["features"] == []
    assert all(len(c["weights"]) == 6 for c in document["candidates"])
