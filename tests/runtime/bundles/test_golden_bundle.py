"""A bundle that was written once and must stay readable: a device may keep one for years."""

from pathlib import Path

import numpy as np
import pytest

from polydom_runtime import ManualClock, Predictor, Seams, load_bundle
from polydom_runtime.bundles.confidence import Calibration, Confidence, ErrorCosts, Risk, RiskPoint
from polydom_runtime.bundles.index_file import encode
from polydom_runtime.bundles.promise import Identity, Limits
from tests.runtime.node_space import space

GOLDEN = Path(__file__).parents[2] / "golden" / "format_1.bundle"
BUNDLE = load_bundle(GOLDEN)


def test_it_still_says_what_it_holds() -> None:
    assert BUNDLE.names == ("mean", "spread", "ends")
    assert BUNDLE.space.classes == ("no", "yes")
    assert BUNDLE.index.best(100, 60e-6).features == ("mean", "spread")
    assert BUNDLE.index.best(100, 10.0).features == ("mean", "spread", "ends")
    assert [model.engine for model in BUNDLE.models] == ["numpy", "onnxruntime", "numpy"]


def test_it_still_has_reference_items() -> None:
    assert len(BUNDLE.references.items) == 2
    assert not [*BUNDLE.references.differences(space)]
    assert (BUNDLE.references.number_type, BUNDLE.references.unsteady, len(BUNDLE.references.seen)) == ("", (), 8)
    assert [model.answers for model in BUNDLE.models] == [(1.0, 1.0), (0.0, 0.0), (1.0, 1.0)]


def test_it_still_says_its_score_how_far_the_tolerance_holds_and_the_kind_of_its_items() -> None:
    assert (BUNDLE.promise.scoring, BUNDLE.promise.late) == ("f1_macro", 0.005)
    assert BUNDLE.promise.assumption == (0.01, 19, 2, 0.0305)
    assert BUNDLE.space.item_kind == (1, False)


def test_it_still_says_what_it_is() -> None:
    assert BUNDLE.identity == Identity(
        name="golden",
        version="1.2",
        built="2026-01-31T12:00:00Z",
        builder="The team",
        data="1" * 64,
        code="2:" + "2" * 64,
        libraries={"polydom-builder": "0.2.0", "scikit-learn": "1.7.2"},
    )


def test_it_still_says_what_scores_confidences_and_errors_are_worth() -> None:
    first, *_ = BUNDLE.models

    assert (BUNDLE.promise.margin, BUNDLE.error_costs) == (0.02, ErrorCosts(((0.0, 2.0), (0.5, 0.0)), 0.25))
    assert [model.estimator for model in BUNDLE.models] == ["lines", "lines", "trees"]
    assert first.estimate == pytest.approx((0.71, 0.6, 0.75))
    assert first.calibration == Calibration((0.5, 0.75), (0.4, 0.7))
    points = RiskPoint(0.0, 1.0, 0.25), RiskPoint(0.75, 0.5, 0.125)
    assert BUNDLE.confidence == Confidence(0.5, (Risk("hot", 1e-4, 0.05, points),))
    assert (BUNDLE.shipping.limits, BUNDLE.shipping.n_left_out) == (Limits(3, 20_000_000, 512_000_000), 2)


def test_it_still_says_what_it_holds_of_regimes_and_deadlines() -> None:
    hot, cold = BUNDLE.times, BUNDLE.regimes["cold"]

    assert [choice.deadline for choice in hot.choices] == pytest.approx([1e-4, 2e-4])
    assert hot.at(5e-5).guarded.quantile == 0.9
    assert (hot.outlook[1].features, hot.outlook[1].late) == (("spread", "mean"), 0.002)
    assert cold.asleep == 0.05
    assert cold.models == pytest.approx((4e-5, 4.1e-5, 4.2e-5))
    assert [cost(10.0) for cost in cold.times.worst.around] == pytest.approx([7.75e-6, 1e-5, 23.25e-6])
    assert set(BUNDLE.regimes) == {"rehearsed", "cold"}


def test_it_is_written_as_it_was() -> None:
    """Byte by byte: the format has not changed unnoticed."""
    assert encode(BUNDLE) == (GOLDEN / "index.msgpack").read_bytes()


def test_it_still_answers() -> None:
    predictor = Predictor.load(GOLDEN, space, seams=Seams(clock=ManualClock()))

    answer = predictor.predict_one(np.array([1.0, 2.0, 3.0]))

    assert (answer.label, answer.features) == ("yes", ("mean", "spread", "ends"))
    assert answer.accuracy == pytest.approx(0.9)
