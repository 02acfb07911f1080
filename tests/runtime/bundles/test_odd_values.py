"""Nothing but a BundleFormatError comes out of a bundle with an odd value, wherever the value stands."""

import contextlib
import math
import random
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from polydom_runtime import CostFunction, Predictor, Seams
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import CostOrigin
from polydom_runtime.bundles.confidence import Calibration, Confidence, ErrorCosts, Risk, RiskPoint
from polydom_runtime.bundles.index_file import DIGEST_FILE, INDEX_FILE, digest_line, encode, load_bundle
from polydom_runtime.bundles.model_entry import Estimate
from polydom_runtime.bundles.promise import Assumption
from polydom_runtime.bundles.references import References, stored
from polydom_runtime.describing.description import describe
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError, DeadlineError
from polydom_runtime.features import ItemKind
from tests.bundle_parts import changed, document_of, floats
from tests.draws import draws
from tests.runtime.bundles.test_bundle import made_for_regimes
from tests.runtime.bundles.test_shipping import SHIPPING
from tests.runtime.conftest import US, World, make_bundle, write

ITEM = np.arange(10.0)
DEEP: Any = 1
for _ in range(450):  # older versions of msgpack pack no more than 511
    DEEP = [DEEP]
VALUES = [
    *(None, True, False, -1, 0, 1, 2, 60, 1 << 31, (1 << 63) - 1, 1 << 63, -(1 << 63)),
    *(0.0, -0.0, -1.0, 0.5, 2.0, 1e-300, 5e-324, 1e18, 1e89, 1e308, math.nan, math.inf, -math.inf),
    *("", "a", "\0", "\x1b[2J", "x" * 5000, b"", b"\0", bytes(8), bytes(48)),
    *([], [[]], [None], [0, 0], [1.5] * 3, DEEP, {}, {"a": 1}, {"regime": "cold"}),
]
NUMBERS = [struct.pack("<d", v) for v in (-1.0, -0.0, 0.5, 5e-324, 1e18, 1e89, 1e308, math.nan, math.inf, -math.inf)]


def full() -> Bundle:
    """Return a bundle with something in each field, its features as those of the world."""
    bundle = made_for_regimes()
    origin = CostOrigin("a board", True, ("warm",), {"numpy": "2"})
    items = [kept for item in (ITEM, [1, 2.5], "a") if (kept := stored(item)) is not None]
    bundle = changed(bundle, item_kind=ItemKind(1, False), scoring="accuracy", assumption=Assumption(0.0, 5, 1, 0.1))
    estimated = tuple(
        m._replace(estimate=Estimate(m.accuracy, 0.1, 0.95), calibration=Calibration((0.5, 0.9), (0.4, 0.8)))
        for m in bundle.models
    )
    bundle = changed(bundle, models=estimated)
    hot, risk = bundle.times._replace(origin=origin), Risk("hot", 1e-4, 0.05, (RiskPoint(0.0, 1.0, 0.2),))
    bundle = replace(bundle, shipping=SHIPPING, confidence=Confidence(0.5, (risk,)))
    bundle = replace(bundle, error_costs=ErrorCosts(((0.0, 2.0), (0.5, 0.0)), 0.25))
    return replace(bundle, times=hot, references=References(tuple(items), ((1.0,) * 6,) * len(items), (math.inf,) * 6))


def with_set_costs() -> Bundle:
    bundle = full()
    costs = (CostFunction.of(13 * US), CostFunction.of(40 * US), CostFunction.of(100 * US))
    return replace(bundle, models=tuple(m._replace(cost=c) for m, c in zip(bundle.models, costs, strict=True)))


def greedy() -> Bundle:
    return changed(full(), shipped=(), intervals=(), sequences=((0, 1, 2), (0, 1)), median_size=10.0)


def of_two_estimators() -> Bundle:
    bundle = full()
    models = zip(bundle.models, ("lines", "trees", "lines"), strict=True)
    return replace(bundle, models=tuple(model._replace(estimator=name) for model, name in models))


def regressor() -> Bundle:
    bundle = full()
    models = tuple(model._replace(calibration=None) for model in bundle.models)
    plain = replace(bundle, models=models, confidence=None)
    return changed(plain, classes=(), prior=(0.5, 0.5), error_costs=None)


def altered(value: Any) -> Iterator[Any]:
    """Yield a value with an odd one in its place, or in the place of a value in it or of a number in its bytes."""
    yield from VALUES
    if isinstance(value, dict):
        yield from ({**value, name: odd} for name, old in value.items() for odd in altered(old))
    if isinstance(value, list):
        yield from ([*value[:k], odd, *value[k + 1 :]] for k, old in enumerate(value) for odd in altered(old))
        yield from (value[1:], value[:-1], value + value)
    if isinstance(value, bytes) and len(value) % 8 == 0:
        for k in range(0, len(value), 8):
            yield from (value[:k] + number + value[k + 8 :] for number in NUMBERS)


KINDS = {kind.__name__: kind() for kind in (full, with_set_costs, greedy, regressor, of_two_estimators)}


def answer(folder: Path, document: Any, **options: Any) -> bool:
    """Write a document with its digest, load it and answer an item; what is no fault of the reader may be raised.

    A bundle may be of other features, or of deadlines that are too short.
    """
    index, world = bytes(msgpack.packb(document)), World()
    (folder / INDEX_FILE).write_bytes(index)
    (folder / DIGEST_FILE).write_bytes(digest_line(index))
    try:
        bundle = load_bundle(folder)
    except BundleFormatError:
        return False
    run_of = None if bundle.space.classes else lambda number: lambda: 0.5
    with contextlib.suppress(BundleFormatError, BundleMismatchError, DeadlineError):
        predictor = Predictor(
            bundle, world.space, seams=Seams(clock=world.clock, engine="numpy", run_of=run_of), **options
        )
        predictor.predict_one(ITEM)
        predictor.rehearse_with(ITEM)
    with contextlib.suppress(BundleMismatchError):
        bundle.check_features(world.space)
    describe(bundle)
    return True


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines", "ignore:The deadline is unusually")
@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_with_an_odd_value_is_refused_or_answers(kind: str, tmp_path: Path) -> None:
    """A sample of all fields, of all values in them, and of all odd values; other samples have been tried, too."""
    folder = write(tmp_path / "odd.bundle", KINDS[kind], make_bundle()[1])
    document = msgpack.unpackb(encode(KINDS[kind]))
    odd = [{**document, name: value} for name, old in document.items() for value in altered(old)]

    loaded = [answer(folder, changed_document) for changed_document in random.Random(0).sample(odd, draws(50, 100))]

    assert set(loaded) == {True, False}


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
@pytest.mark.parametrize(
    "changes",
    [
        {"once__unit_times__1__terms__0__1__weights": floats(*[1e308] * 24)},
        {"references__items": [1, [["array", "<f8", [0, *[1 << 16] * 5], b""]]]},
    ],
    ids=["costs", "references"],
)
def test_what_once_raised_other_errors_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    folder = write(tmp_path / "odd.bundle", full(), make_bundle()[1])

    assert not answer(folder, document_of(full(), **changes))
