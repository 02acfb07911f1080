"""A bundle that was written once and must stay readable: a device may keep it for years."""

from pathlib import Path

import numpy as np
import pytest

from polydom_runtime import Predictor, load_bundle
from polydom_runtime.bundles.encoding import encode
from tests.runtime.node_space import space

FOLDER = Path(__file__).parents[2] / "golden" / "format_4.bundle"


def test_a_bundle_of_format_4_still_says_what_it_holds() -> None:
    bundle = load_bundle(FOLDER)

    assert bundle.names == ("mean", "spread", "ends")
    assert bundle.space.classes == ("no", "yes")
    assert bundle.index.best(100, 60e-6).features == ("mean", "spread")
    assert bundle.index.best(100, 10.0).features == ("mean", "spread", "ends")


def test_a_bundle_of_format_4_is_written_as_it_was() -> None:
    """Byte by byte: the format has not changed unnoticed."""
    assert encode(load_bundle(FOLDER)) == (FOLDER / "index.msgpack").read_bytes()


def test_a_bundle_of_format_4_still_answers() -> None:
    answer = Predictor.load(FOLDER, space).predict_one(np.array([1.0, 2.0, 3.0]))

    assert (answer.label, answer.features) == ("yes", ("mean", "spread", "ends"))
    assert answer.accuracy == pytest.approx(0.9)
