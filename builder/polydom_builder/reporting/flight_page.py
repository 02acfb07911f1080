"""The report on a flight recording: what happened."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import numpy as np

from polydom_builder.drawing.curves import draw_flight
from polydom_builder.exceptions import FitError
from polydom_runtime.binomial import upper_bound
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.outlook_table import set_text
from polydom_runtime.records.flight_file import Flight, FlightHeader, FlightRecord
from polydom_runtime.tables import TextTable

from .page import SURE, Page, Picture, Section, percent

MOST_COUNTED = 200


def flight_page(flight: Flight, name: str) -> Page:
    """Return the report on a recording; `name` is that of its file.

    Raises `FitError` if the recording holds no item.
    """
    header, records = flight.header, flight.records
    if not records:
        raise FitError("The recording must hold an item, to report on. It holds none. Record while the node answers.")
    late = [r for r in records if not r.deadline_met]
    shares = np.array([r.elapsed_ns for r in records]) / (header.deadline * 1e9)
    bound = upper_bound(len(late), len(records), SURE)
    first, last = (
        f"{datetime.fromtimestamp(r.time_ns / 1e9, UTC):%Y-%m-%d %H:%M:%S}" for r in (records[0], records[-1])
    )
    worst = max(records, key=lambda r: r.elapsed_ns)
    findings = [
        f"{len(late)} of {len(records):,} answers were late; with {percent(SURE)} certainty, at most "
        f"{percent(bound)} are.",
        f"The longest answer took {format_seconds(worst.elapsed_ns / 1e9)}, {shares.max():.2f} of the deadline: item "
        f"{worst.number}, {worst.reason}.",
    ]
    if (largest := max(r.margin for r in records)) > 1.0:
        least = min(r.margin for r in records)
        findings.append(f"The margin was {least:.2f} to {largest:.2f}, and {records[-1].margin:.2f} at the end.")
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
            (f"{max(r.slowdown for r in records):.2f}", "largest slow-down"),
        ],
        findings,
        warnings,
        [_course(records, shares.tolist()), _answers(header, records), _times(header, records), _late(header, late)],
    )


def _course(records: Sequence[FlightRecord], shares: list[float]) -> Section:
    note = (
        "Line: median, band: least to longest time of some answers in a row; crosses: late answers; dotted: "
        "slow-down times the margin."
    )
    numbers, slowdowns = [r.number for r in records], [r.slowdown for r in records]
    high = float(np.quantile(shares, 0.99))
    title = f"99 % of the answers took at most {high:.2f} of the deadline"
    picture = Picture(title, note, lambda axes: draw_flight(axes, numbers, shares, slowdowns))
    reasons = _counted("Reasons of the answers", "reason", (r.reason for r in records))
    return Section("What happened", "", [picture, reasons])


def _answers(header: FlightHeader, records: Sequence[FlightRecord]) -> Section:
    blocks = [_counted("Feature sets that answered", "features", (_set(header, r) for r in records))]
    if header.classes:
        labels = ("(withheld)" if r.label is None else str(header.classes[int(r.label)]) for r in records)
        blocks.append(_counted("Labels", "label", labels))
    else:
        values = [float(r.label) for r in records if r.label is not None and np.isfinite(r.label)]
        quantiles = (0.0, 0.25, 0.5, 0.75, 1.0) if values else ()
        rows = [(f"p{100 * q:g}", f"{np.quantile(values, q):.4g}") for q in quantiles]
        blocks.append(TextTable("Answers", ["quantile", "#value"], rows))
    if confident := [r.confidence for r in records if r.confidence is not None]:
        rows = [(f"p{100 * q:g}", f"{np.quantile(confident, q):.3f}") for q in (0.01, 0.1, 0.5, 0.9, 0.99)]
        blocks.append(TextTable("Confidences", ["quantile", "#confidence"], rows))
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
    kept = ("features", ", ".join(header.names)), ("records kept at most", f"{header.capacity:,}")
    facts = [("bundle", header.bundle), ("policy", header.policy), *kept]
    table = TextTable("Where the time went", columns, rows, ["The dearest first."])
    return Section("Times", "", [table, TextTable("Recording", (), facts)])


def _late(header: FlightHeader, late: Sequence[FlightRecord]) -> Section:
    rows = [
        (
            *(str(r.number), f"{r.size:g}", f"{r.elapsed_ns / (header.deadline * 1e9):.2f}", f"{r.slowdown:.2f}"),
            *(f"{r.margin:.2f}", r.reason, _set(header, r), r.error),
        )
        for r in sorted(late, key=lambda r: -r.elapsed_ns)[:MOST_COUNTED]
    ]
    columns = ["#item", "#size", "#time / deadline", "#slow-down", "#margin", "reason", "features", "failure"]
    table = TextTable("Late answers", columns, rows, [f"The latest first, at most {MOST_COUNTED}."], is_wide=True)
    return Section("Late answers", "" if rows else "No answer was late.", [table] if rows else [])


def _set(header: FlightHeader, record: FlightRecord) -> str:
    return set_text([header.names[i] for i in record.answered], plus=" + ")


def _counted(title: str, what: str, names: Iterable[str]) -> TextTable:
    """Count how often each name occurs."""
    counts = Counter(names)
    rows = [(name, f"{n:,}", percent(n / counts.total())) for name, n in counts.most_common(MOST_COUNTED)]
    return TextTable(title, [what, "#answers", "#share"], rows)
