"""How values of each type are read and written, one of them and a column of them; `codec` chooses the forms.

Nothing is executed or allocated before its type and length are checked.
"""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polydom_runtime.causes import uncontrolled

from .marks import In, Size, Text, Unsound

MAX_ROWS = 1 << 19
"""The most values of a tuple. One in a tuple needs a lower limit, since equal values take no room in a file."""

FINITE = In(-1.7976931348623157e308, 1.7976931348623157e308)
INTEGERS = In(-(1 << 63), (1 << 63) - 1)

Known = dict[str, list[Any]]
"""The rows of the tables of `Once`."""
Reader = Callable[[Any, Known], Any]


class Form:
    """How values of one type are read and written. A column of them is a list, unless a subclass says otherwise."""

    __slots__ = ("read", "write")

    def __init__(self, read: Reader, write: Reader = lambda value, _: value) -> None:
        self.read, self.write = read, write

    def read_all(self, raw: Any, n: int, known: Known) -> Sequence[Any]:
        """Return the `n` values of a column."""
        return numbered(self.read, listed(raw, n), known)

    def write_all(self, values: Sequence[Any], known: Known) -> Any:
        """Return the column of some values."""
        return [self.write(value, known) for value in values]

    def read_column(self, raw: Any, n: int, known: Known) -> Sequence[Any]:
        """Return the `n` values of a column, of which one stands for all if they are equal."""
        if type(raw) is dict and n > 1 and raw.keys() == {"all"}:
            return [self.read(raw["all"], known)] * n
        return self.read_all(raw, n, known)

    def write_column(self, values: Sequence[Any], known: Known) -> Any:
        """Return the column of some values, one of them if they are equal and of equal types."""
        first = values[0] if values else None
        if len(values) > 1 and all(value == first for value in values) and len({*map(repr, values)}) == 1:
            return {"all": self.write(first, known)}
        return self.write_all(values, known)


def numbered(read: Reader, raw: Sequence[Any], known: Known) -> list[Any]:
    """Return the reading of each value; an error says which one it is about."""
    values: list[Any] = []
    try:
        for value in raw:
            values.append(read(value, known))
    except Unsound as e:
        raise e.within(len(values)) from e
    return values


def listed(raw: Any, n: int) -> list[Any]:
    """Return a value that is a list of `n`."""
    if type(raw) is not list or len(raw) != n:
        raise Unsound(f"be a list of {n}", f"a list of {len(raw)}" if type(raw) is list else raw)
    return raw


def sized(raw: Any, kind: type[Any], what: str, size: Size) -> Any:
    """Return a value that is of a type and of a size."""
    if type(raw) is not kind or not size.low <= len(raw) <= size.high:
        raise Unsound(f"be {what.format(size)}", raw)
    return raw


def number(kind: Any, within: In, plain: bool) -> Form:
    """Return the form of an integer or a float; in a plain document, a float may be an integer."""
    kinds, (low, high) = (kind, int if plain else kind), within

    def read(raw: Any, _: Known) -> Any:
        if not (type(raw) in kinds and low <= raw <= high):
            raise Unsound(_range(kind, within), raw)
        return kind(raw)

    return Form(read, lambda value, _: kind(value))


def _range(kind: type, within: In) -> str:
    low, high = (f"{bound:g}" if kind is float else str(bound) for bound in within)
    range_ = f"of at least {low}" if high == "inf" else f"from {low} to {high}"
    return f"be {low}" if low == high else f"be {'a float' if kind is float else 'an integer'} {range_}"


def text(mark: Text) -> Form:
    """Return the form of a text."""
    most, least, pattern, must, cleaned = mark

    def read(raw: Any, _: Known) -> Any:
        if type(raw) is str and least <= len(raw):
            if cleaned:
                return uncontrolled(raw[:most])
            if len(raw) <= most and (not raw or (re.fullmatch(pattern, raw) if pattern else raw.isprintable())):
                return raw
        of = f"that matches {pattern}" if pattern else f"of {least} to {most} printable characters"
        must_be = must or f"{'empty or ' * (bool(pattern) and not least)}a text {of}"
        raise Unsound(f"be {must_be}", ascii(raw) if type(raw) is str else raw)

    return Form(read)


def one_of(kinds: Mapping[Any, Form]) -> Form:
    """Return the form of a value of one of several types."""

    def read(raw: Any, known: Known) -> Any:
        if (form := kinds.get(type(raw))) is None:
            raise Unsound(f"be of type {' or '.join(kind.__name__ for kind in kinds)}", raw)
        return form.read(raw, known)

    return Form(read)


def literal(texts: Sequence[str]) -> Form:
    """Return the form of one of some texts."""

    def read(raw: Any, _: Known) -> Any:
        if type(raw) is not str or raw not in texts:
            raise Unsound(f"be one of {', '.join(texts)}", raw)
        return raw

    return Form(read)


def row(table: str) -> Form:
    """Return the form of a value that is a row of a table."""

    def read(raw: Any, known: Known) -> Any:
        if type(raw) is not int or not 0 <= raw < len(known[table]):
            raise Unsound(f"be the number of one of the {len(known[table])} rows of once.{table}", raw)
        return known[table][raw]

    def write(value: Any, known: Known) -> Any:
        if value not in known[table]:
            known[table].append(value)
        return known[table].index(value)

    return Form(read, write)


def mapping(key: Form, value: Form, size: Size) -> Form:
    """Return the form of a mapping."""

    def read(raw: Any, known: Known) -> Any:
        found, name = {}, ""
        try:
            for name, entry in sized(raw, dict, "a map of {} entries", size).items():
                found[key.read(name, known)] = value.read(entry, known)
        except Unsound as e:
            raise e.within(*filter(None, [name])) from e
        return found

    return Form(read, lambda found, known: {name: value.write(entry, known) for name, entry in found.items()})


