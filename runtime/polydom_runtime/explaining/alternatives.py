"""What the bundle says of an answer: worst cases of its parts, and the sets that could have answered instead."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.costs import basis_terms
from polydom_runtime.prediction import Policy

from .explanation import Alternative, Explanation, Work

MOST = 5
"""The most alternatives of each kind that are told."""


def with_alternatives(found: Explanation, bundle: Bundle, policy: Policy) -> Explanation:
    """Return an explanation with worst cases, and with the sets that score more or need less.

    `bundle`: with the times that plans were made with; see `Bundle.at`.
    """
    if not 0.0 < found.size < math.inf:
        return found
    own = found.answer.accuracy
    others = _skyline([_alternative(found, bundle, model, policy) for model in bundle.models])
    return replace(
        found,
        work=_with_worst_cases(found, bundle),
        better=tuple(other for other in others if other.accuracy > own)[:MOST],
        cheaper=tuple(other for other in others if other.accuracy < own)[: -MOST - 1 : -1],
    )


def _alternative(found: Explanation, bundle: Bundle, model: ModelEntry, policy: Policy) -> Alternative:
    needs = math.ceil(_seconds(bundle, model, found.size, policy) * found.answer.slowdown * 1e9)
    there_was = found.deadline_ns - found.answer.waited_ns
    features = tuple(bundle.names[i] for i in model.order)
    return Alternative(features, model.estimator, model.accuracy, needs, needs - there_was)


def _seconds(bundle: Bundle, model: ModelEntry, n: float, policy: Policy) -> float:
    """Return the time that a policy plans for the whole answer of a model to an item of size n."""
    worst, planned = bundle.times.worst, bundle.times.planned
    longest = model.cost(n) if model.cost else worst.of_set(model.mask)(n) + model.seconds
    if policy == "strict":
        return longest
    return min(planned.of_set(model.mask)(n) + model.seconds * planned.model_ratio, longest)


def _skyline(sets: Sequence[Alternative]) -> list[Alternative]:
    """Return the sets that score more than all that need no more time, by rising time."""
    kept: list[Alternative] = []
    for one in sorted(sets, key=lambda one: (one.needs_ns, -one.accuracy)):
        if not kept or one.accuracy > kept[-1].accuracy:
            kept.append(one)
    return kept


def _with_worst_cases(found: Explanation, bundle: Bundle) -> tuple[Work, ...]:
    terms, done, work = basis_terms(found.size), 0, []
    for one in found.work:
        seconds = next((m.seconds for m in bundle.models if _answers(bundle, m, found)), None)
        if one.name:
            feature = 1 << bundle.names.index(one.name)
            seconds = float(bundle.times.worst.of_sets(np.array([feature]), done)[0] @ terms)
            done |= feature
        worst = None if seconds is None else math.ceil(seconds * found.answer.slowdown * 1e9)
        work.append(replace(one, worst_ns=worst))
    return tuple(work)


def _answers(bundle: Bundle, model: ModelEntry, found: Explanation) -> bool:
    names = {bundle.names[i] for i in model.order}
    return names == set(found.answer.features) and model.accuracy == found.answer.accuracy
