"""Reference items of a build: features that are not those of the build are noticed when a predictor is loaded."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder.preparation.doubts import _largest as largest_of
from polydom_runtime import BundleMismatchError, CostFunction, Feature, FeatureSpace, Predictor, load_bundle
from polydom_runtime.exceptions import ItemError
from tests.builder import task
from tests.builder.searches import search
from tests.bundle_parts import unit_times

ITEMS, LABELS = task.items(60)
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("references") / "b.bundle"
    search(deadline=0.001, cv=2, max_trainings=4).fit(ITEMS, LABELS, costs=task.costs).export(found)
    return found


def edited(name: str, change: Any) -> FeatureSpace:
    """Return the task's space with one feature changed."""
    original = task.space.features[task.space.names.index(name)]
    new = replace(original, extract=lambda x: change(original.extract(x)))
    return FeatureSpace([new if f.name == name else f for f in task.space.features], task.space.size)


def test_features_of_the_build_are_accepted(folder: Path) -> None:
    bundle = load_bundle(folder)

    assert len(bundle.references.items) == 3
    assert not [*bundle.references.differences(task.space)]
    Predictor.load(folder, task.space)
    Predictor.load(folder, edited("level", lambda v: np.multiply(v, 1.0 + 1e-5)))  # as another processor might round


@pytest.mark.parametrize("change", [lambda v: np.multiply(v, 1000.0), lambda v: np.add(v, 0.1), lambda v: v[:0]])
def test_feature_that_was_edited_since_the_build_is_refused(folder: Path, change: Any) -> None:
    with pytest.raises(BundleMismatchError, match=r"(?i)feature 'level'.*build again"):
        Predictor.load(folder, edited("level", change))
    Predictor.load(folder, edited("level", change), compare=False)


class Average:
    """Keeps a state: the average of what came so far."""

    def __init__(self) -> None:
        self.value = 0.0

    def __call__(self, v: Any) -> list[float]:
        self.value = 0.9 * self.value + 0.1 * float(v[0])
        return [self.value]


class Last:
    """Keeps a state: what it gave is that of the item before."""

    def __init__(self) -> None:
        self.value = 0.0

    def __call__(self, v: Any) -> list[float]:
        before, self.value = self.value, float(v[0])
        return [before]


@pytest.mark.parametrize(
    "change",
    [lambda v: [RNG.normal()], lambda v: [time.perf_counter()], Average(), Last()],
    ids=["chance", "the clock", "an average", "the item before"],
)
@pytest.mark.filterwarnings("ignore:.*float32 tells apart")
def test_feature_that_does_not_repeat_is_named_and_marked(tmp_path: Path, change: Any) -> None:
    noisy = edited("noise", change)
    with pytest.warns(UserWarning, match="Feature 'noise' must give the same numbers again .* item [0-9]+ has") as said:
        search(deadline=0.001, space=noisy, cv=2, max_trainings=4, memory=None).fit(
            ITEMS, LABELS, costs=task.costs
        ).export(tmp_path / "b.bundle")

    assert sum("again" in str(each.message) for each in said) == 1
    assert load_bundle(tmp_path / "b.bundle").references.unsteady == ("noise",)
    Predictor.load(tmp_path / "b.bundle", noisy)
    with pytest.raises(BundleMismatchError, match="level"):
        Predictor.load(tmp_path / "b.bundle", edited("level", lambda v: np.multiply(v, 2.0)))


@pytest.mark.filterwarnings("ignore:Deadlines are in seconds")
def test_rehearsals_change_no_answer_of_a_feature_with_a_state(tmp_path: Path) -> None:
    space = FeatureSpace([Feature("average", Average())], size=len)
    costs = unit_times(space.names, [CostFunction.of(1e-6)], [], CostFunction.of(1e-6), model=1e-6)
    items = [x + k // 10 % 2 for k, x in enumerate(ITEMS)]
    with pytest.warns(UserWarning, match="'average'"):
        search(deadline=10.0, space=space, memory=None).fit(
            items, [k // 10 % 2 for k in range(60)], costs=costs
        ).export(tmp_path / "b.bundle")

    def answers(rehearses: bool) -> list[Any]:
        predictor = Predictor.load(tmp_path / "b.bundle", FeatureSpace([Feature("average", Average())], size=len))
        found = []
        for item in items:
            found.append(predictor.predict_one(item).label)
            if rehearses:
                predictor.rehearse()
                predictor.use_slack(0.01)
        return found

    assert answers(rehearses=True) == answers(rehearses=False)


def power(x: Any) -> list[float]:
    return [float((x * x).mean())]


def steps(x: Any) -> list[float]:
    return [float(np.diff(x).mean())]


def total(x: Any) -> list[float]:
    return [float(np.add.reduce(x, dtype=x.dtype))]


def histogram(x: Any) -> list[float]:
    return [float(np.bincount(x)[0])]


def level(x: Any) -> list[float]:
    return [float(np.mean(x))]


@pytest.mark.filterwarnings("ignore:No feature set scores")
@pytest.mark.parametrize(
    ("wraps", "dtype"), [(power, np.uint8), (steps, np.uint8), (total, np.int16), (total, np.uint8), (power, np.bool_)]
)
def test_feature_that_gives_other_numbers_for_floats_is_named_with_both(wraps: Any, dtype: Any, tmp_path: Path) -> None:
    """Other features may refuse floats: that is no number that is silently wrong."""
    rng = np.random.default_rng(0)
    items = [rng.integers(0, 200, 300 + k).astype(dtype) for k in range(30)]
    if dtype == np.int16:
        items = [x * np.int16(150) for x in items]
    space = FeatureSpace([Feature("wraps", wraps), Feature("level", level)], size=len)
    if dtype == np.uint8:
        space = FeatureSpace([*space.features, Feature("histogram", histogram)], size=len)
    costs = unit_times(space.names, [CostFunction.of(1e-6)] * len(space), [], CostFunction.of(1e-6), model=1e-6)
    labels = [k % 2 for k in range(30)]
    if dtype == np.bool_:  # which do not wrap
        search(deadline=1.0, space=space, memory=None).fit(items, labels, costs=costs)
        return
    with pytest.warns(UserWarning, match=r"'wraps' must give the same .* item \d+ of u?int\d+ it gives") as said:
        search(deadline=1.0, space=space, memory=None).fit(items, labels, costs=costs).export(tmp_path / "b.bundle")

    assert [str(each.message)[:15] for each in said if "types" in str(each.message)] == ["Feature 'wraps'"]
    bundle = load_bundle(tmp_path / "b.bundle")
    assert bundle.references.number_type == np.dtype(dtype).str
    Predictor.load(tmp_path / "b.bundle", space).warm_up(items[0])
    with pytest.raises(ItemError, match="'wraps'"):  # also if this item does not wrap
        bundle.check_type(space, np.zeros(300))


@pytest.mark.parametrize(
    ("item", "largest"),
    [
        (np.array([-128, 3], dtype=np.int8), 128.0),
        (np.array([[200, 3]], dtype=np.uint8), 200.0),
        (np.array([False, True]), 1.0),
        (np.zeros(0, dtype=np.int16), 0.0),
    ],
)
def test_largest_numbers_of_all_types_are_found(item: Any, largest: float) -> None:
    """The smallest int8 has no counterpart in int8."""
    assert largest_of(item) == largest
