"""``polydom-node flight``: print the records of a flight recorder."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from polydom_runtime.policy.trace import Trace
from polydom_runtime.prediction import Prediction
from polydom_runtime.records.flight_file import Flight, FlightHeader, load_flight
from polydom_runtime.records.flight_record import FlightRecord
from polydom_runtime.records.metrics import Metrics, finite


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node flight``."""
    command.add_argument("file", metavar="FILE", help="the file that polydom-node run --record writes, or wrote")
    command.add_argument("--summary", action="store_true", help="print one line of metrics over all records instead")


def run(arguments: argparse.Namespace) -> None:
    """Print every record as a line of JSON from the oldest to the newest, or a summary.

    Raises
    ------
    RecordingError
        If the file is not a sound recording.
    """
    flight = load_flight(arguments.file)
    if arguments.summary:
        print(json.dumps({"summary": summary(flight)}))
        return
    for record in flight.records:
        print(json.dumps(as_dict(flight.header, record)))


def as_dict(header: FlightHeader, record: FlightRecord) -> dict[str, Any]:
    """Return a record for JSON: times in nanoseconds, names for positions, the label for its class number."""
    r = record
    label = header.classes[r.label] if isinstance(r.label, int) and header.classes else r.label and finite(r.label)
    return {
        "item": r.number,
        "time": r.time_ns / 1e9,
        "size": finite(r.size),
        "slowdown": finite(r.slowdown),
        "label": label,
        "confidence": r.confidence and finite(r.confidence),
        "features": [header.names[position] for position in r.answered],
        "reason": r.reason,
        "error": r.error,
        "deadline_met": r.deadline_met,
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
    header, trace = flight.header, Trace()
    metrics = Metrics(_Recorded(header, header.deadline))
    for r in flight.records:
        trace.features, trace.marks = list(r.features), marks_of(r)
        names = tuple(header.names[position] for position in r.answered)
        times = r.elapsed_ns, r.deadline_met, r.reason, r.slowdown, r.waited_ns
        metrics.add(Prediction(r.label, names, 0.0, *times, r.error, r.confidence), trace)
    about = {"policy": header.policy, "capacity": header.capacity, "torn": flight.n_torn}
    return {**about, **{name: value for name, value in metrics.as_dict().items() if name not in ("failures", "out")}}


def marks_of(record: FlightRecord) -> list[int]:
    """Return the clock readings of a record, in nanoseconds since its start, in the form that a trace has."""
    return list(accumulate((record.before_ns, *record.feature_ns, record.model_ns), initial=0))
