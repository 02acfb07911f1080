"""Reference items, as they are stored in a bundle and read from it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polydom_runtime import BundleFormatError
from polydom_runtime.bundles import schema
from polydom_runtime.bundles.decoding import decode
from polydom_runtime.bundles.encoding import encode
from polydom_runtime.bundles.references import MAX_BYTES, References, decoded, restored, stored
from tests.runtime.conftest import make_bundle


@pytest.mark.parametrize(
    "item",
    [
        np.arange(6, dtype=">i2").reshape(2, 3)[:, ::2],
        np.float32(3.5) * np.ones((2, 1, 2), dtype=np.float32),
        np.zeros(0),
        np.array([True, False]),
        b"\xff\0",
        "für\0",
        "",
        3,
        -2.5,
        float("nan"),
        True,
        [1, 2.5, False],
        (1.0, 2.0),
        [],
        (),
    ],
)
def test_items_are_stored_as_they_are(item: Any) -> None:
    kept = stored(item)
    assert kept is not None
    bundle, _ = make_bundle()
    width = sum(bundle.space.widths)
    references = References((kept,), ((1.5,) * width,), (np.inf,) * width)
    again = decode(encode(replace(bundle, references=references))).references

    found = restored(again.items[0])
    assert type(found) is type(item)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(item))
    assert (again.rows, again.limits) == (references.rows, references.limits)


@pytest.mark.parametrize(
    "item",
    [object(), None, 1j, [1, "a"], {"a": 1}, np.array([None]), np.zeros(1 << 20), "a" * MAX_BYTES, 1 << 70, "\ud800"],
)
def test_other_items_are_not_stored(item: Any) -> None:
    assert stored(item) is None


@pytest.mark.parametrize(
    "field",
    [
        None,
        [1],
        [[], b"", b""],
        [[["value", 1]], b"", b""],
        [[["value"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["value", None]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["array", "|O", [1], b"12345678"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["array", "<f8", [2], b"12345678"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["array", "<f8", [-1, -1], b"12345678"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["array", "<f8", [1], "12345678"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["list", "a"]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["value", 1]] * 9, schema.pack_floats([1.0] * 9), schema.pack_floats([1.0])],
        [[["value", 1]], schema.pack_floats([np.nan]), schema.pack_floats([1.0])],
        [[["value", 1]], schema.pack_floats([np.inf]), schema.pack_floats([1.0])],
        [[["value", 1]], schema.pack_floats([1e300]), schema.pack_floats([1.0])],
        [[["value", 1]], schema.pack_floats([1.0]), schema.pack_floats([-1.0])],
        [[["value", "a" * MAX_BYTES]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["list", *[1] * MAX_BYTES]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
        [[["array", "<f8", [0, *[MAX_BYTES] * 5], b""]], schema.pack_floats([1.0]), schema.pack_floats([1.0])],
    ],
)
def test_unsound_references_are_refused(field: Any) -> None:
    with pytest.raises(BundleFormatError):
        decoded({"references": field}, 1)
