"""Nearest neighbours: distances to all training items, and the places of the smallest."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from .arithmetic import Operator
from .graph import Array
from .tensors import Step, UnknownModel, axis_of
from .wire import unsound


def _distances(step: Step) -> list[Array]:
    a, b = step.array(0), step.known(1)
    metric = step.option("metric", "sqeuclidean")
    if a.ndim != 2 or a.shape[0] != 1 or b.ndim != 2 or metric not in ("euclidean", "sqeuclidean"):
        raise UnknownModel("CDist of another kind")
    if a.shape[1] != b.shape[1] or a.dtype != b.dtype:
        raise unsound(f"rows of {b.shape[1]} numbers", str(a.shape))
    apart, out = step.new(b.shape, b.dtype), step.new((1, len(b)), b.dtype)
    sums = out.reshape(-1)
    step.run(partial(np.subtract, b, a, apart))
    step.run(partial(np.einsum, "ij,ij->i", apart, apart, out=sums))
    if metric == "euclidean":
        step.run(partial(np.sqrt, sums, sums))
    return [out]


def _top(step: Step) -> list[Array]:
    a, wanted = step.array(0), step.known(1).reshape(-1).tolist()
    axis, largest = axis_of(step.integer("axis", -1), a.ndim), bool(step.integer("largest", 1))
    if len(wanted) != 1 or not 0 < wanted[0] <= a.shape[axis]:
        raise unsound(f"at most {a.shape[axis]} of the values", str(wanted))
    if a.size != a.shape[axis] or axis != a.ndim - 1 or a.dtype.kind != "f":
        raise UnknownModel("TopK of several rows")
    k = int(wanted[0])
    shape = (*a.shape[:-1], k)
    values, places = step.new(shape, a.dtype), step.new(shape, np.int64)
    step.run(_choosing(a.reshape(-1), k, largest, values.reshape(-1), places.reshape(-1)))
    return [values, places]


def _choosing(row: Array, k: int, largest: bool, values: Array, places: Array) -> Callable[[], object]:
    """Return what finds the k smallest or largest, in order; of equal ones the first."""

    def choose() -> None:
        keys = -row if largest else row
        if k < len(row):
            some = np.argpartition(keys, k - 1)[:k]
            limit = keys[some].max()
            some = np.flatnonzero(keys <= limit)  # rising places, with all that are equal to the last one
        else:
            some = np.arange(len(row))
        places[:] = some[np.argsort(keys[some], kind="stable")[:k]]
        np.take(row, places, out=values, mode="clip")

    return choose


NEIGHBOURS: Mapping[str, Operator] = {"com.microsoft.CDist": _distances, "TopK": _top}
"""The operators by their names."""
