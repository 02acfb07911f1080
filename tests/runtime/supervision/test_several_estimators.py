"""Two models of one set under supervision: failures count for one of them, and the supervisor takes one in time."""

import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.device.tiny_models import constant_classifier
from polydom_runtime.prediction import Prediction
from polydom_runtime.supervision import fallback
from polydom_runtime.supervision.fallback import MIN_MARGIN_NS, Fallback
from polydom_runtime.supervision.model_failures import ModelFailures
from tests.runtime.bundles.test_model_entry import with_two_models_of_one_set
from tests.runtime.conftest import make_bundle, write


def answered(features: tuple[str, ...], accuracy: float) -> Prediction:
    return Prediction("no", features, accuracy, 1, True, "planned", 1.0)


def test_a_model_that_worked_is_told_from_another_one_of_its_set() -> None:
    failures = ModelFailures(with_two_models_of_one_set())
    for number in (1, 3):
        failures.ended(number, 0)

    failures.worked(answered(("mean", "spread", "ends"), 0.85), 1)

    assert failures.failing == [3]


@pytest.mark.parametrize("slowdown", [1.0, 2.0])
@pytest.mark.parametrize(("left_ns", "expected"), [(5_000, ("yes", 0.9)), (4_999, ("no", 0.85)), (0, ("no", 0.5))])
def test_the_supervisor_runs_the_best_model_that_is_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_ns: int, expected: tuple[str, float], slowdown: float
) -> None:
    """Over all features trees take 5 µs, lines 2 µs; other models score less and are not loaded."""
    bundle, (first, second, third) = with_two_models_of_one_set(), make_bundle()[1]
    quick = constant_classifier(6, 0)
    lines = bundle.models[1]._replace(size_bytes=len(quick), sha256=hashlib.sha256(quick).digest())
    bundle = replace(bundle, models=(bundle.models[0], lines, *bundle.models[2:]))
    own = Fallback(load_bundle(write(tmp_path / "b", bundle, [first, quick, second, third])), [1, 3])
    link = SimpleNamespace(done=0b111, model=-1, slot=SimpleNamespace(values=0.0))
    monkeypatch.setattr(fallback, "hardware_clock", lambda: 0)

    model, label = own.prepare(cast(Any, link), int(slowdown * left_ns) + MIN_MARGIN_NS, [], slowdown)

    assert expected == (label, model.accuracy)
    assert model.estimator == {0.9: "trees", 0.85: "lines", 0.5: None}[model.accuracy]
