"""What an annotation says of a field beside its type, such as ``Annotated[float, In(0, 1)]``.

A mark holds for all values inside: ``Annotated[tuple[float, ...] | None, In(0, 1)]`` is about each number. Without one,
a number must be finite, and a text must have 1 to 200 printable characters.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

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
"""What a text matches that controls no terminal; it may have characters that cannot be printed."""


class Text(NamedTuple):
    """A text must have at least `least` and at most `most` characters, and only printable ones."""

    most: int = 200
    least: int = 1
    pattern: str = ""
    """What it must match if it is not empty, in place of being printable."""
    must: str = ""
    """What it must be, in words, if the pattern does not say it well."""
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
