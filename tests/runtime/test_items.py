"""Sources of items."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime.exceptions import ItemError
from polydom_runtime.items import UNLABELLED, iterate, load_object, read_packed, write_packed

ITEMS = [np.arange(3, dtype=np.int16), np.arange(5, dtype=np.int16)]


def test_packed_items_come_back(tmp_path: Path) -> None:
    write_packed(tmp_path / "items.npz", ITEMS, ["a", "b"])
    items, labels = read_packed(tmp_path / "items.npz")

    assert [x.tolist() for x in items] == [x.tolist() for x in ITEMS]
    assert labels == ["a", "b"]


def test_packed_pictures_keep_their_shape(tmp_path: Path) -> None:
    write_packed(tmp_path / "items.npz", [np.zeros((2, 3)), np.ones((4, 1))])
    items, labels = read_packed(tmp_path / "items.npz")

    assert [x.shape for x in items] == [(2, 3), (4, 1)]
    assert labels is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"signal": np.zeros(4)}, "Missing: \\['offset'\\]"),
        ({"signal": np.zeros(4), "offset": [0, 5]}, "end within"),
        ({"signal": np.zeros(4), "offset": [0, 3, 2]}, "must rise"),
        ({"signal": np.zeros(4), "offset": [-1, 2]}, "one integer more"),
        ({"signal": np.zeros(4), "offset": [0.0, 2.0]}, "one integer more"),
        ({"signal": np.zeros(4), "offset": [0, 4], "label": [1, 2]}, "as many as items"),
        ({"signal": np.zeros(4), "offset": [0, 4], "shape": [[3, 2]]}, "fit the items"),
    ],
)
def test_impossible_file_is_refused(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)

    with pytest.raises(ItemError, match=message):
        read_packed(tmp_path / "bad.npz")


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", signal=np.array([{}, {}], dtype=object), offset=[0, 2])

    with pytest.raises(ItemError, match="no pickled objects"):
        read_packed(tmp_path / "bad.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip"])
def test_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.npz").write_bytes(content)

    with pytest.raises(ItemError, match=r"packed \.npz"):
        read_packed(tmp_path / "bad.npz")


def labelled() -> list[Any]:
    return [([1.0], "a"), [2.0]]


def test_function_may_give_items_with_and_without_labels() -> None:
    assert list(iterate("tests.runtime.test_items:labelled")) == [([1.0], "a"), ([2.0], UNLABELLED)]


def test_json_lines_are_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("[1, 2]\n\n[[3], [4]]\n"))

    assert [item.tolist() for item, _ in iterate("-")] == [[1.0, 2.0], [[3.0], [4.0]]]


def test_malformed_json_line_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The line is an item without a size, which a node answers with the prior."""
    monkeypatch.setattr("sys.stdin", io.StringIO('[1]\n[1,\n{"a": 1}\n[2]\n'))

    assert [None if item is None else item.tolist() for item, _ in iterate("-")] == [[1.0], None, None, [2.0]]
    assert [line[:6] for line in capsys.readouterr().err.splitlines()] == ["Line 2", "Line 3"]


@pytest.mark.parametrize("source", ["no_such_file.npz", "json:__name__", "no_such_module:items"])
def test_source_that_gives_no_items_is_refused(source: str) -> None:
    with pytest.raises(ItemError, match="must"):
        list(iterate(source))


@pytest.mark.parametrize("reference", ["nothing", "no_such_module:x", "json:no_such_name", ":x"])
def test_reference_that_leads_nowhere_is_refused(reference: str) -> None:
    with pytest.raises(ItemError, match=r"MODULE:NAME|importable"):
        load_object(reference)
