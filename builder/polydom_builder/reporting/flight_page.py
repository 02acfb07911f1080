"""The report on a flight recording: what happened."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from matplotlib.figure import Figure

from polydom_builder.drawing.flight_trace import draw_flight
from polydom_builder.exceptions import FitError
from polydom_runtime.binomial import upper_bound
from polydom_runtime.costs import format_seconds
from polydom_runtime.records.flight_file import Flight, FlightHeader
from polydom_runtime.records.flight_record import FlightRecord

from .figures import figure, percent
from .page import Facts, Page, Picture, Section, Table

SURE = 0.95
MOST_ROWS = 200


def flight_page(flight: Flight, name: str) -> Page:
    """Return the report on a recording; `name` is that of its file.

    Raises `FitError` if the recording holds no item.
    """
    header, records = flight.header, flight.records
    if not records:
        raise FitError("The recording must hold an item, to report on. It holds none. Record while the node answers.")
    late = [r for r in records if not r.deadline_met]
    shares = np.array([r.elapsed_ns for r in records]) / (header.deadline * 1e9)
    slow = max(r.slowdown for r in records)
    bound = upper_bound(len(late), len(records), SURE)
    first, last = (
        datetime.fromtimestamp(r.time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S") for r in (records[0], records[-1])
    )
    worst = max(records, key=lambda r: r.elapsed_ns)
    findings = [
        f"{len(late)} of {len(records):,} answers were late; with {percent(SURE)} certainty, at most "
        f"{percent(bound)} are.",
        f"The longest answer took {format_seconds(worst.elapsed_ns / 1e9)}, {shares.max():.2f} of the deadline: item "
        f"{worst.number}, {worst.reason}.",
    ]
    failed = [r for r in records if r.error]
    warnings = [f"Something failed on {len(failed):,} of the items, first {failed[0].error}."] if failed else []
    warnings += [f"{flight.n_torn} records are torn and left out."] if flight.n_torn else []
    return Page(
        "flight",
        str(header.identity) if header.bundle_name else name,
        f"{first} to {last} UTC, recorded in {name}",
        [
            (f"{len(records):,}", "items"),
            (format_seconds(header.deadline), "deadline"),
            (percent(len(late) / len(records)), "late"),
            (f"{np.median(shares):.2f}", "median of time / deadline"),
            (f"{slow:.2f}", "largest slow-down"),
        ],
        findings,
        warnings,
        [
            _course(records, shares.tolist()),
            _answers(header, records),
            _times(header, records),
            _lateness(header, late),
        ],
    )


def _course(records: Sequence[FlightRecord], shares: list[float]) -> Section:
    note = (
        "Line: median, band: least to longest time of some answers in a row; crosses: late answers; dotted: the "
        "estimate of the slow-down."
    )

    def draw() -> Figure:
        made, axes = figure()
        draw_flight(axes, [r.number for r in records], shares, [r.slowdown for r in records])
        return made

    high = float(np.quantile(shares, 0.99))
    title = f"99 % of the answers took at most {high:.2f} of the deadline"
    reasons = Counter(r.reason for r in records)
    return Section(
        "What happened",
        "",
        [
            Picture(title, note, draw),
            Table("Reasons of the answers", ["reason", "#answers", "#share"], _counted(reasons)),
        ],
    )


def _answers(header: FlightHeader, records: Sequence[FlightRecord]) -> Section:
    sets = Counter(" + ".join(header.names[i] for i in r.answered) or "(prior)" for r in records)
    blocks = [Table("Feature sets that answered", ["features", "#answers", "#share"], _counted(sets))]
    if header.classes:
        labels = Counter("(withheld)" if r.label is None else str(header.classes[int(r.label)]) for r in records)
        blocks.append(Table("Labels", ["label", "#answers", "#share"], _counted(labels)))
    else:
        values = [float(r.label) for r in records if r.label is not None and np.isfinite(r.label)]
        rows = (
            [(f"p{100 * q:g}", f"{np.quantile(values, q):.4g}") for q in (0.0, 0.25, 0.5, 0.75, 1.0)] if values else []
        )
        blocks.append(Table("Answers", ["quantile", "#value"], rows))
    confident = [r.confidence for r in records if r.confidence is not None]
    if confident:
        rows = [(f"p{100 * q:g}", f"{np.quantile(confident, q):.3f}") for q in (0.01, 0.1, 0.5, 0.9, 0.99)]
        blocks.append(Table("Confidences", ["quantile", "#confidence"], rows))
    return Section("Answers", "", blocks)


def _times(header: FlightHeader, records: Sequence[FlightRecord]) -> Section:
    times: dict[str, list[float]] = defaultdict(list)
    for r in records:
        times["(wait before the call)"].append(r.waited_ns)
        times["(before the first feature)"].append(r.before_ns)
        times["(model)"].append(r.model_ns)
        for i, ns in zip(r.features, r.feature_ns, strict=True):
            times[header.names[i]].append(ns)
    rows = [
        (name, f"{len(of):,}", *(format_seconds(max(float(np.quantile(of, q)), 0.0) / 1e9) for q in (0.5, 0.99, 1.0)))
        for name, of in sorted(times.items(), key=lambda pair: -sum(pair[1]))
    ]
    columns = ["part of an answer", "#times", "#median", "#p99", "#longest"]
    facts = [
        ("bundle", header.bundle),
        ("policy", header.policy),
        ("features", ", ".join(header.names)),
        ("records kept at most", f"{header.capacity:,}"),
    ]
    return Section(
        "Times", "", [Table("Where the time went", columns, rows, "The dearest first."), Facts("Recording", facts)]
    )


def _lateness(header: FlightHeader, late: Sequence[FlightRecord]) -> Section:
    rows = [
        (
            str(r.number),
            f"{r.size:g}",
            f"{r.elapsed_ns / (header.deadline * 1e9):.2f}",
            f"{r.slowdown:.2f}",
            *(r.reason, " + ".join(header.names[i] for i in r.answered) or "(prior)", r.error),
        )
        for r in sorted(late, key=lambda r: -r.elapsed_ns)[:MOST_ROWS]
    ]
    columns = ["#item", "#size", "#time / deadline", "#slow-down", "reason", "features", "failure"]
    lead = "" if rows else "No answer was late."
    note = f"The latest first, at most {MOST_ROWS}."
    return Section("Late answers", lead, [Table("Late answers", columns, rows, note, "wide table")] if rows else [])


def _counted(counts: Counter[str]) -> list[tuple[str, ...]]:
    total = counts.total()
    return [(name, f"{count:,}", percent(count / total)) for name, count in counts.most_common(MOST_ROWS)]
