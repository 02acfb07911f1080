"""Confidence under supervision: the worker states it, and so does the supervisor where it answers by itself."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import ConfidenceError
from polydom_runtime.bundles.confidence import Calibration, Confidence, ErrorCosts
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.clock import hardware_clock
from polydom_runtime.device.tiny_models import constant_classifier
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from tests.runtime import supervised_space as faults
from tests.runtime.conftest import write
from tests.runtime.supervision.test_supervisor import DEADLINE_S, MARGIN_S, SPACE, make_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose models with one, two and three features are right in 0.6, 0.7 and 0.9 of all cases."""
    root = tmp_path_factory.mktemp("sure")
    plain = load_bundle(make_folder(root / "plain"))
    models = tuple(
        model._replace(calibration=Calibration((0.5,), (share,)))
        for model, share in zip(plain.models, (0.6, 0.7, 0.9), strict=True)
    )
    bundle = replace(plain, models=models, confidence=Confidence(0.375))
    return write(root / "sure", bundle, [bytes(content) for content in plain.contents])


def supervised(folder: Path, **options: Any) -> SupervisedPredictor:
    return SupervisedPredictor(
        *(folder, SPACE),
        deadline=DEADLINE_S,
        reserve=MARGIN_S,
        item_bytes=1 << 20,
        reply=faults.reply_unless_hung,
        **options,
    )


@pytest.fixture(scope="module", params=[0.65, 0.75])
def predictor(folder: Path, request: pytest.FixtureRequest) -> Iterator[SupervisedPredictor]:
    with supervised(folder, abstain_below=request.param) as predictor:
        yield predictor


def item(first: float = 0.0) -> np.ndarray:
    return np.array([first, *range(1, 100)])


def test_a_worker_states_confidences(predictor: SupervisedPredictor) -> None:
    answer = predictor.predict_one(item())

    assert (answer.label, answer.confidence, answer.reason) == ("yes", 0.9, "planned")


def test_a_worker_withholds_what_is_unsure(predictor: SupervisedPredictor) -> None:
    """A feature that fails leaves a model that is right in 0.7 of all cases."""
    answer = predictor.predict_one(item(faults.RAISES))

    assert (answer.label, answer.confidence) == ("no" if predictor.abstain_below == 0.65 else None, 0.7)


def test_the_supervisor_withholds_what_is_unsure(predictor: SupervisedPredictor) -> None:
    answer = predictor.predict_one(item(faults.STEPS_ASIDE))

    assert answer.reason == "supervised: ends was not done in time"
    assert (answer.label, answer.confidence) == ("no" if predictor.abstain_below == 0.65 else None, 0.7)


def test_the_prior_of_the_supervisor_has_a_confidence(predictor: SupervisedPredictor) -> None:
    answer = predictor.predict_one(item(), arrived_ns=hardware_clock() - int(1e9 * DEADLINE_S))

    assert (answer.label, answer.features, answer.confidence) == (None, (), 0.375)


def test_a_model_that_abstains_gives_no_answer_by_itself_or_under_supervision(tmp_path: Path) -> None:
    """The prior's label is no substitute for what a model does not say."""
    plain = load_bundle(make_folder(tmp_path / "plain"))
    data = [abstaining(sum(plain.space.widths[i] for i in model.order)) for model in plain.models]
    models = tuple(
        m._replace(size_bytes=len(d), sha256=hashlib.sha256(d).digest())
        for m, d in zip(plain.models, data, strict=True)
    )
    bundle = replace(plain, models=models, error_costs=ErrorCosts(((0.0, 1.0, 0.3), (5.0, 0.0, 0.3)), 0.3))
    with supervised(write(tmp_path / "x", bundle, data)) as predictor:
        answers = [predictor.predict_one(item(first)) for first in (0.0, faults.STEPS_ASIDE)]
        late = predictor.predict_one(item(), arrived_ns=hardware_clock() - int(1e9 * DEADLINE_S))

    assert [(a.label, len(a.features), a.reason) for a in answers] == [
        (None, 3, "unsure"),
        (None, 2, "supervised: ends was not done in time"),
    ]
    assert (late.label, late.features) == ("no", ())


def abstaining(width: int) -> bytes:
    """Return a model that always answers with the number after those of two classes."""
    return constant_classifier(width, 2, 3)


def test_an_impossible_threshold_is_refused(folder: Path) -> None:
    with pytest.raises(ConfidenceError, match="abstain_below must be"):
        supervised(folder, abstain_below=1.5)
