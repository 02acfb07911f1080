"""Exported bundles have the answers of their models to the reference items, except where rounding decides."""

from pathlib import Path

import numpy as np
import pytest

from polydom_builder.bundling.reference_answers import clear_answers
from polydom_builder.training.onnx import OnnxModel
from polydom_runtime.bundles.engines import ENGINES, Engine
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.model_entry import UNCLEAR
from polydom_runtime.device.tiny_models import linear_classifier
from polydom_runtime.policy.loaded_models import LoadedModels
from tests.builder.training.estimator_zoo import WIDTH, exported, items
from tests.fuzz.test_two_engines import stump


def test_answers_are_those_of_the_model() -> None:
    model, rows = OnnxModel(linear_classifier(4, 3)), np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)

    answers = clear_answers(model, rows, True)

    assert answers == tuple(model.predict(rows).astype(float))
    assert len({*answers}) > 1


def test_answers_that_rounding_decides_are_left_out() -> None:
    """A row on the threshold of a tree, and a number between two that are as near as those that rounding gives."""
    rows = np.ones((3, 6), dtype=np.float32)
    rows[:, 0] = -1.0, 0.0, 1.0

    assert clear_answers(OnnxModel(stump(2, [0, 0], [0.1, 0.9])[2:]), rows, True) == (0.0, UNCLEAR, 1.0)


@pytest.mark.parametrize("name", ["scaler, ridge", "tree"])
def test_numbers_are_kept_if_they_hardly_change(name: str) -> None:
    rows = items(0)[0][:8]
    model = OnnxModel(exported(name, 0), classifies=False)

    answers = clear_answers(model, rows, False)

    assert rows.shape == (8, WIDTH)
    assert sum(answer != UNCLEAR for answer in answers) >= 6
    assert all(a in (UNCLEAR, b) for a, b in zip(answers, model.predict(rows).tolist(), strict=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_exported_bundle_holds_them_and_both_engines_give_them(engine: Engine, folder: Path) -> None:
    bundle = load_bundle(folder)
    models = LoadedModels(bundle, engine=engine)

    for number, entry in enumerate(bundle.models):
        assert len(entry.answers) == len(bundle.references.rows) > 0
        assert any(answer != UNCLEAR for answer in entry.answers)
        models.load(number)
