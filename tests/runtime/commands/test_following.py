"""How ``run --follow`` makes the predictor of a new bundle."""

import argparse
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime import Predictor, load_bundle, write_packed
from polydom_runtime.__main__ import main
from polydom_runtime.commands import following, run
from polydom_runtime.commands.options import add_options
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write

SPACE = "tests.runtime.node_space:space"


def bundle_with(folder: Path, *classes: str) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    bundle, models = make_bundle()
    return write(folder, changed(bundle, classes=classes, budgets=(1e-3, 1.0)), models)


def test_bundle_that_was_checked_answers_whatever_the_folder_holds_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise nobody would have checked the one that came in the middle."""
    folder, checked = bundle_with(tmp_path / "b", "first", "f"), list[str]()
    command = argparse.ArgumentParser()
    add_options(command, run.OPTIONS)
    words = [str(folder), SPACE, "--items", "-", "--follow"]
    arguments = command.parse_args(words)

    def check_and_replace(folder: str, sha256: str, *_: object, **__: object) -> None:
        checked.append(sha256)
        bundle_with(Path(folder), "third", "t")

    monkeypatch.setattr(following, "try_bundle", check_and_replace)
    follower = following.following(arguments, run._predictor)
    second = load_bundle(bundle_with(folder, "second", "s")).sha256

    made = follower._make(None).bundle.sha256
    follower.close()

    assert second == made
    assert [second] == checked


def test_signal_for_a_new_bundle_may_come_while_the_first_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended the node, as a closed terminal does."""
    hangups, make = list[int](), run._predictor
    folder = bundle_with(tmp_path / "b", "first", "f")
    write_packed(tmp_path / "items.npz", [np.ones(40)])

    def make_meanwhile(arguments: argparse.Namespace) -> Predictor:
        os.kill(os.getpid(), signal.SIGHUP)
        return make(arguments)

    monkeypatch.setattr(run, "_predictor", make_meanwhile)
    before = signal.signal(signal.SIGHUP, lambda number, _: hangups.append(number))
    try:
        code = main(["run", str(folder), SPACE, "--items", str(tmp_path / "items.npz"), "--deadline", "1s", "--follow"])
    finally:
        signal.signal(signal.SIGHUP, before)

    assert code == 0
    assert hangups == []
