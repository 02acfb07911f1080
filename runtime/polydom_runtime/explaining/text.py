"""An explanation as text for people."""

import math
from collections.abc import Iterable, Iterator

from polydom_runtime.causes import printable
from polydom_runtime.costs import format_seconds

from .explanation import Alternative, Explanation


def explanation_text(found: Explanation) -> str:
    """Return an explanation as lines; texts of items and bundles in it are printable."""
    return "\n".join(_lines(found))


def _lines(found: Explanation) -> Iterator[str]:
    answer = found.answer
    waited = f", of which {_ns(answer.waited_ns)} were over at the call" if answer.waited_ns else ""
    yield f"size {found.size:g}, deadline {_ns(found.deadline_ns)}{waited}, slow-down {answer.slowdown:.2f}"
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
    if answer.error:
        yield f"error: {printable(answer.error)}"
    yield from _table("sets that score more:", found.better)
    yield from _table("sets that score less and are quicker:", found.cheaper)
    if found.record is not None:
        yield f"record {found.record} of the flight recording"


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
