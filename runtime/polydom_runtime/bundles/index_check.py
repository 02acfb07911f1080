"""Check that the index of a bundle gives the best of its candidates: a sample of queries is answered by a scan too."""

import math

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Bools, Floats, distinct
from polydom_runtime.codec.unsound import bad
from polydom_runtime.costs import basis_terms

from .bundle import Bundle

TIE = 1e-9
"""Costs and scores that differ by this share count as equal, since crossings are rounded."""

MAX_QUERIES, MAX_COMPARED = 32, 1 << 20
"""The most sizes that are asked about, the most budgets at each, and the most costs that are compared with budgets."""


def check_index(bundle: Bundle) -> None:
    """Check the intervals of a Poly-Dom index, and a sample of its answers.

    O(intervals · log intervals + candidates · log candidates). A greedy bundle has no such index.

    Raises `BundleFormatError` if an interval is outside the sizes of the bundle, two of one candidate overlap, or a
    candidate that is better than the answer fits the budget.
    """
    stored, (smallest, largest) = bundle.stored, bundle.promise.sizes
    if bundle.is_greedy and (stored.shipped or stored.intervals):
        raise bad("A greedy bundle must have sequences only", f"{len(stored.shipped)} other candidates")
    if bundle.is_greedy:
        return
    if len(set(stored.shipped)) != len(stored.shipped):
        raise bad("The candidates must be different models", stored.shipped)
    rows = np.array([(i.candidate, i.start, i.end) for i in stored.intervals], dtype=np.float64).reshape(-1, 3)
    numbers, starts, ends = rows[np.lexsort((rows[:, 1], rows[:, 0]))].T
    if ((starts < smallest) | (ends > largest)).any():
        raise bad(f"The intervals must lie between the sizes {smallest} and {largest}", rows[:, 1:].tolist())
    if ((numbers[1:] == numbers[:-1]) & (starts[1:] < ends[:-1])).any():
        raise bad("The intervals of a candidate must not overlap", rows.tolist())
    _check_answers(bundle, numbers.astype(np.intp), starts, ends)


def _check_answers(bundle: Bundle, numbers: NDArray[np.intp], starts: Floats, ends: Floats) -> None:
    scores = np.array([bundle.prior.accuracy, *(bundle.models[k].accuracy for k in bundle.stored.shipped)])
    most = min(MAX_QUERIES, math.isqrt(MAX_COMPARED // len(scores)))
    sizes = _some(_middles(*bundle.promise.sizes, starts, ends), most)
    costs = basis_terms(sizes) @ _weights(bundle).T
    inside = ((starts < sizes[:, None]) | (starts <= bundle.promise.sizes[0])) & (sizes[:, None] <= ends)
    shown = np.zeros(costs.shape, dtype=bool)
    at, rows = np.nonzero(inside)
    shown[at, numbers[rows]] = True

    rank = np.argsort(scores, kind="stable")
    scores, costs, shown = scores[rank], costs[:, rank], shown[:, rank]
    dearest = np.maximum.accumulate(np.where(shown, costs, 0.0), axis=1)
    if (shown & (costs < dearest * (1.0 - TIE))).any():
        raise bad("Where the index has several candidates, the better must cost more", "a cheaper one")
    budgets = np.clip(_some(costs.T, most).T * (1.0 + TIE), *bundle.promise.covered)[:, :, None]
    known, every = shown[:, None] & (costs[:, None] <= budgets), costs[:, None] <= budgets * (1.0 - TIE)
    prior = bundle.prior.accuracy
    answers = np.where(known.any(axis=2), _best(known, scores), prior)
    best = np.maximum(_best(every, scores), prior)
    if (wrong := answers < best - TIE * np.abs(best)).any():
        n, k = np.argwhere(wrong)[0]
        raise bad(
            f"For size {sizes[n]:g} and budget {budgets[n, k, 0]:g} the index must give a candidate that scores "
            f"{best[n, k]:g}",
            f"{answers[n, k]:g}",
        )


def _best(fits: Bools, scores: Floats) -> Floats:
    best: Floats = np.where(fits, scores, -np.inf).max(axis=-1)
    return best


def _some(values: Floats, most: int) -> Floats:
    """Return at most so many rows, evenly spread."""
    return values[np.linspace(0, len(values) - 1, min(len(values), most)).astype(np.intp)]


def _middles(smallest: float, largest: float, starts: Floats, ends: Floats) -> Floats:
    """Return the middle of each range of the index, cut where a long one has nine parts, on both scales."""
    cuts = np.linspace(smallest, largest, 9), largest * np.geomspace(1e-6, 1.0, 9)
    sizes = distinct(np.concatenate([starts, ends, *cuts]).clip(smallest, largest))
    return 0.5 * (sizes[1:] + sizes[:-1]) if len(sizes) > 1 else sizes


def _weights(bundle: Bundle) -> Floats:
    """Return the weights of the cost of each candidate, as of `Bundle.candidate`; the empty set is the first."""
    entries, worst = [bundle.models[k] for k in bundle.stored.shipped], bundle.times.worst
    weights = worst.of_sets(np.array([0, *(entry.mask for entry in entries)], dtype=np.int64))
    weights += np.array(worst.dispatch.weights)
    weights[:, 0] += [0.0, *(entry.seconds for entry in entries)]
    for row, entry in enumerate(entries, start=1):
        if entry.cost is not None:
            weights[row] = entry.cost.weights
    return weights
