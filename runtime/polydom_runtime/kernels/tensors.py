"""What operators work on: arrays that are made once, and the calls that fill them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .graph import OfNode, Operation
from .proto import MAX_DIMENSIONS as MAX_DIMENSIONS
from .proto import Array
from .wire import UnknownModel as UnknownModel
from .wire import unsound

Call = Callable[[], object]

MAX_ELEMENTS = 1 << 22
"""A model may not ask for larger arrays than this, whatever its file says."""

MAX_NUMBERS = 1 << 24
"""Nor may all its operators together read and write more numbers than this: that bounds its memory and its time."""


@dataclass(slots=True, eq=False, repr=False)
class Space:
    """How many numbers the operators of one model may still read and write."""

    left: int = MAX_NUMBERS

    def take(self, count: int) -> None:
        """Take as many numbers as an array has; UnknownModel if no more are left."""
        self.left -= count
        if self.left < 0:
            raise UnknownModel(f"more than {MAX_NUMBERS} numbers in all its arrays")


@dataclass(slots=True, eq=False, repr=False)
class KernelStep(OfNode):
    """What is known when an operator is translated, and what comes of it."""

    node: Operation
    inputs: list[Array | None]
    constant: list[bool]
    """Whether the numbers of each input are known already."""
    opset: int
    wanted: list[bool]
    """Whether each output is read by anyone."""
    space: Space
    """Shared by all steps of a model."""
    calls: list[Call] = field(default_factory=list)
    """The calls to run for each row, in order. Empty if the output shows the numbers of an input in another shape."""

    def array(self, position: int) -> Array:
        """Return an input; BundleFormatError if the node does not have it."""
        found: Array = self.input(position)
        return found

    def known(self, position: int) -> Array:
        """Return an input whose numbers must be known; UnknownModel if they are not."""
        array = self.array(position)
        if not self.constant[position]:
            raise UnknownModel(f"{self.node.kind} with a variable input {position}")
        return array

    def known_or_attribute(self, position: int, name: str) -> Any:
        """Return an input whose numbers must be known, or the attribute that older versions have instead; or None."""
        if position < len(self.inputs) and self.inputs[position] is not None:
            return self.known(position).reshape(-1).tolist()
        return self.integers(name) if name in self.attributes else None

    def new(self, shape: Sequence[int], dtype: Any = np.float32) -> Array:
        """Return an array of zeros; UnknownModel if it would be too large, or have too many axes."""
        size = math.prod(shape) if len(shape) <= MAX_DIMENSIONS else MAX_ELEMENTS + 1
        if size > MAX_ELEMENTS:
            raise UnknownModel(f"an array of more than {MAX_ELEMENTS} numbers or {MAX_DIMENSIONS} axes")
        self.space.take(size)
        return np.zeros(tuple(shape), dtype=dtype)

    def run(self, call: Call) -> None:
        """Let a call run for each row."""
        self.calls.append(call)

    def filled(self, compute: Callable[[], Array]) -> Array:
        """Return an array that is filled, for each row, with what a function computes."""
        first = np.asarray(compute())
        out = self.new(first.shape, first.dtype)
        self.run(lambda: np.copyto(out, compute()))
        return out


Operator = Callable[[KernelStep], list[Array]]
"""Translates one operator: returns its outputs."""


def axis_of(axis: int, dimensions: int) -> int:
    """Turn an axis, which may be negative, into one from 0 to dimensions - 1; BundleFormatError if there is none."""
    if not -dimensions <= axis < dimensions:
        raise unsound(f"an axis of {dimensions}", str(axis))
    return axis % dimensions
