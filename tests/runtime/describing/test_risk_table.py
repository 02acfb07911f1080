"""The table of wrong answers that `polydom-node info` and `polydom inspect` show."""

from dataclasses import replace

from polydom_runtime.bundles.confidence import Confidence, Risk, RiskPoint
from polydom_runtime.describing.description import risks
from tests.runtime.conftest import make_bundle

POINTS = (RiskPoint(0.0, 1.0, 0.2), RiskPoint(0.6, 0.91, 0.15), RiskPoint(0.7, 0.79, 0.1), RiskPoint(0.9, 0.45, 0.025))


def test_a_line_for_each_deadline_has_the_risks_at_some_coverages() -> None:
    stated = Risk("hot", 2e-4, 0.03, POINTS), Risk("cold", 0.015, 0.04, POINTS[:1])
    _, header, hot, cold = risks(replace(make_bundle()[0], confidence=Confidence(0.5, stated))).lines("  ")

    assert header.split() == ["regime", "deadline", "100", "%", "90", "%", "80", "%", "50", "%", "error"]
    assert hot.split() == ["hot", "200", "µs", "20", "%", "15", "%", "10", "%", "2.5", "%", "0.030"]
    assert cold.split() == ["cold", "15", "ms", *["20", "%"] * 4, "0.040"]
    assert len(header) == len(hot) == len(cold)


def test_a_bundle_without_confidences_says_so() -> None:
    bundle = make_bundle()[0]

    assert risks(bundle).lines() == ["answers state no confidence: built without"]
    assert "is not stated" in risks(replace(bundle, confidence=Confidence(0.5))).title
