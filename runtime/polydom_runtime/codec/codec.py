"""Records from and to documents of plain values, by the annotations of their fields.

A record (a dataclass or a named tuple) is a map of its fields. A tuple of records is stored by column: its length, and
a map with a column for each field, of floats as little-endian float64 bytes. A column whose values are all equal is
``{"all": value}``, and the fields that `Once` marks are numbers of rows of a table. So a record is read in a few calls,
and a document is hardly larger than its numbers. A `plain` document, such as JSON, has lists in place of columns.

Rules between the fields of a record are in its method ``_check``, which raises `Unsound`.

Documents are msgpack or JSON, which are decoded strictly and within bounds before anything in them is used.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property, reduce
from itertools import count
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin

import msgpack

from polydom_runtime.codec import forms
from polydom_runtime.codec.forms import FINITE, INTEGERS, Form, Known
from polydom_runtime.codec.marks import As, In, Once, Size, Text, Unsound

ANY_SIZE = Size(0, forms.MAX_ROWS)

ANY_TEXT, ANYTHING = Text(), Form(lambda raw, _: raw)

Marks = Mapping[type, Any]
EMPTY: Marks = {}
T = TypeVar("T")


class Codec(Generic[T]):
    """Reads and writes records of one type, and all that is in them. Its forms are made at the first use.

    `plain`: whether documents have lists in place of columns. `sparse`: whether what is None may be missing in them.
    """

    def __init__(self, kind: type[T], *, plain: bool = False, sparse: bool = False) -> None:
        self._kind, self._plain, self._sparse = kind, plain, sparse
        self._forms: dict[Any, Form] = {}
        self._tables: dict[str, Form] = {}

    @cached_property
    def _form(self) -> Form:
        return self._of(self._kind)

    def read(self, document: Mapping[str, Any]) -> T:
        """Return the record that a document holds.

        Raises `Unsound` if it holds anything else.
        """
        form, rest, way = self._form, dict(document), ["once"]
        known: Known = {}
        if self._tables:
            try:
                tables = forms.fields_of(rest.pop("once", None), self._tables)
                for name, rows in self._tables.items():
                    way = ["once", name]
                    known[name] = rows.read(tables[name], known)
            except Unsound as e:
                raise e.within(*way) from e
        record: T = form.read(rest, known)
        return record

    def write(self, record: T) -> dict[str, Any]:
        """Return the document of a record; the inverse of `read`.

        Raises `Unsound` if something is known of some records of a tuple only.
        """
        form, known = self._form, Known((name, []) for name in self._tables)
        document: dict[str, Any] = form.write(record, known)
        if self._tables:
            document["once"] = tables = {}
            for name, rows in self._tables.items():
                try:
                    tables[name] = rows.write(known[name], {})
                except Unsound as e:
                    raise e.within("once", name) from e
        return document

    def _of(self, kind: Any, marks: Marks = EMPTY) -> Form:
        """Return the form of a type, with the marks of the types around it."""
        if marks or kind not in self._forms:
            form = self._made(kind, marks)
            return form if marks else self._forms.setdefault(kind, form)
        return self._forms[kind]

    def _made(self, kind: Any, marks: Marks) -> Form:
        if get_origin(kind) is Annotated:
            kind, marks = kind.__origin__, {**marks, **{type(mark): mark for mark in kind.__metadata__}}
        if by_hand := marks.get(As):
            return Form(lambda raw, _: by_hand.read(raw), lambda value, _: by_hand.write(value))
        if once := marks.get(Once):
            if once.table not in self._tables:
                inner = self._of(kind, {type_: mark for type_, mark in marks.items() if type_ is not Once})
                self._tables[once.table] = forms.rows(inner, Size(0, once.most))
            return forms.row(once.table)
        origin, parts, size = get_origin(kind), get_args(kind), marks.get(Size, ANY_SIZE)
        if origin is tuple:
            return self._tuple(parts, size, {type_: mark for type_, mark in marks.items() if type_ is not Size})
        if origin in (Union, UnionType):
            if NoneType in parts:
                return forms.OptionalForm(
                    self._of(reduce(or_, (part for part in parts if part is not NoneType)), marks)
                )
            return forms.one_of({part: self._of(part, marks) for part in parts})
        if origin is Literal:
            return forms.literal(parts)
        if origin is not None and issubclass(origin, Mapping):
            return forms.mapping(self._of(parts[0]), self._of(parts[1]), size)
        if kind is float and not self._plain:
            return forms.FloatForm(marks.get(In, FINITE))
        if kind in (int, float):
            return forms.number(kind, marks.get(In, INTEGERS if kind is int else FINITE), self._plain)
        if kind is str:
            return forms.text(marks.get(Text, ANY_TEXT))
        if kind is bytes:
            return Form(lambda raw, _: forms.sized(raw, bytes, "{} bytes", size))
        if kind in (bool, Any):
            return forms.one_of({bool: ANYTHING}) if kind is bool else ANYTHING
        return self._record(origin or kind, parts)

    def _record(self, kind: Any, given: Sequence[Any]) -> Form:
        if not (is_dataclass(kind) or hasattr(kind, "_fields")):
            raise TypeError(f"A field must be of a type that can be stored. Got {kind}.")
        variables = dict(zip(getattr(kind, "__parameters__", ()), given, strict=True))
        stored = fields(kind) if is_dataclass(kind) else ()
        types = {f.name: f.type for f in stored if f.metadata.get("stored", True)} or kind.__annotations__
        parts = {name: self._of(variables.get(type_, type_)) for name, type_ in types.items()}
        return forms.RecordForm(kind, parts, self._sparse)

    def _tuple(self, parts: Sequence[Any], size: Size, marks: Marks) -> Form:
        if {*parts} == {float} and not self._plain:
            return forms.FloatForm(marks.get(In, FINITE), len(parts))
        if parts[-1] is not ...:
            size = Size(len(parts), len(parts))
            if len({*parts}) > 1:
                raise TypeError(f"A tuple of several types must be a record. Got {parts}.")
        return (forms.plain_tuple if self._plain else forms.rows)(self._of(parts[0], marks), size)


MAX_LIST, MAX_MAP, MAX_TEXT_BYTES = 200_000, 1000, 1 << 16
"""The most entries of a list and of a map, and the most bytes of a text."""

MAX_CONTAINERS = 100_000
"""The most lists and maps of a document. An empty one has one byte in the file, and takes seventy in memory."""

MAX_DIGITS = 18
"""The most digits of an integer in JSON: a longer one is no count, and may be no float."""

Document = Mapping[str, Any]
Upgrades = Mapping[int, Callable[[Document], Document]]


def unpack(data: bytes) -> dict[str, Any]:
    """Return the msgpack map with string keys and without extension types that some bytes hold.

    msgpack itself refuses lists in lists more than 1000 deep, and lengths that exceed the data.

    Raises `Unsound` if they hold anything else.
    """
    containers = count(1)

    def counted(container: T) -> T:
        if next(containers) > MAX_CONTAINERS:
            raise ValueError(f"more than {MAX_CONTAINERS} lists and maps")
        return container

    limits = {"max_array_len": MAX_LIST, "max_map_len": MAX_MAP, "max_str_len": MAX_TEXT_BYTES, "max_ext_len": 0}
    try:
        document = msgpack.unpackb(
            data, raw=False, strict_map_key=True, list_hook=counted, object_hook=counted, **limits
        )
    except Exception as e:  # msgpack raises many kinds
        raise Unsound("be well-formed msgpack", repr(e)) from e
    if not isinstance(document, dict):
        raise Unsound("be a map", type(document).__name__)
    return document


def unpack_json(data: bytes) -> dict[str, Any]:
    """Return the map that a JSON text holds.

    Raises `Unsound` if it holds anything else, or a number in it is not finite or too long.
    """
    import json  # only here: a bundle is not in JSON, and a node starts sooner

    try:
        document = json.loads(data, parse_constant=_finite, parse_float=_finite, parse_int=_count)
    except (ValueError, RecursionError) as e:
        raise Unsound("be sound JSON", repr(e)) from e
    if not isinstance(document, dict):
        raise Unsound("be a map", type(document).__name__)
    return document


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"a number that is not finite: {text[:40]}")
    return number


def _count(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def current(document: Document, version: int, again: str, upgrades: Upgrades) -> Document:
    """Return the content of a document of `version`, or of an older one after the upgrades from one to the next.

    Raises `Unsound` if no upgrades lead from its version to this one; `again` says how to make a new file.
    """
    found = document.get("version")
    while type(found) is int and found != version and found in upgrades:
        document, found = upgrades[found](document), found + 1
    check_version(found, version, again)
    return {name: value for name, value in document.items() if name not in ("format", "version")}


def after_line(data: bytes, what: str, magic: bytes, version: int, again: str) -> int:
    """Return the end of the line with format and version at the start of a file.

    `what`: words for such a file.

    Raises `Unsound` if the file does not begin with `magic`, or is of another version.
    """
    line, newline, _ = data[:40].partition(b"\n")
    number = line.removeprefix(magic)
    if not (newline and line.startswith(magic) and number.isdigit()):
        raise Unsound(f"be {what}, which starts with {magic.decode()!r}", line)
    check_version(int(number), version, again)
    return len(line) + 1


def check_version(found: object, version: int, again: str) -> None:
    """Check that a file is of a version; `again` says how to make a new one.

    Raises `Unsound` if it is not.
    """
    if type(found) is not int or found != version:
        raise Unsound(f"have format version {version}", found, f"{again}, or upgrade polydom-runtime.")
