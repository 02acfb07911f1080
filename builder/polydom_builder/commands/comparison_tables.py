"""A comparison as text and tables."""

from collections.abc import Iterator, Sequence
from typing import Any

from polydom_builder.comparison import Comparison
from polydom_builder.comparison.comparison import TimeChange
from polydom_runtime.causes import printable
from polydom_runtime.costs import format_seconds

from .tables import print_table, print_text

PRIOR = "(class prior)"


def print_comparison(found: Comparison) -> None:
    """Print what changed. What is the same is only named or counted."""
    print_text("\n".join([*_facts(found), *_units(found), ""]))
    if found.kind == "bundles":
        sets = "before", "after", "change ", "features "
        print_table("feature sets shipped, with their scores", sets, [*_sets(found)])
    if found.answers:
        answers = "deadline", "size", "before", "after", "change", "answers by "
        print_table("scores of answers", answers, [*_answers(found)])
    changed = [row for row in found.times if row.before != row.after]
    print_text(f"times: {len(found.times) - len(changed)} of {len(found.times)} are the same")
    if changed:
        times = "size", "before", "after", "ratio", "noise", "unit "
        print_table("times that changed", times, [*map(_time, changed)])


def _facts(found: Comparison) -> Iterator[str]:
    for what, (before, after) in found.facts.items():
        if before != after:
            yield f"{what}: {_text(before)} -> {_text(after)}"
    yield f"the same: {', '.join(what for what, (a, b) in found.facts.items() if a == b) or 'none of these'}"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{name} {held}" for name, held in value.items()]
    if isinstance(value, list):
        value = ", ".join("any" if part is None else str(part) for part in value)
    return printable(f"{value:g}" if isinstance(value, float) else str(value)) or "not stated"


def _units(found: Comparison) -> Iterator[str]:
    units = found.units
    what = "features" if found.kind == "bundles" else "units"
    for how, names in (("the same", units.same), ("added", units.added), ("removed", units.removed)):
        yield f"{what} {how}: {', '.join(names) or 'none'}"


def _sets(found: Comparison) -> Iterator[tuple[str, ...]]:
    for row in found.sets:
        how = "added" if row.before is None else "removed" if row.after is None else ""
        yield _score(row.before), _score(row.after), how, _named(row.features, row.estimator)


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.3f}"


def _named(features: Sequence[str], estimator: str) -> str:
    return ("+".join(features) or PRIOR) + (f" of {estimator}" if estimator else "")


def _answers(found: Comparison) -> Iterator[tuple[str, ...]]:
    for row in found.answers:
        names = [_named(*pair) for pair in zip(row.features, row.estimators, strict=True)]
        by = names[0] if names[0] == names[1] else " -> ".join(names)
        scores = f"{row.score.before:.3f}", f"{row.score.after:.3f}", f"{row.score.after - row.score.before:+.3f}"
        yield format_seconds(row.deadline), f"{row.size:.6g}", *scores, by


def _time(row: TimeChange) -> tuple[str, ...]:
    times = format_seconds(row.before), format_seconds(row.after), f"{row.growth:.2f}"
    noise = "-" if row.noise is None else f"{row.noise:.2f}"
    mark = " (more than noise)" if row.is_beyond_noise else ""
    return f"{row.size:.6g}", *times, noise, f"{row.unit}, {row.kind}{mark}"
