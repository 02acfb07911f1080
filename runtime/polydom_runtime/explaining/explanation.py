"""How an answer came about: what was done, with which time left, and which sets did not fit."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.causes import printable
from polydom_runtime.costs import basis_terms, format_seconds
from polydom_runtime.features import members
from polydom_runtime.policy.states import Move
from polydom_runtime.prediction import Policy, Prediction
from polydom_runtime.stages import Trace

MOST = 5
"""The most alternatives of each kind that are told."""


@dataclass(frozen=True, slots=True)
class Work:
    """A feature that was begun, or the model."""

    name: str
    """The name of the feature; empty for the model."""
    left_ns: int
    """The time left when it was begun."""
    took_ns: int
    """The time from then to the begin of what came next."""
    worst_ns: int | None = None
    """Its worst case at the size of the item, with the step that it had to compute first, on a machine as slow as it
    was taken to be; None if it is not known."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A set that did not answer."""

    features: tuple[str, ...]
    estimator: str
    """The estimator of its model; empty if there is only one."""
    accuracy: float
    """Its expected score."""
    needs_ns: int
    """The planned time of its whole answer at the size of the item, on a machine as slow as it was taken to be; for the
    strict policy its worst case."""
    lacks_ns: int
    """The excess of `needs_ns` over the time that there was for the item; at most 0 if it fits."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How an answer came about.

    Parameters
    ----------
    answer : Prediction
    size : float
        The size of the item; NaN if it has none.
    deadline_ns : int
        The deadline, from the arrival of the item.
    work : tuple of Work
        Features in the order of time, then the model.
    planned : tuple of str or None
        The set that was worked towards first; empty if nothing but the prior fitted, None if it is not known.
    better, cheaper : tuple of Alternative
        Sets that score more than the answer's, and those that score less and need less time; the nearest first. A set
        is left out if another one scores as much in less time. Empty if the bundle is not known, or the item has no
        size.
    record : int or None
        The number of the record in a flight recording.
    margin : float
        The part of the slow-down that is the margin; see `polydom_runtime.learning.margin`.
    learned : int or None
        How many answers the times of the plan were learned from; None if they are as shipped, or that is not known.
    paused : bool
        Whether the answer is late and would be by any plan, as the promise counts it: the machine paused, or the item
        had waited.
    """

    answer: Prediction
    size: float
    deadline_ns: int
    work: tuple[Work, ...]
    planned: tuple[str, ...] | None = None
    better: tuple[Alternative, ...] = ()
    cheaper: tuple[Alternative, ...] = ()
    record: int | None = None
    margin: float = 1.0
    learned: int | None = None
    paused: bool = False

    def __str__(self) -> str:
        """Return the table that ``polydom-node explain`` prints."""
        return "\n".join(_lines(self))

    @classmethod
    def of(
        cls, answer: Prediction, trace: Trace, names: tuple[str, ...], deadline_ns: int, first: Move | str | None = ""
    ) -> "Explanation":
        """Return the explanation that is possible without the bundle.

        Parameters
        ----------
        answer : Prediction
        trace : Trace
            The trace of this answer.
        names : tuple of str
            The names of all features.
        deadline_ns : int
        first : Move, None or str
            The first decision; None if it was to answer, a text if it is not known.
        """
        planned = None if isinstance(first, str) else tuple(names[i] for i in members(first.target if first else 0))
        begun = [mark - trace.marks[0] + answer.waited_ns for mark in trace.marks[1:]]
        what = [*(names[position] for position in trace.features), ""]
        work = (Work(n, deadline_ns - a, b - a) for n, a, b in zip(what, begun, begun[1:], strict=False))
        return cls(answer, trace.size, deadline_ns, tuple(work), planned)


def with_alternatives(found: Explanation, bundle: Bundle, policy: Policy) -> Explanation:
    """Return an explanation with worst cases, and with the sets that score more or need less.

    `bundle`: the bundle with the times that plans were made with; see `Bundle.at`.
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


def _lines(found: Explanation) -> Iterator[str]:
    answer = found.answer
    margin = f", of which margin {found.margin:.2f}" if found.margin > 1.0 else ""
    waited = f", the item had waited {_ns(answer.waited_ns)} at the call" if answer.waited_ns else ""
    yield f"size {found.size:g}, deadline {_ns(found.deadline_ns)}{waited}, slow-down {answer.slowdown:.2f}{margin}"
    if found.learned is not None:
        yield f"planned with times that were learned here from {found.learned:,} answers"
    if found.planned is not None:
        yield f"planned first: {_set(found.planned)}"
    yield f"{'time left':>10}  {'took':>10}  {'worst case':>10}  what"
    for one in found.work:
        worst = "-" if one.worst_ns is None else _ns(one.worst_ns)
        what = printable(one.name) or f"{'model of ' if answer.features else ''}{_set(answer.features)}, and the end"
        yield f"{_ns(one.left_ns):>10}  {_ns(one.took_ns):>10}  {worst:>10}  {what}"
    label = "no label" if answer.label is None else printable(repr(answer.label))
    sure = "" if answer.confidence is None else f", confidence {answer.confidence:.3f}"
    score = "" if math.isnan(answer.accuracy) else f", expected score {answer.accuracy:.3f}"
    when = "in time" if answer.deadline_met else "late"
    yield f"answer: {label} by {_set(answer.features)} after {_ns(answer.elapsed_ns)}, {when}{score}{sure}"
    yield f"reason: {printable(answer.reason)}"
    if found.paused:
        yield _pause(found)
    if answer.error:
        yield f"error: {printable(answer.error)}"
    yield from _table("sets that score more:", found.better)
    yield from _table("sets that score less and are quicker:", found.cheaper)
    if found.record is not None:
        yield f"record {found.record} of the flight recording"


def _pause(found: Explanation) -> str:
    """Say what made an answer late by any plan; a pause was in the part that alone took longer than the deadline."""
    if found.answer.waited_ns > found.deadline_ns:
        return f"late by any plan: the item had waited for {_ns(found.answer.waited_ns)} when it came to the node"
    longest = max(found.work, key=lambda one: one.took_ns, default=None)
    if longest is None or longest.took_ns <= found.deadline_ns:
        return "late by any plan: hardly any time was left at the call, or the machine paused"
    part = f"{printable(longest.name)} was computed" if longest.name else "the model ran"
    return f"late by any plan: the machine paused while {part}, which took {_ns(longest.took_ns)}"


def _table(title: str, sets: Iterable[Alternative]) -> Iterator[str]:
    rows = [
        f"  {one.accuracy:.3f}  {_ns(one.needs_ns):>10}  {_fit(one.lacks_ns):>22}  "
        f"{_set(one.features)}{f' of {printable(one.estimator)}' if one.estimator else ''}"
        for one in sets
    ]
    if rows:
        yield title
        yield f"  {'score':<5}  {'planned':>10}  {'':>22}  features"
        yield from rows


def _fit(lacks_ns: int) -> str:
    return f"{_ns(lacks_ns)} too long" if lacks_ns > 0 else f"{_ns(-lacks_ns)} to spare"


def _set(features: Iterable[str]) -> str:
    return "+".join(map(printable, features)) or "the prior"


def _ns(ns: float) -> str:
    return f"-{format_seconds(-ns * 1e-9)}" if ns < 0 else format_seconds(ns * 1e-9)
