"""Checks of a decoded bundle: its parts fit together, its size is bounded, its scores and its index are sound."""

import math
import os
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Bools, Floats, distinct
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import SCORING
from polydom_runtime.bundles.model_entry import MAX_ESTIMATORS, UNCLEAR
from polydom_runtime.codec.marks import Unsound, bad
from polydom_runtime.costs import HUGE, basis_terms


def check_parts(bundle: Bundle) -> None:
    """Check that the parts of a bundle fit together.

    Raises `Unsound` if they do not.
    """
    _check_times(bundle)
    _check_models(bundle)
    _check_answers(bundle)
    _check_stored(bundle)


def _check_times(bundle: Bundle) -> None:
    names, worst, f = bundle.names, bundle.times.worst, len(bundle.names)
    if worst.names[:f] != names or len(worst.names) != f + len(worst.users):
        raise Unsound("be of the features, then of the steps", worst.names).within("times", "worst", "names")
    covered = reduce(or_, worst.users, 0)
    if len({*worst.names}) != len(worst.names) or sum(worst.users) != covered or covered >> f:
        got = worst.names[f:], worst.users
        raise Unsound("have steps with names of their own, and a feature may use one at most", got).within("times")
    for name, there in bundle.regimes.items():
        units = there.times.worst.names, there.times.worst.users
        if name == "hot" or len(there.models) != len(bundle.models) or units != (worst.names, worst.users):
            must = "be rehearsed or cold, with a time of each model, and times of the same units"
            raise Unsound(must, (*units, f"{len(there.models)} models")).within("regimes", name)
    for times in (bundle.times, *(there.times for there in bundle.regimes.values())):
        for outlook in times.outlook:
            if not {*outlook.features} <= {*names} or len({*outlook.features}) != len(outlook.features):
                raise Unsound("have outlooks of different features of the bundle", outlook.features)


def _check_models(bundle: Bundle) -> None:
    models, f = bundle.models, len(bundle.names)
    orders = {model.order for model in models}
    for k, model in enumerate(models):
        if max(model.order) >= f:
            raise Unsound(f"have feature numbers from 0 to {f - 1}", model.order).within("models", k, "order")
        if len(model.order) > 1 and model.order[:-1] not in orders:
            raise Unsound("have a model for every prefix of the order of a model", model.order).within("models")
    if len({(model.order, model.estimator) for model in models}) != len(models):
        raise Unsound("have different features, in an order that its estimator has once", "others").within("models")
    names = {model.estimator for model in models}
    if len(names) > MAX_ESTIMATORS or ("" in names and len(names) > 1):
        raise Unsound(f"name 1 to {MAX_ESTIMATORS} estimators, one for each model, or none", names).within("models")
    calibrated = {model.calibration is not None for model in models}
    if calibrated - {bundle.confidence is not None} or (bundle.confidence and not bundle.space.classes):
        raise Unsound("go with classes, and a calibration of each model", "one without").within("confidence")


def _check_answers(bundle: Bundle) -> None:
    n, number, errors = len(bundle.space.classes), bundle.prior.number, bundle.error_costs
    if errors and len(errors.costs) != n:
        raise Unsound(f"have a row for each of the {n} classes", len(errors.costs)).within("error_costs", "costs")
    if type(number) is not (int if n else float) or not (0 <= number <= n if n else -HUGE <= number <= HUGE):
        must = f"be an integer from 0 to {n}" if n else "be a finite float"
        raise Unsound(must, number).within("prior", "number")
    n += bool(errors and errors.abstain)
    for model in bundle.models:
        if model.answers and len(model.answers) != len(bundle.references.rows):
            raise Unsound("have an answer to each reference row", model.answers).within("models", "answers")
        compared = [answer for answer in model.answers if answer != UNCLEAR]
        if n and not all(0 <= answer < n and answer.is_integer() for answer in compared):
            raise Unsound(f"be integers from 0 to {n - 1}", model.answers).within("models", "answers")
    if bundle.references.items and len(bundle.references.limits) != (width := sum(bundle.space.widths)):
        raise Unsound(f"be of {width} columns", len(bundle.references.limits)).within("references", "limits")
    if not {*(unsteady := bundle.references.unsteady)} <= {*bundle.names}:
        raise Unsound("be features of the bundle", unsteady).within("references", "unsteady")
    if any(left.mask >> len(bundle.names) for left in bundle.shipping.left_out):
        raise Unsound("be sets of features of the bundle", "others").within("shipping", "left_out")


def _check_stored(bundle: Bundle) -> None:
    stored, n = bundle.stored, len(bundle.models)
    _check_numbers(stored.shipped, n, "shipped")
    _check_numbers([interval.candidate for interval in stored.intervals], len(stored.shipped) + 1, "intervals")
    if not {*stored.sequences} <= {model.order for model in bundle.models}:
        raise Unsound("be orders of models", stored.sequences).within("stored", "sequences")
    if len({*stored.sequences}) != len(stored.sequences):
        raise Unsound("be different", stored.sequences).within("stored", "sequences")


