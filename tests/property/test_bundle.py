"""The bundle's index file: whatever is written is read, and whatever is damaged is refused."""

import contextlib
from dataclasses import replace
from math import inf
from typing import Any

import msgpack
from hypothesis import given, settings
from hypothesis import strategies as st

from polydom_builder.index.envelope import build_index
from polydom_builder.sets.region import QueryRegion
from polydom_runtime import CostFunction
from polydom_runtime.bundles.bundle import Bundle, BundleSpace, Prior, StoredIndex
from polydom_runtime.bundles.bundle_times import REGIMES, BundleTimes
from polydom_runtime.bundles.confidence import Calibration, Confidence, Risk, RiskPoint
from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.bundles.promise import Assumption, Identity, Promise
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.features import ItemKind
from tests.draws import draws
from tests.runtime.conftest import make_bundle

DOCUMENT = msgpack.unpackb(encode(make_bundle()[0]))

weights = st.one_of(st.just(0.0), st.floats(0.0, 1e18, allow_subnormal=True))
cost_functions = st.builds(CostFunction, st.tuples(*[weights] * 6))
scores = st.floats(-1e9, 1e9)
printable = st.characters(exclude_categories=["C", "Z"])
names = st.text(printable, min_size=1, max_size=12)
labels = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=5, unique=True),
    st.lists(names, min_size=2, max_size=5, unique=True),
    st.just([False, True]),
)
words = st.text(printable, max_size=200)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
identities = st.builds(
    Identity,
    words,
    words,
    st.sampled_from(["", "2026-01-31T12:00:00Z"]),
    words,
    st.just("") | digests,
    st.just("") | digests.map("2:{}".format),
    st.dictionaries(names, names, max_size=3),
)

shares = st.floats(0.0, 1.0)
calibrations = st.lists(st.tuples(st.floats(-1e9, 1e9), shares), min_size=1, max_size=16, unique_by=lambda k: k[0]).map(
    lambda knots: Calibration(tuple(sorted(s for s, _ in knots)), tuple(sorted(c for _, c in knots)))
)
points = st.lists(st.builds(RiskPoint, shares, shares, shares), min_size=1, max_size=4).map(
    lambda found: tuple(sorted(found, key=lambda point: -point.coverage))
)
risks = st.lists(st.builds(Risk, st.sampled_from(REGIMES), st.floats(1e-9, 1e9), shares, points), max_size=3).map(tuple)

TINY = 1e-80
"""A largest size or a budget that a bundle may have; parts of it are not 0."""


@st.composite
def ranges(draw: st.DrawFn, largest: float) -> tuple[float, float]:
    low, high = sorted(draw(st.tuples(st.floats(0.0, largest), st.floats(0.0, largest, exclude_min=True))))
    return low, max(high, TINY)


@st.composite
def indexed(draw: st.DrawFn, bundle: Bundle) -> Bundle:
    """The bundle with an index of some of its models."""
    numbers = draw(st.lists(st.integers(0, len(bundle.models) - 1), max_size=4, unique=True)) if bundle.models else []
    of = {bundle.candidate(number): number for number in numbers}
    index = build_index([bundle.empty, *of], QueryRegion(bundle.promise.sizes, bundle.promise.covered))
    return replace(bundle, stored=StoredIndex(tuple(of[c] for c in index.candidates[1:]), index.intervals))


@st.composite
def bundles(draw: st.DrawFn) -> Bundle:
    units = draw(st.lists(names, min_size=1, max_size=63, unique=True))
    f = draw(st.integers(max(len(units) - 3, (len(units) + 1) // 2), min(len(units), 60)))
    features = units[:f]
    chosen = draw(st.lists(st.permutations(range(f)).map(tuple), max_size=3))
    orders = sorted({order[:k] for order in chosen for k in range(1, min(len(order), 4) + 1)})
    stops_early, sure = draw(st.booleans()), draw(st.none() | st.builds(Confidence, shares, risks))
    models = tuple(
        ModelEntry(
            o,
            draw(scores),
            draw(st.floats(0, 1e6)),
            draw(st.integers(1, 2**26)),
            draw(st.binary(min_size=32, max_size=32)),
            stop=draw(st.floats(0.0)) if stops_early else None,
            calibration=draw(calibrations) if sure else None,
        )
        for o in orders
    )
    classes = draw(labels)
    users = tuple(sum(1 << i for i in range(k, f, len(units) - f)) for k in range(len(units) - f))
    terms = st.lists(cost_functions, min_size=len(units), max_size=len(units)).map(tuple)

    def times(**others: st.SearchStrategy[float]) -> st.SearchStrategy[UnitTimes]:
        return st.builds(UnitTimes, st.just(tuple(units)), st.just(users), terms, cost_functions, **others)

    ratios, quantiles = st.floats(0.0, 1e9), st.floats(0.0, 1.0)
    other = st.none() | times(model_ratio=ratios, quantile=quantiles)
    kinds = st.none() | st.builds(ItemKind, st.integers(0, 64), st.booleans())
    tolerance, n_pairs = draw(st.floats(0.0, 1e9)), draw(st.integers(0, 2**26))
    assumptions = st.builds(
        Assumption, st.just(tolerance), st.just(n_pairs), st.integers(0, n_pairs), st.floats(0.0, 1e9)
    )
    bundle = Bundle(
        BundleSpace(
            tuple(features),
            tuple(draw(st.lists(st.integers(1, 2**14), min_size=f, max_size=f))),
            tuple(classes),
            draw(kinds),
        ),
        BundleTimes.of(
            draw(times()),
            draw(other),
            draw(other),
            draw(st.none() | times(model_ratio=ratios)),
            reference_seconds=draw(st.floats(0.0, 1e9)),
        ),
        Promise(
            sizes=draw(ranges(1e9)),
            budgets=draw(ranges(1e5) | st.just((0.0, inf))),
            alpha=draw(st.floats(1.0, 1e9)),
            tolerance=tolerance,
            slowdown=draw(st.floats(1.0, 1e9)),
            stop_loss=draw(st.floats(0.0, 1.0)),
            scoring=draw(st.text(printable, max_size=190).map("shop.".__add__) | st.just("")),
            assumption=draw(st.none() | assumptions),
        ),
        Prior(draw(st.integers(0, len(classes) - 1)), draw(scores)),
        models,
        identity=draw(identities),
        confidence=sure,
    )
    return draw(indexed(bundle))


@settings(max_examples=draws(30, 100))
@given(bundles())
def test_what_is_written_is_read(bundle: Bundle) -> None:
    assert decode(encode(bundle)) == bundle


@settings(max_examples=draws(30, 100))
@given(bundles(), st.data())
def test_what_is_cut_is_refused(bundle: Bundle, data: st.DataObject) -> None:
    content = encode(bundle)
    length = data.draw(st.integers(0, len(content) - 1))

    refused = False
    with contextlib.suppress(BundleFormatError):
        decode(content[:length])
        refused = True
    assert not refused


@settings(max_examples=draws(60, 200))
@given(
    st.recursive(
        st.one_of(st.none(), st.integers(-9, 9), st.floats(), st.binary(max_size=9), names), st.lists, max_leaves=9
    )
)
def test_stray_values_raise_nothing_but_format_errors(value: Any) -> None:
    for name in DOCUMENT:
        with contextlib.suppress(BundleFormatError):
            assert isinstance(decode(bytes(msgpack.packb(DOCUMENT | {name: value}))), Bundle)
