"""Confidences of a bundle: what was written is read, and only what is possible is read."""

import contextlib
import math
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import Calibration, Confidence, Risk, RiskPoint
from polydom_runtime.bundles.decoding import decode
from polydom_runtime.bundles.encoding import encode
from polydom_runtime.bundles.schema import pack_floats
from polydom_runtime.describing.risk_table import risk_table
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError, ConfidenceError
from polydom_runtime.policy.abstention import least_confidence
from tests.bundle_parts import changed
from tests.runtime.bundles.test_odd_values import altered
from tests.runtime.conftest import make_bundle

CALIBRATION = Calibration((-1.0, 0.5, 2.0), (0.25, 0.75, 0.75))
RISK = Risk("hot", 2e-4, 0.03, (RiskPoint(0.0, 1.0, 0.2), RiskPoint(0.75, 0.5, 0.1)))


def sure() -> Bundle:
    bundle = make_bundle()[0]
    models = tuple(replace(model, calibration=CALIBRATION) for model in bundle.models)
    return replace(bundle, models=models, confidence=Confidence(0.625, (RISK,)))


def test_confidences_survive_the_file() -> None:
    assert decode(encode(sure())) == sure()


def test_a_bundle_of_format_10_has_no_confidences() -> None:
    document = msgpack.unpackb(encode(make_bundle()[0])) | {"version": 10}
    del document["confidence"]
    bundle = decode(bytes(msgpack.packb(document)))

    assert bundle.confidence is None
    assert {model.calibration for model in bundle.models} == {None}


@pytest.mark.parametrize(
    ("score", "confidence"),
    [(-9.0, 0.25), (-1.0, 0.25), (-0.25, 0.5), (0.5, 0.75), (2.0, 0.75), (9.0, 0.75), (math.nan, 0.25)],
)
def test_confidence_is_read_off_a_line_through_the_knots(score: float, confidence: float) -> None:
    assert confidence == CALIBRATION(score)


def test_one_knot_is_one_confidence() -> None:
    assert [Calibration((0.5,), (0.75,))(score) for score in (-1.0, 0.5, math.inf)] == [0.75, 0.75, 0.75]


def knots(*numbers: float) -> list[bytes]:
    return [pack_floats(numbers)] * 3


def risk(regime: Any = "hot", deadline: Any = 1e-3, error: Any = 0.1, points: Any = (0.5, 1.0, 0.1)) -> list[object]:
    return [[regime, deadline, error, pack_floats(points) if isinstance(points, tuple) else points]]


@pytest.mark.parametrize(
    "fault",
    [
        {"prior": -0.1},
        {"prior": 1},
        {"prior": math.nan},
        {"calibrations": []},
        {"calibrations": knots(0.5, 0.5)[:2]},
        {"calibrations": [b""] * 3},
        {"calibrations": [b"1234567"] * 3},
        {"calibrations": [0.5] * 3},
        {"calibrations": knots(0.5)},
        {"calibrations": knots(0.5, 0.5, 0.6, 0.6)},
        {"calibrations": knots(0.5, 0.6, 0.7, 0.6)},
        {"calibrations": knots(0.5, 1.1)},
        {"calibrations": knots(0.5, -0.1)},
        {"calibrations": knots(math.inf, 0.5)},
        {"calibrations": knots(math.nan, 0.5)},
        {"calibrations": knots(*range(17), *[0.5] * 17)},
        {"risks": None},
        {"risks": [1]},
        {"risks": risk() * 1001},
        {"risks": risk("warm")},
        {"risks": risk([])},
        {"risks": risk(deadline=0.0)},
        {"risks": risk(deadline=math.inf)},
        {"risks": risk(error=1.5)},
        {"risks": risk(points=())},
        {"risks": risk(points=3)},
        {"risks": risk(points=(0.5, 1.0))},
        {"risks": risk(points=(0.5, 1.1, 0.1))},
        {"risks": risk(points=(0.5, 0.5, -0.1))},
        {"risks": risk(points=(0.5, 0.5, 0.1, 0.6, 0.9, 0.1))},
        {"risks": risk(points=(0.5, 0.5, 0.1) * 101)},
    ],
    ids=lambda fault: str(fault)[:60],
)
def test_impossible_confidences_are_refused(fault: dict[str, Any]) -> None:
    document = msgpack.unpackb(encode(sure()))
    document["confidence"] |= fault

    with pytest.raises(BundleFormatError, match="Export the bundle again"):
        decode(bytes(msgpack.packb(document)))


def test_a_regressor_has_no_confidences() -> None:
    with pytest.raises(BundleFormatError, match="there must be classes"):
        decode(encode(changed(sure(), classes=(), prior=(0.5, 0.5))))


def test_a_bundle_with_an_odd_value_is_refused_or_used() -> None:
    """All odd values in the field; nothing but the errors of the house comes of them."""
    document, loaded = msgpack.unpackb(encode(sure())), []
    for odd in altered(document["confidence"]):
        with contextlib.suppress(BundleFormatError):
            loaded.append(decode(bytes(msgpack.packb({**document, "confidence": odd}))))
    for bundle in loaded:
        risk_table(bundle)
        with contextlib.suppress(ConfidenceError, BundleMismatchError):
            assert 0.0 <= least_confidence(bundle, 1e-4, None, 0.85) <= 1.0
        for model in bundle.models:
            assert model.calibration is None or all(0.0 <= model.calibration(s) <= 1.0 for s in (-1e300, 0.3, 1e300))

    assert len(loaded) > 10
