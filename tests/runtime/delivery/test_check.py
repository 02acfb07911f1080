"""The check of a new bundle in a process of its own."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime.bundles.references import References, stored
from polydom_runtime.delivery.check import try_bundle
from polydom_runtime.exceptions import BundleMismatchError
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write
from tests.runtime.trust.signer import OWNER, STRANGER, public, sign

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


def check(
    folder: Path,
    space: str = FAULTS,
    *,
    sha256: str = "",
    compare: bool = False,
    trust: list[str] | None = None,
    seconds: float = 60.0,
    deadline: float = 0.5,
) -> None:
    index = folder / "index.msgpack"
    sha256 = sha256 or (hashlib.sha256(index.read_bytes()).hexdigest() if index.exists() else "none")
    try_bundle(
        str(folder), sha256, space, {**OPTIONS, "deadline": deadline}, compare=compare, trust=trust, seconds=seconds
    )


def test_another_bundle_than_was_read_is_refused(tmp_path: Path) -> None:
    """Otherwise the one that was read would answer, and nobody would have checked it."""
    with pytest.raises(BundleMismatchError, match="was replaced meanwhile"):
        check(folder_with(tmp_path, 0.0), sha256="ab" * 32)


def test_names_of_keys_may_have_colons(tmp_path: Path) -> None:
    """Which part the names in a variable of the environment."""
    folder = folder_with(tmp_path, 0.0)
    sign(folder)
    (keys := tmp_path / "lab:keys.pub").write_text(public(OWNER))

    check(folder, trust=[str(keys)])
    keys.write_text(public(STRANGER))
    with pytest.raises(BundleMismatchError, match="must be signed by a trusted key"):
        check(folder, trust=[str(keys)])


def test_sound_bundle_passes_and_a_warning_is_left_to_the_node(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The node loads the bundle next, and would say it a second time."""
    check(folder_with(tmp_path, 0.0), deadline=2.0)

    assert capfd.readouterr().err == ""


def test_crash_is_told(tmp_path: Path) -> None:
    with pytest.raises(BundleMismatchError, match="of its own: A feature or a model"):
        check(folder_with(tmp_path, CRASHES))


def test_what_hangs_is_ended_and_told(tmp_path: Path) -> None:
    with pytest.raises(BundleMismatchError, match=r"did not come back within 1 s\."):
        check(folder_with(tmp_path, HANGS), seconds=1.0)


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
