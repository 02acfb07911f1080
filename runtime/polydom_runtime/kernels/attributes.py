"""Attributes of operators, by their types."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .tensor_proto import Array
from .wire import unsound


class Typed:
    """Has attributes, and says what they are if their types are wrong."""

    __slots__ = ()

    if TYPE_CHECKING:  # for a dataclass they would be the values of its fields

        @property
        def kind(self) -> str:
            """The operator."""

        @property
        def attributes(self) -> Mapping[str, Any]:
            """Numbers, texts, lists of them, and arrays."""

    def reals(self, name: str, count: int | None = None, *, compared: bool = False) -> Array:
        """Return an attribute that is a list of float32 numbers; infinite ones only if they are just `compared`.

        Raises `BundleFormatError` if it is anything else, they are not finite, or another number of them than `count`.
        """
        found = self.attributes.get(name, np.empty(0, np.float32))
        if (
            not isinstance(found, np.ndarray)
            or found.ndim != 1
            or found.dtype != np.float32
            or np.isnan(found).any()
            or not (compared or np.isfinite(found).all())
        ):
            raise unsound(f"finite numbers as {name} of {self.kind}", "others")
        if count is not None and len(found) != count:
            raise unsound(f"{count} numbers as {name} of {self.kind}", f"{len(found)}")
        return found

    def integers(self, name: str, count: int | None = None) -> list[int]:
        """Return an attribute that is a list of integers; see `integer_array`."""
        found: list[int] = self.integer_array(name, count).tolist()
        return found

    def integer_array(self, name: str, count: int | None = None) -> Array:
        """Return an attribute that is a list of integers, with 64 bits each.

        Raises `BundleFormatError` if it is anything else, or another number of them than `count`.
        """
        found = self.attributes.get(name, np.empty(0, np.int64))
        if not isinstance(found, np.ndarray) or found.ndim != 1 or found.dtype != np.int64:
            raise unsound(f"integers as {name} of {self.kind}", "others")
        if count is not None and len(found) != count:
            raise unsound(f"{count} integers as {name} of {self.kind}", f"{len(found)}")
        return found

    def integer(self, name: str, default: int) -> int:
        """Return an attribute that is one integer.

        Raises `BundleFormatError` if it is anything else.
        """
        found = self.attributes.get(name, default)
        if not isinstance(found, int):
            raise unsound(f"an integer as {name} of {self.kind}", "something else")
        return found

    def real(self, name: str, default: float) -> float:
        """Return an attribute that is one number.

        Raises `BundleFormatError` if it is anything else, or not finite.
        """
        found = self.attributes.get(name, default)
        if not isinstance(found, float) or not math.isfinite(found):
            raise unsound(f"a finite number as {name} of {self.kind}", "something else")
        return found

    def option(self, name: str, default: str) -> str:
        """Return an attribute that is a text.

        Raises `BundleFormatError` if it is anything else.
        """
        found = self.attributes.get(name, default)
        if not isinstance(found, str):
            raise unsound(f"a text as {name} of {self.kind}", "something else")
        return found


class OfNode(Typed):
    """Has a node, whose attributes are its own, and the node's inputs."""

    __slots__ = ()

    if TYPE_CHECKING:
        node: Any
        inputs: Any

    @property
    def kind(self) -> str:
        """The operator."""
        kind: str = self.node.kind
        return kind

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of the node."""
        attributes: Mapping[str, Any] = self.node.attributes
        return attributes

    def input(self, position: int) -> Any:
        """Return an input.

        Raises `BundleFormatError` if the node does not have it.
        """
        if position >= len(self.inputs) or (found := self.inputs[position]) is None:
            raise unsound(f"{position + 1} inputs of {self.kind}", "fewer")
        return found
