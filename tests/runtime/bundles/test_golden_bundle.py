"""Bundles that were written once and must stay readable: a device may keep one for years."""

from pathlib import Path

import numpy as np
import pytest

from polydom_runtime import ManualClock, Predictor, load_bundle
from polydom_runtime.bundles.bundle_times import UNKNOWN_CALM
from polydom_runtime.bundles.confidence import Calibration, Confidence, Risk, RiskPoint
from polydom_runtime.bundles.encoding import encode
from polydom_runtime.bundles.error_costs import ErrorCosts
from polydom_runtime.bundles.identity import Identity
from polydom_runtime.bundles.shipping import Limits, Shipping
from tests.runtime.node_space import space

GOLDEN = Path(__file__).parents[2] / "golden"
FOLDERS = sorted(GOLDEN.glob("format_*.bundle"))
NEWEST = GOLDEN / "format_11.bundle"

every_format = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.stem)


@every_format
def test_a_bundle_of_each_format_still_says_what_it_holds(folder: Path) -> None:
    bundle = load_bundle(folder)

    assert bundle.names == ("mean", "spread", "ends")
    assert bundle.space.classes == ("no", "yes")
    assert bundle.index.best(100, 60e-6).features == ("mean", "spread")
    assert bundle.index.best(100, 10.0).features == ("mean", "spread", "ends")


def test_format_4_knows_hot_times_only() -> None:
    bundle = load_bundle(GOLDEN / "format_4.bundle")

    assert bundle.regimes == {}
    assert (bundle.times.choices, bundle.times.calm, bundle.times.outlook) == ((), UNKNOWN_CALM, ())


def test_formats_before_6_know_one_engine() -> None:
    for name in ("format_4", "format_5"):
        assert {model.engine for model in load_bundle(GOLDEN / f"{name}.bundle").models} == {"onnxruntime"}


@pytest.mark.parametrize("name", ["format_6", "format_7", "format_8", "format_9", "format_10", "format_11"])
def test_format_6_still_says_which_engine_runs_a_model(name: str) -> None:
    bundle = load_bundle(GOLDEN / f"{name}.bundle")
    assert [model.engine for model in bundle.models] == ["numpy", "onnxruntime", "numpy"]


def test_format_8_still_has_reference_items() -> None:
    references = load_bundle(NEWEST).references

    assert len(references.items) == 2
    assert not [*references.differences(space)]


def test_format_9_still_says_its_score_how_far_the_tolerance_holds_and_the_kind_of_its_items() -> None:
    bundle = load_bundle(NEWEST)

    assert bundle.promise.scoring == "f1_macro"
    assert bundle.promise.assumption == (0.01, 19, 2, 0.0305)
    assert bundle.space.item_kind == (1, False)


def test_format_10_still_says_what_it_is() -> None:
    assert load_bundle(NEWEST).identity == Identity(
        name="golden",
        version="1.2",
        built="2026-01-31T12:00:00Z",
        builder="The team",
        data="1" * 64,
        code="2:" + "2" * 64,
        libraries={"polydom-builder": "0.2.0", "scikit-learn": "1.7.2"},
    )


def test_format_11_still_says_what_scores_confidences_and_errors_are_worth() -> None:
    bundle = load_bundle(NEWEST)
    first, *_ = bundle.models

    assert (bundle.promise.margin, bundle.error_costs) == (0.02, ErrorCosts(((0.0, 2.0), (0.5, 0.0)), 0.25))
    assert [model.estimator for model in bundle.models] == ["lines", "lines", "trees"]
    assert first.estimate == pytest.approx((0.71, 0.6, 0.75))
    assert first.calibration == Calibration((0.5, 0.75), (0.4, 0.7))
    points = RiskPoint(0.0, 1.0, 0.25), RiskPoint(0.75, 0.5, 0.125)
    assert bundle.confidence == Confidence(0.5, (Risk("hot", 1e-4, 0.05, points),))
    assert (bundle.shipping.limits, bundle.shipping.n_left_out) == (Limits(3, 20_000_000, 512_000_000), 2)


def test_formats_before_11_know_nothing_of_it() -> None:
    for version in range(4, 11):
        bundle = load_bundle(GOLDEN / f"format_{version}.bundle")

        assert (bundle.promise.margin, bundle.error_costs, bundle.confidence) == (None, None, None)
        assert bundle.shipping == Shipping()
        assert {(m.estimate, m.estimator, m.calibration) for m in bundle.models} == {(None, "", None)}


def test_formats_before_10_do_not_say_what_they_are() -> None:
    for version in range(4, 10):
        assert load_bundle(GOLDEN / f"format_{version}.bundle").identity == Identity()


def test_formats_before_9_say_nothing_of_it() -> None:
    for version in range(4, 9):
        bundle = load_bundle(GOLDEN / f"format_{version}.bundle")
        assert (bundle.promise.scoring, bundle.promise.assumption, bundle.space.item_kind) == ("", None, None)


def test_format_7_still_says_from_when_on_a_slow_down_counts_at_each_deadline() -> None:
    assert [choice.calm for choice in load_bundle(NEWEST).times.choices] == [1.5, 1.25]
    assert load_bundle(NEWEST).times.at(3e-4).calm == 1.25
    assert load_bundle(NEWEST).times.at(2e-4 / 2**0.5).calm == pytest.approx(1.375)


@pytest.mark.parametrize("name", ["format_5", "format_6", "format_7", "format_8", "format_9", "format_10", "format_11"])
def test_format_5_still_says_what_it_holds_of_regimes_and_deadlines(name: str) -> None:
    bundle = load_bundle(GOLDEN / f"{name}.bundle")
    hot, cold = bundle.times, bundle.regimes["cold"]

    assert [choice.deadline for choice in hot.choices] == pytest.approx([1e-4, 2e-4])
    assert hot.at(5e-5).guarded.quantile == 0.9
    assert (hot.calm, hot.outlook[1].features, hot.outlook[1].late) == (1.25, ("spread", "mean"), 0.002)
    assert cold.asleep == 0.05
    assert cold.models == pytest.approx((4e-5, 4.1e-5, 4.2e-5))
    assert cold.times.worst.dispatch(10.0) == pytest.approx(31e-6)
    assert set(bundle.regimes) == {"rehearsed", "cold"}


def test_the_newest_format_is_written_as_it_was() -> None:
    """Byte by byte: the format has not changed unnoticed."""
    assert encode(load_bundle(NEWEST)) == (NEWEST / "index.msgpack").read_bytes()


@every_format
def test_a_bundle_of_each_format_still_answers(folder: Path) -> None:
    answer = Predictor.load(folder, space, clock=ManualClock()).predict_one(np.array([1.0, 2.0, 3.0]))

    assert (answer.label, answer.features) == ("yes", ("mean", "spread", "ends"))
    assert answer.accuracy == pytest.approx(0.9)
