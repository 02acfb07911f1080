"""The fingerprint of the source of features."""

import importlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime import Feature, FeatureSpace
from polydom_runtime.measuring.fingerprint import source_fingerprint


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
