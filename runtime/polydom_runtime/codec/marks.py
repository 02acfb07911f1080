"""What an annotation says of a field beside its type, such as ``Annotated[float, In(0, 1)]``; the error if it is not.

A mark holds for all values inside: ``Annotated[tuple[float, ...] | None, In(0, 1)]`` is about each number. Without one,
a number must be finite, and a text must have 1 to 200 printable characters.
"""

from collections.abc import Callable, Mapping
from reprlib import Repr
from typing import Annotated, Any, NamedTuple

from polydom_runtime.causes import uncontrolled
from polydom_runtime.exceptions import BundleFormatError

NOT_STORED: Mapping[str, object] = {"stored": False}
"""The metadata of a field of a dataclass that has a default and is not in the file."""


class In(NamedTuple):
    """A number must be from `low` to `high`; NaN never is."""

    low: float
    high: float


class Size(NamedTuple):
    """A tuple, a mapping or bytes must have from `low` to `high` entries."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}" if self.low == self.high else f"{self.low} to {self.high}"


NO_CONTROL = r"[^\x00-\x1f\x7f-\x9f]*"
"""A pattern of texts that control no terminal; they may have characters that cannot be printed."""


class Text(NamedTuple):
    """A text must have at least `least` and at most `most` characters, and only printable ones."""

    most: int = 200
    least: int = 1
    pattern: str = ""
    """The expression that a text must match in place of being printable; empty for none."""
    must: str = ""
    """The rule in words, if the pattern does not say it well."""
    cleaned: bool = False
    """Whether a text that is too long is cut, and a question mark stands for each character that cannot be printed."""


FilledText = Annotated[str, Text(1 << 20, 1, r"(?s:.*\S.*)", "text that is not empty")]
AnyText = Annotated[str, Text(1 << 20, 0, "(?s:.*)")]
"""A text of any characters, which must be cleaned before it is shown."""


class Once(NamedTuple):
    """Equal values are stored once, as one of at most `most` rows of a table; the number of the row stands for them."""

    table: str
    most: int


class As(NamedTuple):
    """Values are read and written by functions; the first raises `Unsound`."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


_short = Repr()
_short.maxlevel, _short.maxlist, _short.maxtuple, _short.maxdict, _short.maxother = 3, 8, 8, 8, 120


class Unsound(ValueError):
    """A value in a document is not as it must be: the rule, the value, and where it stands.

    `must`: what the value must do, after "must". `remedy`: what to do, if that differs from the usual.
    """

    def __init__(self, must: str, got: object, remedy: str = "") -> None:
        super().__init__(must)
        self.must, self.got, self.remedy = must, got, remedy
        self.path: list[str | int] = []

    def within(self, *parts: str | int, column: bool = False) -> "Unsound":
        """Return the error with parts before its path; in a `column`, after the number of a row at its start."""
        at = int(column and bool(self.path) and type(self.path[0]) is int)
        self.path[at:at] = parts
        return self

    def says(self, subject: str, before: str = "") -> str:
        """Return the rule and the value, as sentences about the place after `before`, or about `subject` as a whole."""
        path = "".join(f"[{part}]" if type(part) is int else f".{part}" for part in self.path).lstrip(".")
        return f"{before + uncontrolled(path)[:200] if path else subject} must {self.must}. Got {short(self.got)}."


def short(value: object) -> str:
    """Return a value in a few words of printable characters."""
    text = value if isinstance(value, str) else _short.repr(value)  # `str` of nested lists has no limit
    return uncontrolled(text[:120])


def bad(what: str, got: object, remedy: str = "Export the bundle again.") -> BundleFormatError:
    """Return the error for a bundle that is not as it must be: the rule, the value and the remedy."""
    return BundleFormatError(f"{what}. Got {short(got)}. {remedy}")
