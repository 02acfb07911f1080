"""Nearest neighbours: distances to all training items, and the places of the smallest."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from .proto import Array
from .tensors import KernelStep, Operator, UnknownModel, axis_of


def _distances(step: KernelStep) -> list[Array]:
    """Squares of distances as ``-2 a·b + a² + b²``, from one product for all training items."""
    a, b = step.array(0), step.known(1)
    metric = step.option("metric", "sqeuclidean")
    if a.ndim != 2 or a.shape[0] != 1 or b.ndim != 2 or metric not in ("euclidean", "sqeuclidean"):
        raise UnknownModel("CDist of another kind")
    out = step.new((1, len(b)), b.dtype)
    row, sums, factors, squares = a.reshape(-1), out.reshape(-1), np.ascontiguousarray(-2 * b.T), (b * b).sum(axis=1)

    def compute() -> None:
        np.dot(row, factors, sums)
        np.add(sums, np.dot(row, row), sums)
        np.add(sums, squares, sums)
        np.absolute(sums, sums)

    step.run(compute)
    if metric == "euclidean":
        step.run(partial(np.sqrt, sums, sums))
    return [out]


def _top(step: KernelStep) -> list[Array]:
    a, wanted = step.array(0), step.known(1).reshape(-1).tolist()
    axis, largest = axis_of(step.integer("axis", -1), a.ndim), bool(step.integer("largest", 1))
    if a.size != a.shape[axis] or axis != a.ndim - 1 or a.dtype.kind != "f" or not step.integer("sorted", 1):
        raise UnknownModel("TopK of several rows, or in any order")
    shape = (*a.shape[:-1], int(wanted[0]))
    values, places = step.new(shape, a.dtype), step.new(shape, np.int64)
    row, found = a.reshape(-1), places.reshape(-1)
    step.run(_choosing(row, largest, found))
    if step.wanted[0]:
        step.run(partial(row.take, found, 0, values.reshape(-1), "clip"))
    return [values, places]


def _choosing(row: Array, largest: bool, places: Array) -> Callable[[], object]:
    """Return a search for the smallest or largest numbers of a row, in order; of equal ones the first."""
    k = len(places)

    def choose() -> None:
        keys = -row if largest else row
        limit = np.partition(keys, k - 1)[k - 1]
        some = (keys <= limit).nonzero()[0]  # rising places, with all that are equal to the last one
        if len(some) < k:  # no number is below one that is none
            some = np.arange(len(keys))
        places[:] = some[keys.take(some).argsort(kind="stable")[:k]]

    return choose


OPERATORS: Mapping[str, Operator] = {"com.microsoft.CDist": _distances, "TopK": _top}
