"""A comparison as text."""

from collections.abc import Iterator, Sequence
from typing import Any

from polydom_runtime.causes import printable
from polydom_runtime.costs import format_seconds

from .comparison import Comparison

PRIOR = "(class prior)"


def as_report(found: Comparison) -> str:
    """Return what changed, as a person reads it. What is the same is only named or counted."""
    return "\n".join([*_facts(found), *_units(found), *_sets(found), *_answers(found), *_times(found)])


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


def _sets(found: Comparison) -> Iterator[str]:
    if found.kind != "bundles":
        return
    yield "feature sets shipped (score before, after)"
    for row in found.sets:
        how = "added" if row.before is None else "removed" if row.after is None else ""
        yield f"  {_score(row.before)}  {_score(row.after)}  {how:<7}  {_named(row.features, row.estimator)}"


def _score(score: float | None) -> str:
    return "    -" if score is None else f"{score:.3f}"


def _named(features: Sequence[str], estimator: str) -> str:
    return ("+".join(features) or PRIOR) + (f" of {estimator}" if estimator else "")


def _answers(found: Comparison) -> Iterator[str]:
    if found.answers:
        yield f"{'deadline':>10} {'size':>8}  score before, after  answers by"
    for row in found.answers:
        names = [_named(*pair) for pair in zip(row.features, row.estimators, strict=True)]
        by = names[0] if names[0] == names[1] else " -> ".join(names)
        score = f"{row.score.before:.3f}  {row.score.after:.3f} {row.score.after - row.score.before:+7.3f}"
        yield f"{format_seconds(row.deadline):>10} {row.size:8.6g}  {score}  {by}"


def _times(found: Comparison) -> Iterator[str]:
    changed = [row for row in found.times if row.before != row.after]
    yield f"times: {len(found.times) - len(changed)} of {len(found.times)} are the same"
    if changed:
        yield f"  {'size':>8} {'before':>9} {'after':>9}  ratio  noise  unit"
    for row in changed:
        times = f"{format_seconds(row.before):>9} {format_seconds(row.after):>9}"
        noise = "    -" if row.noise is None else f"{row.noise:5.2f}"
        mark = " (more than noise)" if row.is_beyond_noise else ""
        yield f"  {row.size:8.6g} {times}  {row.growth:5.2f}  {noise}  {row.unit}, {row.kind}{mark}"
