"""Limits of what an index may make a node lay out, of files that are small themselves."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, permutations
from typing import Any

import pytest

from polydom_runtime import CostFunction
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.decoding import decode
from polydom_runtime.bundles.encoding import encode
from polydom_runtime.bundles.index import Interval
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.exceptions import BundleFormatError
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
