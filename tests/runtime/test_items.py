"""Sources of items."""

import io
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np
import pytest

from polydom_runtime.exceptions import ItemError
from polydom_runtime.features import common_kind, kind_of
from polydom_runtime.items.json_lines import MAX_LINE_BYTES, json_lines
from polydom_runtime.items.packed import read_packed
from polydom_runtime.items.packing import write_packed
from polydom_runtime.items.sources import (
    MOST_READ,
    UNLABELLED,
    UNREADABLE,
    Arrived,
    Sample,
    bare_items,
    iterate,
    kept,
    load_object,
    readable,
    samples,
)

ITEMS = [np.arange(3, dtype=np.int16), np.arange(5, dtype=np.int16)]


def test_packed_items_come_back(tmp_path: Path) -> None:
    write_packed(tmp_path / "items.npz", ITEMS, ["a", "b"])
    items, labels, *_ = read_packed(tmp_path / "items.npz")

    assert [x.tolist() for x in items] == [x.tolist() for x in ITEMS]
    assert labels == ["a", "b"]


def test_packed_pictures_keep_their_shape(tmp_path: Path) -> None:
    write_packed(tmp_path / "items.npz", [np.zeros((2, 3)), np.ones((4, 1))])
    items, labels, *_ = read_packed(tmp_path / "items.npz")

    assert [x.shape for x in items] == [(2, 3), (4, 1)]
    assert labels is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"signal": np.zeros(4)}, "signal and offset. Got signal."),
        ({"signal": np.zeros(4), "offset": [0, 5]}, "end within"),
        ({"signal": np.zeros(4), "offset": [0, 3, 2]}, "must rise"),
        ({"signal": np.zeros(4), "offset": [-1, 2]}, "one integer more"),
        ({"signal": np.zeros(4), "offset": [0.0, 2.0]}, "one integer more"),
        ({"signal": np.zeros(4), "offset": [0, 4], "label": [1, 2]}, "as many as items"),
        ({"signal": np.zeros(4), "offset": [0, 4], "weight": [1.0, 2.0]}, "array weight .* as many as items"),
        ({"signal": np.zeros(4), "offset": [0, 4], "shape": [[3, 2]]}, "fit the items"),
        ({"signal": np.zeros(4), "offset": [0, 4], "shape": [[4.0]]}, "fit the items"),
        ({"signal": np.float64(1.0), "offset": [0, 4]}, "plain arrays"),
        ({"signal": np.zeros(4), "offset": [0, 4], "label": np.int64(1)}, "plain arrays"),
        ({"signal": np.zeros(4), "offset": [0, 4], "label": np.array([1 << 24], "<i4").view("<U1")}, "plain arrays"),
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


LARGE = (
    b"\x93NUMPY\x01\0\x80\0" + f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({1 << 50},)}}".ljust(128).encode()
)


@pytest.mark.parametrize("entry", [b"no array", LARGE])
def test_archive_of_other_entries_is_refused(tmp_path: Path, entry: bytes) -> None:
    """Such as a file that is no array, and an array that claims to be larger than the memory."""
    with ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr(ZipInfo("signal.npy"), entry)

    with pytest.raises(ItemError, match=r"packed \.npz"):
        read_packed(tmp_path / "bad.npz")


def test_array_of_an_impossible_shape_is_refused_without_a_warning(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """The product of its lengths is no integer that numpy has."""
    with ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr(ZipInfo("signal.npy"), LARGE.replace(b"(%d,)" % (1 << 50), b"(2, %d)" % (1 << 63)))

    with pytest.raises(ItemError, match=r"packed \.npz"):
        read_packed(tmp_path / "bad.npz")
    assert not recwarn.list


def test_archive_that_is_packed_in_an_unknown_way_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", signal=np.zeros(4), offset=[0, 4])
    data = bytearray((tmp_path / "bad.npz").read_bytes())
    data[data.index(b"PK\1\2") + 10] = 99
    (tmp_path / "bad.npz").write_bytes(data)

    with pytest.raises(ItemError, match=r"packed \.npz"):
        read_packed(tmp_path / "bad.npz")


def labelled() -> list[Any]:
    return [([1.0], "a"), [2.0], ([3.0], None)]


def test_function_may_give_items_with_and_without_labels() -> None:
    assert list(iterate("tests.runtime.test_items:labelled")) == [
        *(([1.0], "a"), ([2.0], UNLABELLED), ([3.0], UNLABELLED))
    ]


def test_json_lines_are_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"[1, 2]\n\n[[3], [4]]\n")))

    assert [item.tolist() for item, _ in iterate("-")] == [[1.0, 2.0], [[3.0], [4.0]]]


