"""``polydom-node flight``: print the records of a flight recorder."""

import json
import math
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.exceptions import BundleMismatchError, RecordingError
from polydom_runtime.explaining.explanation import Explanation, with_alternatives
from polydom_runtime.prediction import Policy, Prediction
from polydom_runtime.records.flight_file import Flight, FlightHeader, FlightRecord, load_flight
from polydom_runtime.records.metrics import Metrics, finite
from polydom_runtime.stages import Trace

from .options import Group, Option
from .outcome import Outcome
from .terminal import show

UNRECORDED = "failures", "out", "learning"
"""The metrics that need the predictor itself."""

OPTIONS = (
    Option("file FILE", "the file that polydom-node run --record writes, or wrote"),
    Group(
        "",
        Option("--summary", "print metrics over all records instead: one line, or on a terminal a text"),
        Option("--explain ITEM", "tell how the answer to an item came about instead", int),
    ),
    Option("--bundle BUNDLE", "with --explain: the recorded bundle, to tell worst cases and the sets that did not fit"),
)


def run(arguments: Namespace) -> Outcome:
    """Print every record as a line of JSON from the oldest to the newest, or a summary."""
    flight = load_flight(arguments.file)
    if arguments.summary:
        found = summary(flight)
        if sys.stdout.isatty():
            from .summary_text import recorded_facts, show_folded, summary_lines  # only here: often, a program reads

            show_folded(summary_lines(recorded_facts(found)))
        else:
            print(json.dumps({"summary": found}))
        return Outcome({"summary": found})
    if arguments.explain is not None:
        bundle = None if arguments.bundle is None else load_bundle(arguments.bundle)
        told = explanation(flight, arguments.explain, bundle)
        show(str(told))
        return Outcome(told)
    records = [as_dict(flight.header, record) for record in flight.records]
    for record in records:
        print(json.dumps(record))
    return Outcome({"records": records, "torn": flight.n_torn})


def as_dict(header: FlightHeader, record: FlightRecord) -> dict[str, Any]:
    """Return a record for JSON: times in nanoseconds, names for positions, the label for its class number."""
    r = record
    label = header.classes[r.label] if isinstance(r.label, int) and header.classes else r.label and finite(r.label)
    return {
        "item": r.number,
        "time": r.time_ns / 1e9,
        "size": finite(r.size),
        "slowdown": finite(r.slowdown),
        "margin": finite(r.margin),
        "label": label,
        "confidence": r.confidence and finite(r.confidence),
        "features": [header.names[position] for position in r.answered],
        "reason": r.reason,
        "error": r.error,
        "deadline_met": r.deadline_met,
        "paused": r.paused,
        "elapsed_ns": r.elapsed_ns,
        "waited_ns": r.waited_ns,
        "before_ns": r.before_ns,
        "steps_ns": {header.names[i]: ns for i, ns in zip(r.features, r.feature_ns, strict=True)},
        "model_ns": r.model_ns,
    }


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The attributes of the recorded predictor that metrics need."""

    bundle: FlightHeader
    deadline: float
    failures: Mapping[str, int] = field(default_factory=dict)
    out: frozenset[str] = frozenset()


def summary(flight: Flight) -> dict[str, Any]:
    """Return the metrics over all records, with the policy and the capacity of the recording."""
    header = flight.header
    metrics = Metrics(_Recorded(header, header.deadline))
    for r in flight.records:
        metrics.add(answer_of(header, r), trace_of(r))
    margins = [r.margin for r in flight.records]
    margin = {"smallest": min(margins), "largest": max(margins), "last": margins[-1]} if margins else None
    about = {"policy": header.policy, "capacity": header.capacity, "torn": flight.n_torn, "margin": margin}
    return {**about, **{name: value for name, value in metrics.as_dict().items() if name not in UNRECORDED}}


def explanation(flight: Flight, item: int, bundle: Bundle | None) -> Explanation:
    """Return how the newest recorded answer to an item came about."""
    header, found = flight.header, [r for r in flight.records if r.number == item]
    if not found:
        numbers = [r.number for r in flight.records]
        known = f"{min(numbers)} to {max(numbers)}" if numbers else "none"
        raise RecordingError(f"The item must be one of the recording, which has {known}. Got {item}.")
    if bundle is not None and bundle.sha256 != header.bundle:
        raise BundleMismatchError(
            f"The bundle must be that of the recording, {header.bundle[:12]}. Got {bundle.sha256[:12]}. Give that one."
        )
    record = found[-1]
    answer, deadline_ns = answer_of(header, record), round(header.deadline * 1e9)
    if bundle is not None:
        mask = sum(1 << position for position in record.answered)
        scores = [model.accuracy for model in bundle.models if model.mask == mask]
        answer = answer._replace(accuracy=max(scores) if mask and scores else bundle.prior.accuracy)
    answer = answer._replace(label=as_dict(header, record)["label"])
    told = Explanation.of(answer, trace_of(record), header.names, deadline_ns)
    told = replace(told, record=record.sequence, margin=record.margin, paused=record.paused)
    policy: Policy = "strict" if header.policy == "strict" else "anytime"
    return told if bundle is None else with_alternatives(told, bundle.at(header.deadline), policy)


def answer_of(header: FlightHeader, record: FlightRecord) -> Prediction:
    """Return a recorded answer; its label is a class number, and its score is not known (NaN)."""
    r = record
    names = tuple(header.names[position] for position in r.answered)
    times = r.elapsed_ns, r.deadline_met, r.reason, r.slowdown, r.waited_ns
    return Prediction(r.label, names, math.nan, *times, r.error, r.confidence)


def trace_of(record: FlightRecord) -> Trace:
    """Return the trace of a recorded answer; its times start at 0."""
    trace = Trace()
    trace.size, trace.features = record.size, list(record.features)
    trace.marks = list(accumulate((record.before_ns, *record.feature_ns, record.model_ns), initial=0))
    return trace
