"""Scores, intervals and estimators of models: only what goes together is read; a set may have several models."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Interval
from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.bundles.model_entry import Estimate
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import changed, document_of, floats, index_of
from tests.runtime.conftest import US, make_bundle, write

NAMES = ["lines", "lines", "trees", "trees"]


def with_two_models_of_one_set() -> Bundle:
    """Return a bundle whose last set has a model of each estimator; the second set has one of trees only."""
    bundle = make_bundle()[0]
    last = bundle.models[2]._replace(accuracy=0.85, seconds=2 * US)
    entries = (bundle.models[0], last, bundle.models[1], bundle.models[2])
    models = tuple(entry._replace(estimator=name) for entry, name in zip(entries, NAMES, strict=True))
    intervals = tuple(Interval(candidate, 1.0, 1000.0) for candidate in (1, 2, 3, 4))
    return changed(replace(bundle, models=models), shipped=(0, 2, 1, 3), intervals=intervals)


def write_two_models_of_one_set(folder: Path) -> Path:
    """Write this bundle."""
    first, second, third = make_bundle()[1]
    return write(folder, with_two_models_of_one_set(), [first, third, second, third])


def test_the_estimators_of_models_survive_the_file() -> None:
    bundle = decode(encode(with_two_models_of_one_set()))

    assert [entry.estimator for entry in bundle.models] == NAMES
    assert [candidate.estimator for candidate in bundle.index.candidates] == ["", "lines", "trees", "lines", "trees"]


def test_one_estimator_without_a_name_takes_no_room() -> None:
    assert document_of(make_bundle()[0])["models"][1]["estimator"] == {"all": ""}


@pytest.mark.parametrize(
    "names",
    [
        "lines",
        ["lines"],
        [*NAMES, "lines"],
        ["lines", "", "trees", "trees"],
        ["lines", 1, "trees", "trees"],
        ["lines", ["lines"], "trees", "trees"],
        ["lines", "a\x1b[2Jb", "trees", "trees"],
        ["lines", "\u202eevil", "trees", "trees"],
        ["lines", "x" * 41, "trees", "trees"],
    ],
    ids=ascii,
)
def test_names_that_do_not_fit_are_refused(names: Any) -> None:
    with pytest.raises(BundleFormatError, match=r"[Ee]stimator.* Export the bundle again"):
        decode(index_of(with_two_models_of_one_set(), models__1__estimator=names))


def test_more_estimators_than_a_node_plans_for_are_refused() -> None:
    bundle = make_bundle()[0]
    models = [bundle.models[0]._replace(estimator=f"e{k}") for k in range(21)]

    with pytest.raises(BundleFormatError, match="1 to 20 estimators"):
        decode(encode(replace(bundle, models=tuple(models), stored=bundle.stored._replace(shipped=(), intervals=()))))


@pytest.mark.parametrize("names", [{"all": ""}, ["lines"] * 4])
def test_two_models_of_one_set_need_different_estimators(names: Any) -> None:
    with pytest.raises(BundleFormatError, match="in an order that its estimator has once"):
        decode(index_of(with_two_models_of_one_set(), models__1__estimator=names))


ROWS = [(0.75, 0.6, 0.8), (0.85, 0.7, 0.9), (0.9, 0.9, 0.9)]
"""Measured score, lowest and highest of the three models, which state 0.7, 0.8 and 0.9."""


def estimated() -> Bundle:
    bundle, _ = make_bundle()
    models = tuple(m._replace(estimate=Estimate(*row)) for m, row in zip(bundle.models, ROWS, strict=True))
    return changed(bundle, models=models, scoring="accuracy")


def test_estimates_survive_the_file() -> None:
    assert decode(encode(estimated())) == estimated()


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
    bundle = estimated()
    first, second, third = bundle.models
    models = first, second._replace(estimate=Estimate(*row)), third

    with pytest.raises(BundleFormatError, match=r"^(models\[1\]|A score).* Export the bundle again"):
        decode(encode(replace(bundle, models=models)))


@pytest.mark.parametrize("value", [[], "", b"\0", {"measured": floats(0.75), "low": floats(0.6), "high": floats(0.8)}])
def test_estimates_are_for_each_model(value: object) -> None:
    with pytest.raises(BundleFormatError, match=r"models\.estimate"):
        decode(index_of(estimated(), models__1__estimate=value))
