"""Reference items, as they are stored in a bundle and read from it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polydom_runtime import BundleFormatError
from polydom_runtime.bundles.index_file import decode, encode
from polydom_runtime.bundles.references import MAX_BYTES, References, restored, stored
from tests.bundle_parts import floats, index_of
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


def one(item: Any, n: int = 1) -> dict[str, Any]:
    rows = [n, [[6, floats(*[1.0] * 6)]] * n]
    about = {"number_type": "", "unsteady": [], "seen": b""}
    return {"items": [n, [item] * n], "rows": rows, "limits": [6, floats(*[1.0] * 6)], **about}


@pytest.mark.parametrize(
    "field",
    [
        None,
        [1],
        *({**one(["value", 1]), name: []} for name in ("items", "rows", "limits")),
        one(["value"]),
        one(["value", None]),
        one(["array", "|O", [1], b"12345678"]),
        one(["array", "<f8", [2], b"12345678"]),
        one(["array", "<f8", [-1, -1], b"12345678"]),
        one(["array", "<f8", [1], "12345678"]),
        one(["list", "a"]),
        one(["value", 1], 9),
        *({**one(["value", 1]), "rows": [1, [[6, floats(*[x] * 6)]]]} for x in (np.nan, np.inf, 1e300)),
        {**one(["value", 1]), "rows": [1, [[5, floats(*[1.0] * 5)]]]},
        {**one(["value", 1]), "limits": [6, floats(*[-1.0] * 6)]},
        {**one(["value", 1]), "rows": [1, [[1, floats(1.0)]]], "limits": [1, floats(1.0)]},
        *({**one(["value", 1]), "number_type": name} for name in ("<f1", "float32", 3, "|O")),
        *({**one(["value", 1]), "unsteady": [1, [name]]} for name in ("no such feature", 1)),
        one(["value", "a" * MAX_BYTES]),
        one(["list", *[1] * MAX_BYTES]),
        one(["array", "<f8", [0, *[MAX_BYTES] * 5], b""]),
    ],
)
def test_unsound_references_are_refused(field: Any) -> None:
    assert decode(index_of(make_bundle()[0], references=one(["value", 1]))).references.items == (("value", 1),)

    with pytest.raises(BundleFormatError, match=r"^references"):
        decode(index_of(make_bundle()[0], references=field))
