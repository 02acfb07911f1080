"""The error for a value that is not as it must be, and its text."""

from reprlib import Repr

from polydom_runtime.causes import uncontrolled
from polydom_runtime.exceptions import BundleFormatError

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
