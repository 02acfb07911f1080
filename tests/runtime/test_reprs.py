"""What a person sees who types the name of an object: one short line with its numbers."""

from pathlib import Path
from typing import Any

import pytest

from polydom_runtime import Feature, FeatureSpace, Predictor
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.stages import Trace
from tests.runtime.node_space import space

BUNDLE = load_bundle(Path(__file__).parents[1] / "golden" / "format_1.bundle")
MANY = FeatureSpace([Feature(f"feature {k}", len) for k in range(60)], size=len)


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (space, ["FeatureSpace", "3 features", "mean, spread, ends"]),
        (MANY, ["60 features", "feature 0", "..."]),
        (BUNDLE, ["Bundle", "3 features", "3 models", "format_1.bundle"]),
        (BUNDLE.index, ["PolyDomIndex", "candidates"]),
        (BUNDLE.index.at_deadline(2e-4), ["Staircase", "200 µs"]),
        (Predictor(BUNDLE, space, deadline=2e-4), ["Predictor anytime", "200 µs", "3 models"]),
        (Trace(), ["Trace", "nan"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_repr_is_one_short_line(value: Any, parts: list[str]) -> None:
    text = repr(value)

    assert len(text) < 250
    assert "\n" not in text
    assert [part for part in parts if part not in text] == []
