"""The codec: records come back from their documents, and whatever else a document holds is refused by its place."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import msgpack
import pytest

from polydom_runtime.codec.codec import Codec, unpack, unpack_json
from polydom_runtime.codec.forms import MAX_ROWS
from polydom_runtime.codec.marks import NO_CONTROL, NOT_STORED, As, In, Once, Size, Text, Unsound
from tests.bundle_parts import floats

T = TypeVar("T")


class Point(NamedTuple):
    x: Annotated[float, In(0.0, math.inf)]
    pair: tuple[float, float] = (0.0, 0.0)
    colour: Literal["red", "blue"] = "red"

    def _check(self) -> None:
        if self.x == 13.0:
            raise Unsound("not be unlucky", self.x)


@dataclass(frozen=True)
class Figure(Generic[T]):
    title: T


@dataclass(frozen=True)
class Drawing:
    name: str
    points: Annotated[tuple[Point, ...], Size(0, 1000)] = ()
    lines: tuple[Annotated[tuple[int, ...], Size(1, 3)], ...] = ()
    sizes: Mapping[str, Annotated[int | float, In(0, 9)]] = field(default_factory=dict)
    scale: Annotated[float | None, In(0.0, 1.0)] = None
    note: Annotated[str, Text(5, 0, cleaned=True)] = ""
    code: Annotated[str, Text(9, 0, "[a-z]+")] = ""
    sha256: Annotated[bytes, Size(0, 2)] = b""
    folded: bool = False
    anything: Any = None
    figure: Figure[Annotated[str, Text(5, 0, NO_CONTROL, "a short title")]] = Figure("")
    common: Annotated[tuple[str, ...], Once("words", 2)] = ()
    hexadecimal: Annotated[int, As(lambda raw: int(raw, 16), hex)] = 0
    path: str = field(default="", metadata=NOT_STORED)


FULL = Drawing(
    "a house",
    (Point(1.0), Point(2.5, (1.0, -1.0), "blue"), Point(math.inf)),
    ((1, 2), (3,), (1, 2, 3)),
    {"a": 1, "b": 0.5},
    0.5,
    "n",
    "abc",
    b"\0",
    True,
    [1, {"b": None}],
    Figure("t\u202e"),
    ("x", "y"),
    255,
)
CODEC, PLAIN = Codec(Drawing), Codec(Drawing, plain=True)


@pytest.mark.parametrize("codec", [CODEC, PLAIN], ids=["packed", "plain"])
@pytest.mark.parametrize("drawing", [FULL, Drawing("empty")], ids=["full", "empty"])
def test_records_come_back(codec: Codec[Drawing], drawing: Drawing) -> None:
    document = codec.write(drawing)

    assert codec.read(unpack(msgpack.packb(document))) == drawing
    assert "path" not in document


def test_columns_are_packed_and_equal_values_stored_once() -> None:
    points = CODEC.write(Drawing("", (Point(1.0), Point(2.0))))["points"]

    assert points == [2, {"x": floats(1.0, 2.0), "pair": {"all": floats(0.0, 0.0)}, "colour": {"all": "red"}}]


def test_a_plain_document_has_lists() -> None:
    point = {"x": 1.0, "pair": [0.0, 0.0], "colour": "red"}

    assert PLAIN.write(Drawing("", (Point(1.0),)))["points"] == [point]
    assert PLAIN.read({**PLAIN.write(FULL), "points": [{**point, "x": 1}]}).points == (Point(1.0),)


def test_what_is_none_may_be_missing_in_a_sparse_document() -> None:
    document = PLAIN.write(FULL)
    del document["scale"]

    assert Codec(Drawing, plain=True, sparse=True).read(document).scale is None
    with pytest.raises(Unsound):
        PLAIN.read(document)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": ""}, "name must be a text of 1 to 200 printable characters. Got ''."),
        ({"name": "\x1b"}, "name must be a text of 1 to 200 printable characters. Got '\\x1b'."),
        ({"name": 7}, "name must be a text of 1 to 200 printable characters. Got 7."),
        ({"code": "ABC"}, "code must be empty or a text that matches [a-z]+. Got 'ABC'."),
        ({"figure": {"title": "\x9b"}}, "figure.title must be a short title. Got '\\x9b'."),
        ({"scale": 1}, "scale must be a float from 0 to 1. Got 1."),
        ({"scale": math.nan}, "scale must be a float from 0 to 1. Got nan."),
        ({"sizes": {"a": 10}}, "sizes.a must be an integer from 0 to 9. Got 10."),
        ({"sizes": {"a": None}}, "sizes.a must be of type int or float. Got None."),
        ({"sizes": []}, f"sizes must be a map of 0 to {MAX_ROWS} entries. Got []."),
        ({"sha256": b"123"}, "sha256 must be 0 to 2 bytes. Got b'123'."),
        ({"folded": 0}, "folded must be of type bool. Got 0."),
        ({"common": 1}, "common must be the number of one of the 1 rows of once.words. Got 1."),
        ({"once": {"words": [3, {"all": []}]}}, "once.words must have 0 to 2 entries. Got 3."),
        ({"once": {}}, "once must be a map of words. Got one without 'words'."),
        ({"lines": [1, [[4, [1] * 4]]]}, "lines[0] must have 1 to 3 entries. Got 4."),
        (
            {"lines": [2, [[2, [1, 2]], [1, ["x"]]]]},
            "lines[1][0] must be an integer from -9223372036854775808",
        ),
        ({"lines": [1 << 40, {"all": [1, [1]]}]}, f"lines must have 0 to {MAX_ROWS} entries. Got {1 << 40}."),
        ({"lines": [0, []]}, f"lines must have 0 to {MAX_ROWS} entries. Got 0."),
        ({"points": {}}, "points must be a list of 2. Got {}."),
        ({"points": [1, []]}, "points must be a map of x, pair, colour. Got []."),
        ({"more": 1}, "It must be a map of name, points, lines"),
    ],
)
def test_what_is_not_as_it_must_be_is_refused_by_its_place(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(Unsound) as caught:
        CODEC.read({**CODEC.write(FULL), **changes})

    assert caught.value.says("It").startswith(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"x": floats(1.0, 2.0, -1.0)}, "points[2].x must be a float of at least 0. Got -1.0."),
        ({"x": floats(1.0, 13.0, 2.0)}, "points[1] must not be unlucky. Got 13.0."),
        ({"x": floats(1.0)}, "points.x must be bytes of 3 float64 numbers. Got 8 bytes."),
        ({"x": {"all": -1.0}}, "points.x must be a float of at least 0. Got -1.0."),
        ({"pair": floats(0.0, 0.0, 0.0, math.nan, 0.0, 0.0)}, "points[1].pair[1] must be a float from"),
        ({"colour": ["red", "green", "blue"]}, "points[1].colour must be one of red, blue. Got green."),
        ({"colour": {"all": "green"}}, "points.colour must be one of red, blue. Got green."),
    ],
)
def test_a_row_of_a_table_is_named(changes: dict[str, Any], said: str) -> None:
    document = CODEC.write(FULL)
    document["points"][1] |= changes

    with pytest.raises(Unsound) as caught:
        CODEC.read(document)

    assert caught.value.says("It").startswith(said)


def test_a_text_that_need_not_be_sound_is_cleaned_and_cut() -> None:
    assert CODEC.read({**CODEC.write(FULL), "note": "\x1b[2Jlong"}).note == "?[2Jl"


def test_what_is_known_of_some_records_only_is_not_written() -> None:
    class Entry(NamedTuple):
        score: float | None

    class Entries(NamedTuple):
        entries: tuple[Entry, ...]

    with pytest.raises(Unsound) as caught:
        Codec(Entries).write(Entries((Entry(1.0), Entry(None))))

    assert caught.value.says("It") == "entries.score must be known of each entry or of none. Got 1 of 2."


@pytest.mark.parametrize("kind", [complex, list[int], tuple[int, str]])
def test_a_type_that_cannot_be_stored_is_a_mistake(kind: Any) -> None:
    with pytest.raises(TypeError, match="must be"):
        Codec(kind).write(kind)


@pytest.mark.parametrize(
    "text", [b"[]", b"{", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": %s}' % (b"1" * 19), b"[" * 100_000, b"\xff"]
)
def test_json_of_another_form_is_refused(text: bytes) -> None:
    with pytest.raises(Unsound):
        unpack_json(text)
