"""The comparison of two bundles."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import CostFunction
from polydom_runtime.describing.outlook_table import set_text
from polydom_runtime.describing.promise_text import promise_text
from polydom_runtime.device.board import memory_need
from polydom_runtime.measuring.cost_samples import AROUND
from polydom_runtime.records.metrics import finite

from .comparison import (
    AnswerChange,
    Comparison,
    Fact,
    ReplayChange,
    SetChange,
    Units,
    check_common,
    common_sizes,
    time_changes,
)
from .greatest_loss import greatest_loss

BUNDLE_SIZES = 3
"""Times and answers are shown at a small, a middle and a large size. The answer that loses most is one of any size."""

ShippedScores = Mapping[tuple[frozenset[str], str], tuple[tuple[str, ...], float]]
"""The features of each shipped set in their order, and its score; by the set and the name of its estimator."""


def compare_bundles(before: Bundle, after: Bundle) -> Comparison:
    """Compare what two bundles are, promise and hold.

    Raises `ComparisonError` if they have no feature and no item size in common.
    """
    units = Units.of(before.names, after.names)
    check_common("feature", units)
    sizes = common_sizes(before.promise.sizes, after.promise.sizes, BUNDLE_SIZES)
    new = _facts(after)
    return Comparison(
        "bundles",
        {what: Fact(value, new[what]) for what, value in _facts(before).items()},
        units,
        (
            *time_changes("typical", _costs(before.times.typical), _costs(after.times.typical), sizes),
            *time_changes("worst case", _costs(before.times.worst), _costs(after.times.worst), sizes),
            *time_changes("worst case", _answers(before), _answers(after), sizes),
        ),
        _sets(_shipped(before), _shipped(after)),
        tuple(_answer(before, after, deadline, size) for deadline in _deadlines(before, after) for size in sizes),
        _answer(before, after, *_worst(before, after, (sizes[0], sizes[-1]))),
        tuple(_replays(before, after)),
    )


def _facts(bundle: Bundle) -> dict[str, Any]:
    promise, bytes_of_models = bundle.promise, [model.size_bytes for model in bundle.models]
    return {
        **bundle.identity._asdict(),
        "sha256": bundle.sha256,
        "search": "greedy" if bundle.is_greedy else "lattice",
        "classes": list(bundle.space.classes),
        "widths": dict(zip(bundle.names, bundle.space.widths, strict=True)),
        "scoring": promise.scoring,
        "costs of errors": bundle.error_costs and bundle.error_costs.costs,
        "prior score": bundle.prior.accuracy,
        "sizes": list(promise.sizes),
        "deadlines": [finite(deadline) for deadline in promise.budgets],
        "slowdown": promise.slowdown,
        "alpha": finite(promise.alpha),
        "tolerance": finite(promise.tolerance),
        "promise": promise_text(bundle),
        "costs": str(bundle.times.origin),
        "models": len(bundle.models),
        "model bytes": sum(bytes_of_models),
        "memory bytes": memory_need(bytes_of_models),
    }


def _costs(times: UnitTimes) -> dict[str, CostFunction]:
    return dict(zip((*times.names, *AROUND), (*times.terms, *times.around), strict=True))


def _answers(bundle: Bundle) -> dict[str, CostFunction]:
    """Return the costs of whole answers by the shipped sets, model included."""
    answering = (c for c in bundle.index.candidates if c.features)
    return {f"answer by {set_text(sorted(c.features), c.estimator)}": c.cost for c in answering}


def _shipped(bundle: Bundle) -> ShippedScores:
    shipped = (c for c in bundle.index.candidates if c.features)
    return {(frozenset(c.features), c.estimator): (c.features, c.accuracy) for c in shipped}


def _sets(before: ShippedScores, after: ShippedScores) -> tuple[SetChange, ...]:
    unknown: tuple[tuple[str, ...], None] = ((), None)
    return tuple(
        SetChange((after.get(key) or before[key])[0], before.get(key, unknown)[1], after.get(key, unknown)[1], key[1])
        for key in {**before, **after}
    )


def _deadlines(*bundles: Bundle) -> list[float]:
    """Return the shortest and the longest deadline of each; 1 s if all are for any deadline."""
    stated = {deadline for bundle in bundles for deadline in bundle.promise.budgets if 0.0 < deadline < math.inf}
    return sorted(stated) or [1.0]


def _answer(before: Bundle, after: Bundle, deadline: float, size: float) -> AnswerChange:
    old, new = before.index.best(size, deadline), after.index.best(size, deadline)
    scores, estimators = Fact(old.accuracy, new.accuracy), Fact(old.estimator, new.estimator)
    return AnswerChange(deadline, size, Fact(old.features, new.features), scores, estimators)


def _worst(before: Bundle, after: Bundle, sizes: tuple[float, float]) -> tuple[float, float]:
    """Return the deadline and the size at which the score of the answer falls most."""
    shortest, longest = zip(before.promise.budgets, after.promise.budgets, strict=True)
    return greatest_loss(before.index, after.index, sizes, (min(shortest), max(longest)))


def _replays(before: Bundle, after: Bundle) -> Iterator[ReplayChange]:
    """Yield the expected scores of both, hot, at each deadline that the tables of both have."""
    for o in before.times.outlook:
        if same := after.times.outlook_at(o.deadline):
            yield ReplayChange(o.deadline, Fact(o.score, same.score))
