"""A report in tables: for the terminal of its maker, and for the page about all boards."""

from collections.abc import Callable
from typing import TypeVar

from polydom_runtime.causes import printable
from polydom_runtime.costs import format_seconds
from polydom_runtime.device.board import BoardState
from polydom_runtime.tables import TextTable, format_bytes, percent

from .making import WAYS
from .report import BoardReport

UNKNOWN = "not known"
T = TypeVar("T")


def tables(report: BoardReport) -> list[TextTable]:
    """Return what a report says: the conditions, the kernels, and the answers of a bundle if there are any."""
    title = printable(f"{report.facts.device}, {report.facts.began[:10]}")
    conditions = [(what, printable(text)) for what, text in _conditions(report)]
    found = [TextTable(title, ("condition", "found"), conditions, report.missing), _kernels(report)]
    return [*found, _answers(report)] if report.answers else found


def _conditions(report: BoardReport) -> list[tuple[str, str]]:
    facts, states, onnx = report.facts, (report.before, report.after), report.onnx
    levels = [finding.level for finding in report.findings]
    return [
        ("revision", facts.revision or UNKNOWN),
        ("processor", f"{facts.cpu}, {_known(facts.cores, str)} cores"),
        ("bits", f"{facts.process_bits} of the process, {facts.machine_bits} of the system ({facts.machine})"),
        ("system", f"Linux {facts.kernel}, {_known(facts.memory_bytes, format_bytes)} of memory"),
        ("software", f"Python {facts.python}, numpy {facts.numpy}, onnxruntime {facts.onnxruntime}"),
        ("governor", ", ".join(facts.governors) or UNKNOWN),
        ("clock", _both(states, lambda state: _known(state.clock_hz, lambda hz: f"{hz / 1e6:,.0f} MHz"))),
        ("temperature", _both(states, lambda state: _known(state.celsius, lambda c: f"{c:.1f} °C"))),
        ("throttle flags", _both(states, lambda state: _known(state.throttled, hex))),
        ("share of a processor", percent(report.processor_share)),
        ("power draw", _known(report.watts, lambda watts: f"{watts:g} W")),
        ("doctor", f"{levels.count('problem')} problems, {levels.count('warning')} warnings"),
        ("newest ONNX", _known(onnx, lambda v: f"IR {v.ir_version}, opset {v.opset}, ai.onnx.ml {v.ml_opset}")),
        (
            "cold adds to a unit",
            f"{format_seconds(report.cold.cold_seconds)}, within a factor of {report.cold.cold_uncertainty:.2g}",
        ),
        ("note", report.note or "none"),
    ]


def _kernels(report: BoardReport) -> TextTable:
    """Return the kernels and the reference models of both engines; some were timed alone or in answers only."""
    spreads, session = report.spreads, report.cold
    rows = []
    for name in dict.fromkeys([*spreads, *session.cold]):
        alone = (format_seconds(report.seconds(name)), f"{spreads[name]:.2f}") if name in spreads else ("", "")
        answers = (format_seconds(t[name].median) if name in t else "" for t in (session.hot, session.cold))
        rows.append((name, *alone, *answers))
    columns = "kernel or model", "#alone", "#sessions differ by", "#in answers, hot", "#after 20 ms asleep"
    return TextTable("Median times", columns, rows)


def _answers(report: BoardReport) -> TextTable:
    rows = [
        (WAYS[way], f"{c.items:,}", f"{c.misses:,}", percent(c.late_share), percent(c.rate_at_most), c.verdict)
        for way, c in report.answers.items()
    ]
    columns = "items came as", "#items", "#late", "#share", "#no more than", "at most 1 % late"
    deadline = format_seconds(next(iter(report.answers.values())).deadline)
    return TextTable(f"Answers within {deadline}", columns, rows)


def _known(value: T | None, shown: Callable[[T], str]) -> str:
    return UNKNOWN if value is None else shown(value)


def _both(states: tuple[BoardState, BoardState], shown: Callable[[BoardState], str]) -> str:
    before, after = map(shown, states)
    return before if before == after == UNKNOWN else f"{before} before, {after} after"
