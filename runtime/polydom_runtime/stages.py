"""Stages and their trace: a stage is one feature, ready to be computed into the input row.

The predictor and the measurement run this same code, so that the times of one hold for the other.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import FeatureError
from polydom_runtime.features import Feature, FeatureSpace, as_failure


class Stage:
    """Computes one feature into its columns of the row; first its shared step, if that is not computed yet.

    `slot`: position of the value of the feature's step in the list of shared values; -1 without a step. `row` (shape
    (>= start + width,)): the input row of the model, which is written to. `start`: the first column of the feature.
    """

    __slots__ = ("_compute", "_extract", "_place", "_slot", "_width")

    def __init__(self, feature: Feature, slot: int, row: NDArray[np.float32], start: int) -> None:
        self._extract = feature.extract
        self._compute: Callable[[Any], Any] | None = feature.step.compute if feature.step else None
        self._slot = slot
        self._width = feature.width
        self._place = row[start : start + feature.width]

    def run(self, item: Any, shared: list[Any]) -> None:
        """Compute the feature of an item.

        `shared`: values of the steps of this item, None where a step is not computed yet.

        Raises `FeatureError` if the extractor returns a number of values that is not the width. Other exceptions of the
        extractor or the step pass through; see `as_failure`.
        """
        try:
            if self._compute is None:
                source = item
            elif (source := shared[self._slot]) is None:
                source = shared[self._slot] = self._compute(item)
            values = self._extract(source)
            if self._width > 1 and len(values) != self._width:  # numpy would broadcast a scalar silently
                raise FeatureError(f"The extractor must return {self._width} numbers. Got {len(values)}.")
            self._place[:] = values
        except BaseException as e:
            raise as_failure(e)  # noqa: B904  (the same one, mostly)


def seems_finite(values: NDArray[np.float32], ones: NDArray[np.float32]) -> bool:
    """Tell whether the sum of the values is finite: a quick test, as the product with `ones`, the fastest sum in numpy.

    NaN and infinity never pass it. Finite values may fail it if their sum overflows.
    """
    try:
        return math.isfinite(values.dot(ones))
    except RuntimeWarning:  # inf - inf, where warnings are errors
        return False


def stage_of(space: FeatureSpace, feature: int, row: NDArray[np.float32], start: int) -> Stage:
    """Return the stage of one feature of a space.

    `feature`: position of the feature in the space. `row` (shape (>= start + width,)): the input row that the stage
    writes to. `start`: the first column of the feature.
    """
    step = space.features[feature].step
    return Stage(space.features[feature], -1 if step is None else space.steps.index(step), row, start)


class Trace:
    """The way to one answer. A predictor overwrites its trace with every item.

    `size`: the size of the item; NaN if it has none. `features`: positions of the features that were begun, in order,
    including those that failed. `marks`: clock readings in nanoseconds: the call, the start of each feature, the start
    of the model, the end. The time that the item waited before the call is not among them.
    """

    __slots__ = ("features", "marks", "size")

    def __init__(self) -> None:
        self.size = math.nan
        self.features: list[int] = []
        self.marks: list[int] = [0, 0, 0]

    def __repr__(self) -> str:
        taken = format_seconds((self.marks[-1] - self.marks[0]) * 1e-9)
        return f"<Trace of an item of size {self.size:g}: features {self.features} in {taken}>"
