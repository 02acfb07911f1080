"""The engine that runs a model must give the answers to the reference rows that the model gave when it was built."""

import hashlib
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime.bundles import engines
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.checks import check_parts
from polydom_runtime.bundles.engines import ENGINES, Engine
from polydom_runtime.bundles.index_file import INDEX_FILE
from polydom_runtime.bundles.model_entry import UNCLEAR
from polydom_runtime.bundles.references import References
from polydom_runtime.codec.marks import Unsound
from polydom_runtime.delivery.check import try_bundle
from polydom_runtime.device.tiny_models import linear_classifier
from polydom_runtime.exceptions import BundleMismatchError
from polydom_runtime.policy.loaded_models import LoadedModels
from tests.runtime.conftest import make_bundle, write

ROWS = ((0.5, 1.0, 2.0, 0.0, 1.0, 4.0), (1.0, 2.0, -1.0, 1.0, 0.0, 2.0))


def bundle_of(*answers: float, engine: Engine = "numpy", data: bytes = b"") -> Bundle:
    """Return a bundle with two reference items, and answers of its first model, which is 1 for every item, to them."""
    bundle, contents = make_bundle()
    if data:
        contents[0] = data
    models = [
        model._replace(engine=engine, size_bytes=len(d), sha256=hashlib.sha256(d).digest())
        for model, d in zip(bundle.models, contents, strict=True)
    ]
    models[0] = models[0]._replace(answers=answers)
    references = References((("value", 1), ("value", 2)), ROWS, (math.inf,) * 6)
    return replace(bundle, models=tuple(models), references=references, contents=tuple(contents))


@pytest.mark.parametrize("engine", [pytest.param("onnxruntime", marks=pytest.mark.onnxruntime), "numpy"])
@pytest.mark.parametrize("answers", [(), (1.0, 1.0), (UNCLEAR, 1.0), (UNCLEAR, UNCLEAR)])
def test_a_model_that_answers_as_it_did_is_loaded(engine: Engine, answers: Sequence[float]) -> None:
    models = LoadedModels(bundle_of(*answers, engine=engine))

    assert models.load(0).run() == 1


@pytest.mark.parametrize("engine", [pytest.param("onnxruntime", marks=pytest.mark.onnxruntime), "numpy"])
@pytest.mark.parametrize("answers", [(0.0, 1.0), (1.0, 0.0), (UNCLEAR, 0.0)])
def test_a_model_that_answers_otherwise_is_refused_by_name(engine: Engine, answers: Sequence[float]) -> None:
    models = LoadedModels(bundle_of(*answers, engine=engine))

    with pytest.raises(BundleMismatchError, match=rf"That of mean gave '?no'? .*'?yes'? here, by {engine}\."):
        models.load(0)


def test_a_model_that_gives_no_answer_or_no_number_is_refused() -> None:
    bundle = bundle_of(1.0, 1.0)
    models = LoadedModels(bundle)

    def fails() -> int:
        raise RuntimeError("out of range")

    for run in (fails, lambda: math.nan):
        with pytest.raises(BundleMismatchError, match="nan here"):
            models._compare(run, bundle.models[0])


@pytest.mark.onnxruntime
def test_a_model_reads_its_own_columns_of_the_reference_rows() -> None:
    """Both engines give the answers that it gives to them."""
    data = linear_classifier(2, 2, seed=3)
    wanted: list[float] = []
    for engine in ENGINES:
        models = LoadedModels(of_spread(data, engine))
        loaded = models.load(0)
        for row in ROWS:
            models.values[:] = row
            wanted.append(float(loaded.run()))

    assert wanted[:2] == wanted[2:] == [1.0, 0.0]
    for engine in ENGINES:
        LoadedModels(of_spread(data, engine, *wanted[:2])).load(0)
        with pytest.raises(BundleMismatchError, match=rf"of spread gave .* by {engine}\."):
            LoadedModels(of_spread(data, engine, *wanted[1:3])).load(0)


def of_spread(data: bytes, engine: Engine, *answers: float) -> Bundle:
    """Return a bundle whose first model reads the second and third column."""
    bundle = bundle_of(*answers, engine=engine, data=data)
    return replace(bundle, models=(bundle.models[0]._replace(order=(1,)), *bundle.models[1:]))


@pytest.mark.parametrize(("number", "is_refused"), [(2.0001, False), (2.001, True), (-2.0, True)])
def test_numbers_may_differ_by_rounding(number: float, is_refused: bool) -> None:
    bundle = bundle_of(2.0, 2.0)
    models = LoadedModels(replace(bundle, space=bundle.space._replace(classes=())))
    run: Any = lambda: number  # noqa: E731

    if not is_refused:
        models._compare(run, bundle.models[0])
        return
    with pytest.raises(BundleMismatchError, match=r"gave 2\.0 to a reference item"):
        models._compare(run, bundle.models[0])


def test_a_model_that_is_meant_for_onnxruntime_is_not_run_by_numpy_without_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engines, "onnxruntime_version", lambda: "")
    with pytest.warns(UserWarning, match="run by numpy, since onnxruntime is missing"):
        LoadedModels(bundle_of(1.0, 1.0, engine="onnxruntime")).load(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LoadedModels(bundle_of(1.0, 1.0, engine="numpy")).load(0)
        LoadedModels(bundle_of(1.0, 1.0, engine="onnxruntime"), engine="numpy").load(0)


@pytest.mark.parametrize("answers", [(1.0,), (1.0, 1.0, 1.0), (1.0, 2.0), (0.5, 1.0), (-1.0, UNCLEAR)])
def test_answers_that_cannot_be_are_refused(answers: Sequence[float]) -> None:
    check_parts(bundle_of(1.0, 1.0))
    with pytest.raises(Unsound, match=r"answer to each|integers from 0 to 1"):
        check_parts(bundle_of(*answers))


@pytest.mark.parametrize("answer", [1.0, 0.0])
def test_an_install_compares_them(tmp_path: Path, answer: float) -> None:
    bundle = bundle_of(answer, UNCLEAR)
    here = write(tmp_path / "b", bundle, [*map(bytes, bundle.contents)])
    sha256 = hashlib.sha256((here / INDEX_FILE).read_bytes()).hexdigest()
    order = str(here), sha256, "tests.runtime.node_space:space", {"deadline": 0.5}

    if answer == 1.0:
        try_bundle(*order, compare=False)
        return
    with pytest.raises(BundleMismatchError, match="must give the answers that it gave when it was built"):
        try_bundle(*order, compare=False)
