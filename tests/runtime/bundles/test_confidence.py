"""Confidences of a bundle: what was written is read, and only what is possible is read."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import Calibration, Confidence, Risk, RiskPoint
from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.describing.description import describe
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError, ConfidenceError
from polydom_runtime.policy.abstention import least_confidence
from tests.bundle_parts import changed, index_of
from tests.runtime.bundles.test_odd_values import altered
from tests.runtime.conftest import make_bundle

CALIBRATION = Calibration((-1.0, 0.5, 2.0), (0.25, 0.75, 0.75))
RISK = Risk("hot", 2e-4, 0.03, (RiskPoint(0.0, 1.0, 0.2), RiskPoint(0.75, 0.5, 0.1)))


def sure() -> Bundle:
    bundle = make_bundle()[0]
    models = tuple(model._replace(calibration=CALIBRATION) for model in bundle.models)
    return replace(bundle, models=models, confidence=Confidence(0.625, (RISK,)))


def test_confidences_survive_the_file() -> None:
    assert decode(encode(sure())) == sure()


@pytest.mark.parametrize(
    ("score", "confidence"),
    [(-9.0, 0.25), (-1.0, 0.25), (-0.25, 0.5), (0.5, 0.75), (2.0, 0.75), (9.0, 0.75), (math.nan, 0.25)],
)
def test_confidence_is_read_off_a_line_through_the_knots(score: float, confidence: float) -> None:
    assert confidence == CALIBRATION(score)


def test_one_knot_is_one_confidence() -> None:
    assert [Calibration((0.5,), (0.75,))(score) for score in (-1.0, 0.5, math.inf)] == [0.75, 0.75, 0.75]


def risk(regime: Any = "hot", deadline: float = 1e-3, error: float = 0.1, *points: Sequence[float]) -> dict[str, Any]:
    points = points or ((0.5, 1.0, 0.1),)
    return {"risks": (Risk(regime, deadline, error, tuple(RiskPoint(*point) for point in points)),)}


@pytest.mark.parametrize(
    "fault",
    [
        {"prior": -0.1},
        {"prior": math.nan},
        risk(deadline=0.0),
        risk(deadline=math.inf),
        risk(error=1.5),
        risk("hot", 1e-3, 0.1, (0.5, 1.1, 0.1)),
        risk("hot", 1e-3, 0.1, (0.5, 0.5, -0.1)),
        risk("hot", 1e-3, 0.1, (0.5, 0.5, 0.1), (0.6, 0.9, 0.1)),
        risk("hot", 1e-3, 0.1, *[(0.5, 0.5, 0.1)] * 101),
        {"risks": risk()["risks"] * 1001},
        {"risks": (Risk("hot", 1e-3, 0.1, ()),)},
    ],
    ids=lambda fault: str(fault)[:60],
)
def test_impossible_confidences_are_refused(fault: dict[str, Any]) -> None:
    bundle = sure()
    assert bundle.confidence is not None

    with pytest.raises(BundleFormatError, match=r"^confidence\..* Export the bundle again"):
        decode(encode(replace(bundle, confidence=bundle.confidence._replace(**fault))))


@pytest.mark.parametrize(
    "knots",
    [
        ((), ()),
        ((0.5,), ()),
        ((0.5, 0.5), (0.6, 0.6)),
        ((0.5, 0.6), (0.7, 0.6)),
        ((0.5,), (1.1,)),
        ((0.5,), (-0.1,)),
        ((math.inf,), (0.5,)),
        ((math.nan,), (0.5,)),
        (tuple(map(float, range(17))), (0.5,) * 17),
    ],
    ids=lambda knots: str(knots)[:60],
)
def test_impossible_calibrations_are_refused(knots: tuple[Any, Any]) -> None:
    bundle = sure()
    first, *others = bundle.models

    with pytest.raises(BundleFormatError, match=r"^models\[0\]\.calibration.* Export the bundle again"):
        decode(encode(replace(bundle, models=(first._replace(calibration=Calibration(*knots)), *others))))


@pytest.mark.parametrize(
    "fault",
    [
        {"confidence__prior": 1},
        {"confidence__risks": None},
        {"confidence__risks": [1]},
        {"confidence__risks": [1, 1]},
        {"confidence__risks__1__regime": [7]},
        {"confidence__risks__1__regime": ["warm"]},
        {"confidence__risks__1__points": [[1, 3]]},
        {"models__1__calibration": None},
        {"models__1__calibration": [b""] * 3},
        {"models__1__calibration": {"scores": [[1, b"1234567"]] * 3, "confidences": [[1, bytes(8)]] * 3}},
        {"confidence": None},
    ],
    ids=str,
)
def test_confidences_of_another_form_are_refused(fault: dict[str, Any]) -> None:
    with pytest.raises(BundleFormatError, match="Export the bundle again"):
        decode(index_of(sure(), **fault))


def test_a_regressor_has_no_confidences() -> None:
    with pytest.raises(BundleFormatError, match="confidence must go with classes"):
        decode(encode(changed(sure(), classes=(), prior=(0.5, 0.5))))


def test_a_bundle_with_an_odd_value_is_refused_or_used() -> None:
    """All odd values in the field; nothing but the errors of the house comes of them."""
    document, loaded = msgpack.unpackb(encode(sure())), []
    for odd in altered(document["confidence"]):
        with contextlib.suppress(BundleFormatError):
            loaded.append(decode(bytes(msgpack.packb({**document, "confidence": odd}))))
    for bundle in loaded:
        describe(bundle)
        with contextlib.suppress(ConfidenceError, BundleMismatchError):
            assert 0.0 <= least_confidence(bundle, 1e-4, None, 0.85) <= 1.0
        for model in bundle.models:
            assert model.calibration is None or all(0.0 <= model.calibration(s) <= 1.0 for s in (-1e300, 0.3, 1e300))

    assert len(loaded) > 10
