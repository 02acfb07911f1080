"""Reference items: features that are not those of the build are noticed when a predictor is loaded."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import BundleFormatError, BundleMismatchError, FeatureSpace, Predictor, load_bundle
from polydom_runtime.bundles import schema
from polydom_runtime.bundles.decoding import decode
from polydom_runtime.bundles.encoding import encode
from polydom_runtime.bundles.references import MAX_BYTES, References, decoded, restored, stored
from tests.builder import task
from tests.builder.searches import search
from tests.runtime.conftest import make_bundle

ITEMS, LABELS = task.items(60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("references") / "b.bundle"
    search(deadline=0.001).fit(ITEMS, LABELS, costs=task.costs).export(found)
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
    search(deadline=0.001, space=noisy).fit(ITEMS, LABELS, costs=task.costs).export(tmp_path / "b.bundle")

    Predictor.load(tmp_path / "b.bundle", noisy)
    with pytest.raises(BundleMismatchError, match="level"):
        Predictor.load(tmp_path / "b.bundle", edited("level", lambda v: np.multiply(v, 2.0)))


@pytest.mark.parametrize(
    "item",
    [
        np.arange(6, dtype=">i2").reshape(2, 3)[:, ::2],
        np.float32(3.5) * np.ones((2, 1, 2), dtype=np.float32),
        np.zeros(0),
        np.array([True, False]),
        b"\xff\0",
        "für\0",
        "",
        3,
        -2.5,
        float("nan"),
        True,
        [1, 2.5, False],
        (1.0, 2.0),
    ],
)
def test_items_are_stored_as_they_are(item: Any) -> None:
    kept = stored(item)
    assert kept is not None
    bundle, _ = make_bundle()
    width = sum(bundle.space.widths)
    references = References((kept,), ((1.5,) * width,), (np.inf,) * width)
    again = decode(encode(replace(bundle, references=references))).references

    found = restored(again.items[0])
    assert type(found) is type(item)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(item))
    assert (again.rows, again.limits) == (references.rows, references.limits)


@pytest.mark.parametrize(
    "item", [object(), None, 1j, [1, "a"], {"a": 1}, np.array([None]), np.zeros(1 << 20), "a" * MAX_BYTES, 1 << 70]
)
def test_other_items_are_not_stored(item: Any) -> None:
    assert stored(item) is None


@pytest.mark.parametrize(
    "field",
    [
        None,
        [1],
        [[], b"", b""],
        [[["value", 1]], b"", b""],
        [[["value", None]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["array", "|O", [1], b"12345678"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["array", "<f8", [2], b"12345678"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["array", "<f8", [-1, -1], b"12345678"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["array", "<f8", [1], "12345678"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["list", "a"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["value", 1]] * 9, schema.pack_floats([1.0] * 9), schema.pack_floats([1.0])],
        [[["value", 1]], schema.pack_floats([np.nan]), schema.pack_floats([1.0])],
    ],
)
def test_unsound_references_are_refused(field: Any) -> None:
    with pytest.raises(BundleFormatError):
        decoded({"references": field}, 1)
