"""Kinds of items: how many dimensions an array has, and whether its numbers are complex."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from polydom_runtime.codec.marks import In
from polydom_runtime.exceptions import ItemError


class ItemKind(NamedTuple):
    """The kind of items that are arrays, or lists of arrays or numbers.

    Shapes and types of numbers may differ: a picture of another format is one of the same kind, and JSON turns integers
    into floats.
    """

    ndim: Annotated[int, In(0, 64)]
    is_complex: bool

    def __str__(self) -> str:
        numbers = " of complex numbers" if self.is_complex else ""
        return f"an array of {self.ndim} dimension{'s' * (self.ndim != 1)}{numbers}"


def kind_of(item: Any) -> ItemKind | None:
    """Return the kind of an item; None if it is something else, such as a text, which may be of any form.

    Of a list the first entry counts. Its entries may differ in length.

    >>> kind_of([[1, 2], [3]]), kind_of("text")
    (ItemKind(ndim=2, is_complex=False), None)
    """
    depth = 0
    while isinstance(item, list | tuple) and item:
        item, depth = item[0], depth + 1
    if type(ndim := getattr(item, "ndim", None)) is int:
        return ItemKind(depth + ndim, "complex" in str(getattr(item, "dtype", "")))
    return ItemKind(depth, isinstance(item, complex)) if depth and isinstance(item, int | float | complex) else None


def check_kind(item: Any, kind: ItemKind | None, name: str, like: str) -> None:
    """Check that an item has this kind, or none; for the message, `name` is the item, and `like` others of the kind."""
    if kind and (kind_of(item) or kind) != kind:
        raise ItemError(f"{name} must be {kind}, as {like}. Got {described(item)}.")


def common_kind(items: Sequence[Any]) -> ItemKind | None:
    """Return the kind of all items that have one; `ItemError` if two differ."""
    first = next((k for k, item in enumerate(items) if kind_of(item)), 0)
    kind = kind_of(items[first])
    for k, item in enumerate(items):
        check_kind(item, kind, f"Item {k}", f"item {first} is")
    return kind


def described(item: Any) -> str:
    """Describe an item in a few words.

    >>> described("text")
    "'text'"
    """
    kind = f" of {item.dtype}" if hasattr(item, "dtype") else ""
    return f"an array{kind} of shape {item.shape}" if hasattr(item, "shape") else f"{item!r:.60}"