def rows(inner: Form, size: Size) -> Form:
    """Return the form of a tuple of any length: the length and a column; ``[]`` if it is empty."""

    def read(raw: Any, known: Known) -> Any:
        n, column = listed(raw, 2) if raw != [] else (0, None)
        if type(n) is not int or not size.low <= n <= size.high or (not n and raw):
            raise Unsound(f"have {size} entries", n)
        return tuple(inner.read_column(column, n, known)) if n else ()

    return Form(read, lambda values, known: [len(values), inner.write_column(values, known)] if values else [])


def plain_tuple(inner: Form, size: Size) -> Form:
    """Return the form of a tuple in a plain document: a list."""
    return Form(
        lambda raw, known: tuple(numbered(inner.read, sized(raw, list, "a list of {} entries", size), known)),
        lambda values, known: [inner.write(value, known) for value in values],
    )


class FloatForm(Form):
    """A float, or a tuple of `width` floats, whose columns are little-endian float64 bytes."""

    def __init__(self, within: In, width: int = 0) -> None:
        self.within, self.width = within, width
        one = number(float, within, False)
        super().__init__(*((self._read_tuple, self._write_tuple) if width else (one.read, one.write)))

    def _read_tuple(self, raw: Any, known: Known) -> Any:
        try:
            return self.read_all(raw, 1, known)[0]
        except Unsound as e:
            del e.path[:1]
            raise

    def _write_tuple(self, value: Any, known: Known) -> Any:
        return self.write_all([value], known)

    def read_all(self, raw: Any, n: int, known: Known) -> Sequence[Any]:
        width, (low, high) = self.width, self.within
        count = n * (width or 1)
        if type(raw) is not bytes or len(raw) != 8 * count:
            raise Unsound(f"be bytes of {count} float64 numbers", f"{len(raw)} bytes" if type(raw) is bytes else raw)
        values = struct.unpack(f"<{count}d", raw)
        if not all(low <= value <= high for value in values):
            k = next(k for k, value in enumerate(values) if not low <= value <= high)
            raise Unsound(_range(float, self.within), values[k]).within(*(divmod(k, width) if width else [k]))
        return [*zip(*[iter(values)] * width, strict=True)] if width else values

    def write_all(self, values: Sequence[Any], known: Known) -> Any:
        flat = [number for value in values for number in value] if self.width else values
        return struct.pack(f"<{len(flat)}d", *flat)


class OptionalForm(Form):
    """A value that may be None; in a column, all are or none is."""

    def __init__(self, inner: Form) -> None:
        self.inner = inner
        super().__init__(
            lambda raw, known: None if raw is None else inner.read(raw, known),
            lambda value, known: None if value is None else inner.write(value, known),
        )

    def read_all(self, raw: Any, n: int, known: Known) -> Sequence[Any]:
        return [None] * n if raw is None else self.inner.read_all(raw, n, known)

    def write_all(self, values: Sequence[Any], known: Known) -> Any:
        unknown = sum(value is None for value in values)
        if unknown not in (0, len(values)):
            raise Unsound("be known of each entry or of none", f"{len(values) - unknown} of {len(values)}")
        return None if unknown else self.inner.write_all(values, known)


class RecordForm(Form):
    """A dataclass or a named tuple: a map of its fields, or in a column a map of their columns."""

    def __init__(self, kind: Any, parts: Mapping[str, Form], sparse: bool) -> None:
        self.kind, self.parts, self.check = kind, parts, getattr(kind, "_check", None)
        self.missing = {name: None for name, form in parts.items() if sparse and isinstance(form, OptionalForm)}
        super().__init__(self._read, self._write)

    def _each(self, raw: Any, read: Callable[[Form, Any], Any], column: bool) -> list[Any]:
        values, name = [], ""
        raw = fields_of({**self.missing, **raw} if type(raw) is dict else raw, self.parts)
        try:
            for name, form in self.parts.items():
                values.append(read(form, raw[name]))
        except Unsound as e:
            raise e.within(name, column=column) from e
        return values

    def _checked(self, record: Any, _: Known) -> Any:
        if self.check:
            self.check(record)
        return record

    def _read(self, raw: Any, known: Known) -> Any:
        values = self._each(raw, lambda form, value: form.read(value, known), False)
        return self._checked(self.kind(**dict(zip(self.parts, values, strict=True))), known)

    def _write(self, value: Any, known: Known) -> Any:
        written = {name: getattr(value, name) for name in self.parts}
        return dict(zip(self.parts, self._each(written, lambda form, one: form.write(one, known), False), strict=True))

    def read_all(self, raw: Any, n: int, known: Known) -> Sequence[Any]:
        columns = self._each(raw, lambda form, column: form.read_column(column, n, known), True)
        return numbered(self._checked, [*map(self.kind, *columns)], known)

    def write_all(self, values: Sequence[Any], known: Known) -> Any:
        columns = {name: [getattr(value, name) for value in values] for name in self.parts}
        written = self._each(columns, lambda form, column: form.write_column(column, known), True)
        return dict(zip(self.parts, written, strict=True))


def fields_of(raw: Any, names: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a value that is a map of exactly these names."""
    if type(raw) is not dict or raw.keys() != names.keys():
        wrong = sorted({*names} ^ {*raw}, key=str) if type(raw) is dict else ()
        found = f"one {'with' if wrong[0] in raw else 'without'} {wrong[0]!r}" if wrong else raw
        raise Unsound(f"be a map of {', '.join(names)}", found)
    return raw