def _check_numbers(numbers: Sequence[int], end: int, what: str) -> None:
    if numbers and max(numbers) >= end:
        raise Unsound(f"have numbers from 0 to {end - 1}", max(numbers)).within("stored", what)


MAX_COLUMNS, MAX_INPUTS = 1 << 20, 1 << 23
"""The most numbers of all features together, and of the inputs of all models together."""

MAX_BYTES = 1 << 30
"""The most bytes of all model files together."""

MAX_PREFIXES = 10_000
"""The most features of all greedy sequences together; there is a candidate for each."""

SIZE_CELLS = 400
"""The most size cells, besides one for each candidate; see `polydom_runtime.policy.planners.size_cells`."""

MAX_CELLS, MAX_STATE_CELLS = 1 << 22, 1 << 22
"""The most models times size cells, and features of all candidates times size cells, which the strict policy plans."""

MAX_ROWS = 1 << 22
"""The most candidates of all ranges of the index together."""


def check_limits(bundle: Bundle) -> None:
    """Check that what a node makes from a bundle has a bounded size.

    Raises `BundleFormatError` if it has not.
    """
    widths, models, stored = np.array(bundle.space.widths), bundle.models, bundle.stored
    cells = SIZE_CELLS + len(stored.shipped)
    for what, got, most in (
        ("The widths of all features", int(widths.sum()), MAX_COLUMNS),
        ("The input columns of all models", sum(bundle.space.widths[i] for m in models for i in m.order), MAX_INPUTS),
        ("The sizes of all models", sum(m.size_bytes for m in models), MAX_BYTES),
        ("The lengths of all sequences", sum(map(len, stored.sequences)), MAX_PREFIXES),
        ("The models times the size cells", len(models) * cells, MAX_CELLS),
        (
            "The features of all candidates times the size cells",
            sum(len(models[k].order) for k in stored.shipped) * cells,
            MAX_STATE_CELLS,
        ),
        ("The candidates of all ranges of the index", _range_rows(bundle), MAX_ROWS),
    ):
        if got > most:
            raise bad(f"{what} must be at most {most} together", got, "Build with fewer features or candidates.")


def check_memory(bundle: Bundle) -> None:
    """Check that the files of the models fit into the memory of this machine, before they are read.

    Raises `BundleFormatError` if they take more than half of it. Opened, models take more.
    """
    files, most = sum(model.size_bytes for model in bundle.models), memory_bytes() // 2
    if files > most:
        raise bad(
            f"The models of {bundle.folder} must take at most half of this machine's memory, {most:,} bytes",
            f"{files:,}",
            "Build with smaller estimators, or for fewer deadlines.",
        )


def memory_bytes() -> int:
    """Return the size of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _range_rows(bundle: Bundle) -> int:
    ends = np.array([(i.start, i.end) for i in bundle.stored.intervals]).reshape(-1, 2)
    places = np.searchsorted(distinct(ends), ends)
    return int((places[:, 1] - places[:, 0] + 1).sum())


SHARES = ("accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision", "f1", "precision", "recall")
RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys((*SHARES, "jaccard", "roc_auc", SCORING), (0.0, 1.0)),
    **dict.fromkeys(("r2", "explained_variance", "d2"), (-HUGE, 1.0)),
    "neg": (-HUGE, 0.0),
}
"""The lowest and the highest score, by the name or its first words."""

ROUNDING = 1e-9
"""A mean of scores may be outside of their range by this much."""


def score_range(scoring: str) -> tuple[float, float]:
    """Return the lowest and the highest possible score; finite numbers also if the score is not known.

    >>> score_range("f1_macro"), score_range("shop.accuracy") == (-HUGE, HUGE)
    ((0.0, 1.0), True)
    """
    words = scoring if scoring.isidentifier() else ""  # the names of callables have a dot or a bracket
    while words and words not in RANGES:
        words = words.rpartition("_")[0]
    return RANGES.get(words, (-HUGE, HUGE))


def check_scores(bundle: Bundle) -> None:
    """Check that the prior, the models and the outlooks have scores that the scoring can give.

    Raises `BundleFormatError` if one has not.
    """
    low, high = score_range(bundle.promise.scoring)
    outlooks = [*bundle.times.outlook, *(o for there in bundle.regimes.values() for o in there.times.outlook)]
    scores = [bundle.prior.accuracy, *(m.accuracy for m in bundle.models), *(o.score for o in outlooks)]
    scores += [number for m in bundle.models for number in m.estimate or ()]
    scores += bundle.shipping.scores
    if wrong := [score for score in scores if not low - ROUNDING <= score <= high + ROUNDING]:
        raise bad(f"A score by {bundle.promise.scoring or 'any scoring'} must be from {low:g} to {high:g}", wrong[0])


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
    _check_queries(bundle, numbers.astype(np.intp), starts, ends)


def _check_queries(bundle: Bundle, numbers: NDArray[np.intp], starts: Floats, ends: Floats) -> None:
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
    """Return at most `most` rows, evenly spread."""
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
