"""The form of items: their dimensions and types of numbers, as a bundle was built with."""

from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.number_types import matters, number_type
from polydom_runtime.causes import report
from polydom_runtime.exceptions import ItemError
from polydom_runtime.features import ItemKind, check_kind, described

FLAT = ItemKind(1, is_complex=False)
"""The kind of most items: sequences of numbers."""


class ItemForm:
    """Checks that items are of the form of those of a build.

    `kind`, `dtype`, `ndim`: the class of the last sound array, the type of its numbers, and its dimensions. An array
    that has the same ones, and any numbers, is of the form: a predictor compares them by itself.
    """

    __slots__ = ("_built", "_kind", "_types", "dtype", "kind", "ndim")

    def __init__(self, bundle: Bundle) -> None:
        self._kind, self._built = bundle.space.item_kind, bundle.references
        self.kind: type[Any] = type(self)  # which no item is
        self.dtype, self.ndim = None, -1 if self._kind is None else self._kind.ndim
        self._types = {self._built.number_type}

    def is_first_of_type(self, item: Any) -> bool:
        """Tell whether an item is the first one with its type of numbers, and note the type."""
        is_first = (found := number_type(item)) not in self._types
        self._types.add(found)
        return is_first

    def check(self, item: Any) -> None:
        """Raise `ItemError` for an item that is unlike those of the build.

        A new type of numbers is reported once. Features are not compared with it here, since that takes long.
        """
        kind, built = self._kind, self._built.number_type
        if kind is None or (type(item) is list and item and type(item[0]) is float and kind == FLAT):
            return  # the latter as below, in a tenth of the time
        check_kind(item, kind, "The item", "those that the bundle was built with are")
        if not (found := number_type(item)):
            return
        if found == "|b1" and built not in ("", found):
            raise ItemError(f"The item must have numbers, as of {self._built.type_name}. Got {described(item)}.")
        if self.is_first_of_type(item) and matters(found, built):
            report(
                f"Items of {item.dtype} come, and those of the build were of {self._built.type_name}: integers wrap "
                "where floats do not. Give that type, or call warm_up with such an item, which compares the features."
            )
        self.kind, self.dtype = type(item), item.dtype