BAD_LINES = [
    b"hello",
    b"[1,",
    b'{"a": 1}',
    b"3.5",
    b"null",
    b"true",
    b'["a"]',
    b'["1"]',
    b'[[1], ["2"]]',
    b"[1, true]",
    b"[1, [2, 3]]",
    b"\xff\xfe",
    b"[" * 100_000,
    b"[1" + b"0" * 400 + b"]",
]


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: repr(line[:8]))
def test_line_that_is_no_item_does_not_end_the_stream(line: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    found = list(json_lines(io.BytesIO(b"[1]\n" + line + b"\n[2]")))

    assert [found[0].tolist(), found[1], found[2].tolist()] == [[1.0], UNREADABLE, [2.0]]
    said = capsys.readouterr().err
    assert said.startswith("Line 2 must be a JSON array of numbers, or a text. ")
    assert said.count("\n") == 1
    assert said.isascii()


def test_line_without_an_end_is_one_bad_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polydom_runtime.items.json_lines.MAX_LINE_BYTES", 1000)
    found = list(json_lines(io.BytesIO(b"[" + b"1," * 5000 + b"1]\n[2]\n" + b"[" * 5000)))

    assert MAX_LINE_BYTES >= 1 << 20
    assert [x if x is UNREADABLE else x.tolist() for x in found] == [UNREADABLE, [2.0], UNREADABLE]


def test_many_bad_lines_are_shown_a_few_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(json_lines(io.BytesIO(b"x\n" * 500))) == [UNREADABLE] * 500
    assert len(capsys.readouterr().err.splitlines()) == 10


def test_texts_are_items() -> None:
    assert list(json_lines(io.BytesIO('"für"\n""\n'.encode()))) == ["für", ""]


class Folder(io.BytesIO):
    """As standard input is with ``< folder``."""

    def readline(self, size: int | None = -1, /) -> bytes:
        raise IsADirectoryError("Is a directory")


def test_stream_that_cannot_be_read_is_an_error() -> None:
    closed = io.BytesIO()
    closed.close()
    for stream in (None, closed, Folder()):
        with pytest.raises(ItemError, match="Standard input must be"):
            list(json_lines(stream))


def one_window() -> np.ndarray[Any, Any]:
    return np.arange(9.0)


def all_items_and_labels() -> tuple[list[Any], list[str]]:
    return [one_window()] * 3, ["a", "b", "c"]


def a_text() -> str:
    return "abc"


def nothing() -> None:
    return None


def by_name() -> dict[str, Any]:
    return {"a": one_window()}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("one_window", r"iterable of items.*one array of shape \(9,\)"),
        ("all_items_and_labels", "Got all items and all labels"),
        ("a_text", "iterable of items.*Got a text"),
        ("nothing", "iterable of items.*Got nothing"),
        ("by_name", "iterable of items.*Got a dictionary"),
    ],
)
def test_function_that_gives_something_else_than_items_is_refused(name: str, said: str) -> None:
    for read in (iterate, samples):
        with pytest.raises(ItemError, match=said):
            list(read(f"tests.runtime.test_items:{name}"))


def sensor() -> Iterator[Any]:
    """Yield items without end, as the manual says of a sensor."""
    yield None
    while True:
        yield (np.arange(3.0), "calm")


def many() -> list[Any]:
    return [np.arange(3.0)] * (MOST_READ + 1)


def many_in_turn() -> Iterator[Any]:
    yield from many()


@pytest.mark.parametrize(
    ("name", "count"), [("sensor", MOST_READ), ("many_in_turn", MOST_READ), ("many", MOST_READ + 1)]
)
def test_items_to_measure_on_are_the_first_ones_of_a_source_that_may_not_end(
    name: str, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    found = readable(f"tests.runtime.test_items:{name}")

    assert [item.tolist() for item in found] == [[0.0, 1.0, 2.0]] * count
    assert ("may be endless: its first 1,000 items are used" in caplog.text) is (name != "many")


def test_packed_items_to_measure_on_are_read_as_a_whole(tmp_path: Path) -> None:
    write_packed(tmp_path / "items.npz", many())

    assert len(readable(str(tmp_path / "items.npz"))) == MOST_READ + 1


def grouped() -> list[Any]:
    return [([1.0], "a", 7), ([2.0], "b"), [3.0], ([4.0], "a", None, 0.5)]


def test_samples_have_labels_groups_and_weights(tmp_path: Path) -> None:
    assert samples("tests.runtime.test_items:grouped") == [
        ([1.0], "a", 7, None),
        ([2.0], "b", None, None),
        Sample([3.0]),
        ([4.0], "a", None, 0.5),
    ]
    write_packed(tmp_path / "items.npz", ITEMS, ["a", "b"], groups=[5, 5], weights=[0, 2.5])
    assert [s[1:] for s in samples(str(tmp_path / "items.npz"))] == [("a", 5, 0.0), ("b", 5, 2.5)]


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (np.zeros((3, 2), dtype=np.int16), (2, False)),
        (np.zeros(3, dtype=np.complex64), (1, True)),
        ([1, 2.5], (1, False)),
        ([[1], [2, 3]], (2, False)),
        ((np.zeros(3), np.zeros((4, 4))), (2, False)),
        ([1j], (1, True)),
        ("text", None),
        (["a", "b"], None),
        ({"x": np.zeros(3)}, None),
        ([], None),
        (3.5, (0, False)),
        (1j, (0, True)),
        (np.float32(3.5), (0, False)),
        (np.zeros((0, 3)), None),
        (np.array([None]), None),
        (np.array(["a"]), None),
        (None, None),
    ],
    ids=str,
)
def test_arrays_and_lists_have_a_kind(item: Any, kind: tuple[int, bool] | None) -> None:
    assert kind_of(item) == kind


