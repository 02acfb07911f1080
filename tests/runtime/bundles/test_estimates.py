"""The measured scores of models and their intervals in the file: only those that go with the stated scores are read."""

import math
from dataclasses import replace

import msgpack
import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.decoding import decode
from polydom_runtime.bundles.encoding import encode
from polydom_runtime.bundles.estimates import Estimate
from polydom_runtime.bundles.schema import pack_floats
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle

ROWS = [(0.75, 0.6, 0.8), (0.85, 0.7, 0.9), (0.9, 0.9, 0.9)]
"""Measured score, lowest and highest of the three models, which state 0.7, 0.8 and 0.9."""


def estimated() -> Bundle:
    bundle, _ = make_bundle()
    models = tuple(replace(m, estimate=Estimate(*row)) for m, row in zip(bundle.models, ROWS, strict=True))
    return changed(bundle, models=models, scoring="accuracy")


def test_estimates_survive_the_file() -> None:
    assert decode(encode(estimated())) == estimated()


def test_a_bundle_of_format_10_has_no_estimates() -> None:
    document = msgpack.unpackb(encode(make_bundle()[0])) | {"version": 10}
    del document["estimates"]

    assert [m.estimate for m in decode(bytes(msgpack.packb(document))).models] == [None] * 3


@pytest.mark.parametrize(
    "row",
    [
        (0.85, 0.85, 0.9),
        (0.85, 0.7, 0.75),
        (0.79, 0.7, 0.9),
        (math.nan, 0.7, 0.9),
        (math.inf, 0.7, 0.9),
        (0.85, -math.inf, 0.9),
        (1.5, 0.7, 0.9),
        (0.85, -0.1, 0.9),
        (0.85, 0.7, 1.1),
    ],
    ids=str,
)
def test_an_estimate_that_does_not_go_with_the_score_is_refused(row: tuple[float, ...]) -> None:
    """The model states 0.8, and the scoring is accuracy."""
    document = msgpack.unpackb(encode(estimated()))
    document["estimates"] = pack_floats([ROWS[0], row, ROWS[2]])

    with pytest.raises(BundleFormatError, match="Export the bundle again"):
        decode(bytes(msgpack.packb(document)))


@pytest.mark.parametrize("value", [None, [], "", b"\0", pack_floats(ROWS[:2]), pack_floats([*ROWS, ROWS[2]])], ids=str)
def test_estimates_are_for_each_model(value: object) -> None:
    document = msgpack.unpackb(encode(estimated())) | {"estimates": value}

    with pytest.raises(BundleFormatError, match="'estimates'"):
        decode(bytes(msgpack.packb(document)))
