"""Reference items of a build: features that are not those of the build are noticed when a predictor is loaded."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import BundleMismatchError, FeatureSpace, Predictor, load_bundle
from tests.builder import task
from tests.builder.searches import search

ITEMS, LABELS = task.items(60)


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


def test_feature_with_chance_in_it_is_not_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noisy = edited("noise", lambda v: [float(rng.normal())])
    search(deadline=0.001, space=noisy, cv=2, max_trainings=4).fit(ITEMS, LABELS, costs=task.costs).export(
        tmp_path / "b.bundle"
    )

    Predictor.load(tmp_path / "b.bundle", noisy)
    with pytest.raises(BundleMismatchError, match="level"):
        Predictor.load(tmp_path / "b.bundle", edited("level", lambda v: np.multiply(v, 2.0)))