@pytest.mark.parametrize(
    ("other", "got"),
    [
        (np.zeros((30, 3), dtype=np.float32), r"Got an array of float32 of shape \(30, 3\)"),
        (np.ones(30, dtype=np.complex64), r"Got an array of complex64 of shape \(30,\)"),
        ([[1.0, 2.0], [3.0]], r"Got \[\[1.0, 2.0\], \[3.0\]\]"),
    ],
    ids=["pictures", "complex", "ragged"],
)
def test_items_of_several_kinds_are_refused_by_number(other: Any, got: str) -> None:
    with pytest.raises(ItemError, match=f"Item 2 must be an array of 1 dimension, as item 1 is. {got}"):
        common_kind(["text", np.zeros(4), other, np.zeros(5)])


def test_items_that_are_no_arrays_may_be_anything() -> None:
    assert common_kind(["text", {"a": 1}, None, object()]) is None
    assert common_kind(["text", [1, 2], np.zeros(3, dtype=bool)]) is None
    assert common_kind([[1, 2], np.zeros(3, dtype=bool)]) == (1, False)


@pytest.mark.parametrize(
    "pair",
    [
        (np.arange(3, dtype=">i2"), np.arange(3, dtype="<i2")),
        (np.arange(3, dtype="<f8"), np.arange(3, dtype=">f8")),
        (np.array(["ab", "c"]), np.array(["abc"])),
    ],
)
def test_orders_of_bytes_and_lengths_of_texts_may_differ(pair: Any, tmp_path: Path) -> None:
    write_packed(tmp_path / "items.npz", pair)

    found = read_packed(tmp_path / "items.npz").items
    assert [item.tolist() for item in found] == [item.tolist() for item in pair]


def test_items_of_two_types_are_not_packed(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match=r"of one type\. Item 0 is int16 .* item 1 is int32"):
        write_packed(tmp_path / "items.npz", [np.arange(3, dtype=np.int16), np.arange(3, dtype=np.int32)])


def test_what_a_source_fills_again_is_copied_also_in_tuples_and_dicts() -> None:
    wave = np.zeros(3)
    items: list[Any] = [wave, [0.0], (wave, "Hz"), {"wave": wave}, OrderedDict(level=0.0), {"pair": (wave, 1)}]
    before = [str(item) for item in items]
    copies = [kept(item) for item in items]

    wave[:], items[1][0], items[4]["level"] = 7.0, 7.0, 7.0
    items[3]["more"] = 7.0
    assert [str(copy) for copy in copies] == before
    assert kept("text") == "text"


@pytest.mark.parametrize("labels", [[1, "1"], [True, 1], ["a", None], ["a"], [object(), object()]])
def test_labels_of_several_kinds_are_not_packed(labels: list[Any], tmp_path: Path) -> None:
    with pytest.raises(ItemError, match="one label for each item, all numbers"):
        write_packed(tmp_path / "items.npz", ITEMS, labels)
    assert not (tmp_path / "items.npz").exists()


@pytest.mark.parametrize("source", ["no_such_file.npz", "json:__name__", "no_such_module:items"])
def test_source_that_gives_no_items_is_refused(source: str) -> None:
    with pytest.raises(ItemError, match="must"):
        list(iterate(source))


@pytest.mark.parametrize("reference", ["nothing", "no_such_module:x", "json:no_such_name", ":x"])
def test_reference_that_leads_nowhere_is_refused(reference: str) -> None:
    with pytest.raises(ItemError, match=r"must be MODULE:NAME|There must be a module|must have the name"):
        load_object(reference)


def in_every_form() -> list[Any]:
    x, y, z = np.arange(3.0), np.arange(4.0), np.arange(5.0)
    return [x, None, (y, "a"), (z, "b", 1), (x, "b", None, 2.0), (Arrived(y, 7), "a", 1), Arrived(z, 8), (x, None)]


def test_all_readers_take_the_same_items_in_every_form() -> None:
    """What a bundle can be built on can be measured and answered, too."""
    source = f"{__name__}:in_every_form"
    sizes, found = [3, 4, 5, 3, 4, 5, 3], samples(source)

    assert [len(item) for item in readable(source)] == sizes
    assert [len(item) for item in bare_items(iterate(source))] == sizes
    assert [len(sample.item) for sample in found] == sizes
    labels = [UNLABELLED, "a", "b", "b", "a", UNLABELLED, UNLABELLED]
    assert [sample.label for sample in found] == labels
    assert [label for item, label in iterate(source) if item is not None] == labels
    assert [(sample.group, sample.weight) for sample in found[2:5]] == [(1, None), (None, 2.0), (1, None)]
