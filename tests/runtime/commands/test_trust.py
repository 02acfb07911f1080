"""Trusted keys on the command line and in both predictors: whoever loads a bundle can demand a signature."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime import Predictor, SignatureError, SupervisedPredictor, Trust, load_bundle
from polydom_runtime.__main__ import main
from polydom_runtime.items.packing import write_packed
from tests.runtime.node_space import space
from tests.runtime.trust.signer import OWNER, STRANGER, public, sign

SPACE = "tests.runtime.node_space:space"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    (tmp_path / "lab.pub").write_text(public(OWNER, "name: lab"))
    return tmp_path / "lab.pub"


@pytest.mark.parametrize(
    "command",
    [
        ["run", "BUNDLE", SPACE, "--items", "ITEMS"],
        ["run", "BUNDLE", SPACE, "--items", "ITEMS", "--supervised"],
        ["certify", "BUNDLE", SPACE, "--items", "ITEMS"],
        ["tune", "BUNDLE", SPACE, "--items", "ITEMS"],
        ["info", "BUNDLE"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("by_option", [True, False], ids=["--trust", "POLYDOM_TRUST"])
def test_every_command_refuses_a_bundle_of_somebody_else(
    command: list[str],
    by_option: bool,
    bundle_folder: Path,
    keys: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sign(bundle_folder, STRANGER)
    items = keys.with_name("items.npz")
    write_packed(items, [np.arange(3, dtype=np.float32)])
    words = [{"BUNDLE": str(bundle_folder), "ITEMS": str(items)}.get(word, word) for word in command]
    if by_option:
        words += ["--trust", str(keys)]
    else:
        monkeypatch.setenv("POLYDOM_TRUST", str(keys))

    assert main(words) == 2
    assert "must be signed by a trusted key: lab" in capsys.readouterr().err


def test_doctor_reports_a_bundle_of_somebody_else(
    bundle_folder: Path, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sign(bundle_folder, STRANGER)

    assert main(["doctor", "--bundle", str(bundle_folder), "--space", SPACE, "--trust", str(keys)]) == 1
    assert "must be signed by a trusted key: lab" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("signed", "trusted", "said"),
    [
        (False, False, "none"),
        (True, False, "signed, not checked, since no key was given"),
        (True, True, "vibration-7, signed by lab at 2026-06-01 12:00 UTC"),
    ],
)
def test_info_says_who_signed(
    signed: bool, trusted: bool, said: str, bundle_folder: Path, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if signed:
        sign(bundle_folder, OWNER)

    assert main(["info", str(bundle_folder), *(["--trust", str(keys)] if trusted else [])]) == 0
    assert f"signature: {said}\n" in capsys.readouterr().out


def test_several_files_of_keys_may_be_given(bundle_folder: Path, keys: Path) -> None:
    sign(bundle_folder, STRANGER)
    (keys.with_name("other.pub")).write_text(public(STRANGER))

    assert main(["info", str(bundle_folder), "--trust", str(keys), "--trust", str(keys.with_name("other.pub"))]) == 0


@pytest.mark.parametrize(
    "load",
    [
        lambda folder, trust: Predictor.load(folder, space, trust=trust),
        lambda folder, trust: SupervisedPredictor(folder, SPACE, trust=trust),
    ],
    ids=["Predictor", "SupervisedPredictor"],
)
def test_predictors_refuse_a_bundle_of_somebody_else(
    load: Callable[[Path, Trust], object], bundle_folder: Path, keys: Path
) -> None:
    sign(bundle_folder, STRANGER)

    with pytest.raises(SignatureError, match="must be signed by a trusted key: lab"):
        load(bundle_folder, Trust.from_files([keys]))


def test_keys_come_too_late_for_a_bundle_that_is_loaded(bundle_folder: Path, keys: Path) -> None:
    """It would be used without a check."""
    with pytest.raises(SignatureError, match=r"loaded already\. Write load_bundle\(folder, trust\)"):
        SupervisedPredictor(load_bundle(bundle_folder), SPACE, trust=Trust.from_files([keys]))


def test_a_predictor_answers_by_a_signed_bundle(bundle_folder: Path, keys: Path) -> None:
    sign(bundle_folder, OWNER)

    signed = Predictor.load(bundle_folder, space, trust=Trust.from_files([keys])).bundle.signed
    assert signed is not None
    assert (signed.name, signed.key) == ("vibration-7", "lab")
