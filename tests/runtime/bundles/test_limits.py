"""Limits of what an index may make a node lay out, of files that are small themselves."""

import hashlib
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime import CostFunction, Feature, FeatureSpace, Predictor, Seams
from polydom_runtime.bundles import checks
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Interval
from polydom_runtime.bundles.index_file import decode, encode, load_bundle
from polydom_runtime.bundles.model_entry import MODEL_FOLDER, ModelEntry
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.policy import anytime
from polydom_runtime.policy.states import reachable
from tests.bundle_parts import bundle_of

NAMES = tuple(f"f{i}" for i in range(60))


def entry(order: Sequence[int], size_bytes: int = 1) -> ModelEntry:
    return ModelEntry(tuple(order), 0.6, 1e-6, size_bytes, hashlib.sha256(b"x").digest())


def with_models(orders: Sequence[Sequence[int]], **others: Any) -> Bundle:
    return bundle_of(
        names=NAMES, costs=[CostFunction.of(1e-6)] * len(NAMES), models=tuple(map(entry, orders)), **others
    )


CHAIN = [tuple(range(k)) for k in range(1, len(NAMES) + 1)]
PAIRS = [(i,) for i in range(60)] + list(permutations(range(60), 2))
TRIPLES = [*PAIRS, *islice(((*pair, i) for pair in PAIRS[60:] for i in range(60) if i not in pair), 6340)]
ENDS = [*CHAIN[:54], *(CHAIN[53] + end for k in range(1, 7) for end in permutations(range(54, 60), k))]
MANY = tuple(Interval(1, k * 1e-4, 1.0) for k in range(3000))


@pytest.mark.parametrize(
    ("bundle", "message"),
    [
        (with_models([], widths=(1 << 24,) * 60), r"widths .* 1048576 together. Got 1006632960"),
        (with_models(CHAIN, widths=(1 << 14,) * 60), r"input columns .* 8388608 together"),
        (replace(with_models([]), models=(entry((0,), 1 << 30), entry((1,)))), "sizes of all models"),
        (with_models(ENDS, sequences=tuple(ENDS[-720:])), "lengths of all sequences"),
        (with_models(TRIPLES, shipped=tuple(range(100))), "models times the size cells"),
        (with_models(ENDS, shipped=tuple(range(1000, 2000))), "features of all candidates"),
        (with_models(PAIRS, shipped=(0,), intervals=MANY, sizes=(0.0, 1.0)), "candidates of all ranges"),
    ],
    ids=["widths", "columns", "bytes", "sequences", "cells", "state cells", "rows"],
)
def test_a_product_of_many_small_numbers_is_refused(bundle: Bundle, message: str) -> None:
    with pytest.raises(BundleFormatError, match=message):
        decode(encode(bundle))


def test_many_models_of_few_candidates_are_let_in() -> None:
    bundle = with_models(TRIPLES)

    assert len(decode(encode(bundle)).models) == 9940


def rising(orders: Sequence[Sequence[int]]) -> Bundle:
    """Return a bundle in which longer sets score higher, all within the deadline."""
    bundle = with_models(orders, sizes=(1.0, 1e9), budgets=(1e-2, 1e-2))
    models = tuple(m._replace(accuracy=0.5 + 0.005 * len(m.order)) for m in bundle.models)
    return replace(bundle, models=models)


def planned(bundle: Bundle) -> Predictor:
    space = FeatureSpace([Feature(name, lambda x: [1.0]) for name in NAMES], size=len)
    return Predictor(bundle, space, seams=Seams(run_of=lambda number: lambda: 0))


def test_plans_of_many_models_of_many_features_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Already at the first state, which all models can follow."""
    monkeypatch.setattr(anytime, "MAX_STATES", 1)
    bundle = rising(ENDS[:600])

    tracemalloc.start()
    planned(bundle)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 80e6


def test_plans_are_the_same_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = rising([*CHAIN[:3], *PAIRS[1:30]])
    whole = planned(bundle)
    monkeypatch.setattr(anytime, "BLOCK", 1)

    single = planned(bundle)

    assert entries(single) == entries(whole)
    assert len(entries(whole)) > 30


def entries(predictor: Predictor) -> list[Any]:
    """Return the mask of each state, and the rows of its decision table with the features of the moves."""
    states = reachable(predictor._plans.hot.root)
    tables = [state.rows.entries for state in states]
    return [
        (state.mask, None if e is None else (e.stops.tolist(), e.ends.tolist(), [e.moves[k].feature for k in e.chosen]))
        for state, e in zip(states, tables, strict=True)
    ]


def test_models_that_do_not_fit_into_memory_are_not_read(bundle_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [file.stat().st_size for file in (bundle_folder / MODEL_FOLDER).iterdir()]
    monkeypatch.setattr(checks, "memory_bytes", lambda: 2 * sum(sizes) - 2)
    (bundle_folder / MODEL_FOLDER / "0000.onnx").unlink()

    with pytest.raises(BundleFormatError, match="half of this machine's memory"):
        load_bundle(bundle_folder)
