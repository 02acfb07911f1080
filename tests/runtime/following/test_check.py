"""The check of a new bundle in a process of its own."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime.bundles.references import References, stored
from polydom_runtime.exceptions import BundleMismatchError
from polydom_runtime.following.check import check_bundle
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write

OPTIONS = {"deadline": 0.5, "policy": "anytime"}
FAULTS = "tests.runtime.supervised_space:space"
HANGS, CRASHES = 2.0, 3.0
"""What the last feature of `FAULTS` does with an item of such numbers."""


def folder_with(tmp_path: Path, first: float, mean: float | None = None) -> Path:
    """Return a bundle with one reference item, of ten equal numbers."""
    bundle, models = make_bundle()
    item = stored(np.full(10, first))
    assert item is not None
    rows = ((first if mean is None else mean, first, first, first, first, 10.0),)
    references = References((item,), rows, (1.0,) * 6)
    return write(tmp_path / "b", changed(bundle, budgets=(1e-3, 1.0), steps=(), references=references), models)


def check(folder: Path, space: str = FAULTS, *, compare: bool = False, seconds: float = 60.0) -> None:
    check_bundle(str(folder), space, OPTIONS, compare=compare, seconds=seconds)


def test_sound_bundle_passes(tmp_path: Path) -> None:
    check(folder_with(tmp_path, 0.0))


def test_crash_is_told(tmp_path: Path) -> None:
    with pytest.raises(BundleMismatchError, match="of its own: A feature or a model"):
        check(folder_with(tmp_path, CRASHES))


def test_what_hangs_is_ended_and_told(tmp_path: Path) -> None:
    with pytest.raises(BundleMismatchError, match=r"did not come back within 3 s\."):
        check(folder_with(tmp_path, HANGS), seconds=3.0)


@pytest.mark.parametrize("damage", ["model", "features", "none"])
def test_why_a_bundle_cannot_be_used_is_told(damage: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, 0.0, mean=99.0 if damage == "features" else None)
    if damage == "model":
        (folder / "models" / "0001.onnx").write_bytes(b"")
    elif damage == "none":
        shutil.rmtree(folder)
    message = {"model": "must be the model", "features": "must give the numbers", "none": "must be a bundle folder"}

    with pytest.raises(BundleMismatchError, match=message[damage]):
        check(folder, compare=True)
