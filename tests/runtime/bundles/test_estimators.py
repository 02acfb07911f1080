"""The names of estimators in a bundle: one set of features may have a model of each."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.decoding import decode
from polydom_runtime.bundles.encoding import encode
from polydom_runtime.bundles.index import Interval
from polydom_runtime.exceptions import BundleFormatError
from tests.bundle_parts import changed
from tests.runtime.conftest import US, make_bundle, write

NAMES = ["lines", "lines", "trees", "trees"]


def with_two_models_of_one_set() -> Bundle:
    """Return a bundle whose last set has a model of each estimator; the second set has one of trees only."""
    bundle = make_bundle()[0]
    last = replace(bundle.models[2], accuracy=0.85, seconds=2 * US)
    entries = (bundle.models[0], last, bundle.models[1], bundle.models[2])
    models = tuple(replace(entry, estimator=name) for entry, name in zip(entries, NAMES, strict=True))
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
    assert msgpack.unpackb(encode(make_bundle()[0]))["estimators"] == []


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
    document = msgpack.unpackb(encode(with_two_models_of_one_set()))

    with pytest.raises(BundleFormatError, match=r"[Ee]stimator.* Export the bundle again"):
        decode(bytes(msgpack.packb(document | {"estimators": names})))


def test_more_estimators_than_a_node_plans_for_are_refused() -> None:
    bundle = make_bundle()[0]
    models = [replace(bundle.models[0], estimator=f"e{k}") for k in range(21)]

    with pytest.raises(BundleFormatError, match="number of estimators"):
        decode(encode(replace(bundle, models=tuple(models), stored=replace(bundle.stored, shipped=(), intervals=()))))


@pytest.mark.parametrize("names", [[], ["lines"] * 4])
def test_two_models_of_one_set_need_different_estimators(names: list[str]) -> None:
    document = msgpack.unpackb(encode(with_two_models_of_one_set()))

    with pytest.raises(BundleFormatError, match="in an order that its estimator has once"):
        decode(bytes(msgpack.packb(document | {"estimators": names})))
