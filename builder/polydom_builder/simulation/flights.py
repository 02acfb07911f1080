"""A flight recording as trials, to replay its items with another bundle, deadline or policy."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from polydom_builder.exceptions import FitError
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import CostFunction
from polydom_runtime.measuring.cost_samples import AFTER, AROUND, BEFORE, WAKING
from polydom_runtime.records.flight_file import Flight, FlightRecord

from .recorded import Recorded
from .trials import Trials


def recorded_flight(bundle: Bundle, flight: Flight) -> Recorded:
    """Return the recorded answers, with the time of every unit of the bundle on each, recorded or estimated.

    Recorded times are used unchanged. For a feature that was not computed on an item, the time is estimated: its
    expected time, multiplied by the ratio of recorded to expected time of the features that were computed. Items
    without a size are excluded.
    """
    if not set(bundle.names) & set(flight.header.names):
        raise FitError(
            f"The recording must be of features of the bundle, {', '.join(bundle.names)}. "
            f"It is of {', '.join(flight.header.names)}. Give a bundle of the same feature space."
        )
    records = [r for r in flight.records if r.size > 0.0 and math.isfinite(r.size)]
    if not records:
        raise FitError("The recording must hold an item with a size. It holds none.")
    book = _Book(bundle, flight.header.names)
    rows = [book.seconds(record) for record in records]
    units = (*(step.name for step in bundle.times.worst.steps), *bundle.names, *AROUND)
    seconds = np.array([[row[unit] for row in rows] for unit in units])
    models = np.array([book.model_seconds(record) for record in records])
    trials = Trials(units, np.array([r.size for r in records]), seconds, models)
    return Recorded(trials, np.arange(len(trials)), len(trials))


def flown(flight: Flight) -> dict[str, Any]:
    """Return a summary of a recording: number of items, deadline, misses, slow-down and reasons."""
    records = flight.records
    return {
        "items": len(records),
        "torn": flight.n_torn,
        "deadline": flight.header.deadline,
        "policy": flight.header.policy,
        "missed": sum(not r.deadline_met for r in records),
        "slowdown": max((r.slowdown for r in records), default=1.0),
        "reasons": dict(Counter(r.reason for r in records).most_common()),
    }


class _Book:
    """The expected times of a bundle's units, by name, and the steps of its features."""

    def __init__(self, bundle: Bundle, recorded: tuple[str, ...]) -> None:
        planned = bundle.times.planned
        self._recorded, self._bundle = recorded, bundle
        self._costs: Mapping[str, CostFunction] = dict(zip(planned.names, planned.terms, strict=True))
        self._costs |= {WAKING: planned.waking}
        self._step = {
            name: step.name for i, name in enumerate(bundle.names) for step in planned.steps if step.users >> i & 1
        }
        self._models = {model.mask: model.seconds for model in bundle.models}

    def seconds(self, record: FlightRecord) -> dict[str, float]:
        """Return the time of each unit on an item, in seconds: recorded, or estimated if it was not computed.

        A recorded time of a feature may include waking and the step that it ran first, so it is divided among them.
        """
        expected = {unit: cost(record.size) for unit, cost in self._costs.items()}
        taken: dict[str, float] = {}
        for position, ns in zip(record.features, record.feature_ns, strict=True):
            name = self._recorded[position]
            if name not in expected:
                continue
            due = [unit for unit in (WAKING, self._step.get(name)) if unit is not None and unit not in taken]
            whole = expected[name] + sum(expected[unit] for unit in due)
            shares = {unit: expected[unit] / whole if whole else 0.0 for unit in due}
            taken |= {unit: ns * 1e-9 * share for unit, share in shares.items()}
            taken[name] = ns * 1e-9 * (1.0 - sum(shares.values()))
        planned = sum(expected[unit] for unit in taken)
        ratio = sum(taken.values()) / planned if planned > 0.0 else record.slowdown
        around = {BEFORE: 1e-9 * record.before_ns, AFTER: self._after(record)}
        return {u: max(e * ratio, 1e-12) for u, e in expected.items()} | taken | around

    def model_seconds(self, record: FlightRecord) -> float:
        """Return the estimated time of the reference model on an item, in seconds."""
        names = [self._recorded[i] for i in record.answered]
        known = set(names) <= set(self._bundle.names)
        mask = sum(1 << self._bundle.names.index(name) for name in names) if known else 0
        worst = self._models.get(mask, 0.0)
        times = self._bundle.times
        took = record.model_ns * 1e-9 - self._after(record)
        return times.reference_seconds * (took / worst if worst > 0.0 else times.planned.model_ratio)

    def _after(self, record: FlightRecord) -> float:
        """Return the estimated time of the end of an answer, in seconds: a part of what is recorded of a model."""
        return min(self._bundle.times.planned.after(record.size), record.model_ns * 1e-9)
