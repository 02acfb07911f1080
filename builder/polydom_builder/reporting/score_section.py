"""Score against deadline, and late answers."""

from collections import Counter
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from polydom_builder.displays.index_view import IndexView
from polydom_builder.drawing.lateness import LateCurve, draw_late
from polydom_builder.drawing.score_curves import ScoreCurve, draw_scores
from polydom_builder.drawing.score_names import SINGLE
from polydom_runtime.binomial import lower_bound, upper_bound
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import BundleTimes
from polydom_runtime.bundles.estimates import CONFIDENCE
from polydom_runtime.bundles.outlook import Outlook
from polydom_runtime.bundles.regimes import REGIMES
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.promise_text import promise_text

from .figures import figure, percent
from .page import Picture, Section, Table
from .replayed import Replayed

SURE = 0.95
"""The confidence of each end of an interval of a share of late answers."""

EXPECTED = (
    "Expected scores: what the models that answer scored on held-out items of the build; a late answer counts as 0."
)


def score_section(bundle: Bundle, view: IndexView, rows: Sequence[Replayed], measured: bool) -> Section:
    """Return the section on scores and late answers.

    `rows`: by rising deadline, at least one. `measured`: whether they are of measured times; the section then says how
    many answers were late.
    """
    how = "replays of measured times" if measured else "each unit taking its typical time"
    band = f"Band: {percent(CONFIDENCE)} interval for new items of the same kind. " if rows[0].interval else ""
    note = f"By {how}. {EXPECTED} {band}The oracle knows all times in advance."
    blocks: list[Picture | Table] = [
        Picture(finding([row for row in rows if view.promises(row.deadline)] or rows), note, lambda: _draw(view, rows))
    ]
    outlooks = {regime: times.outlook for regime, times in _regimes(bundle).items() if times.outlook}
    if measured:
        blocks.append(_late_replayed(rows))
    elif outlooks:
        blocks.append(_late_at_build(outlooks))
    blocks.append(_scores(rows, measured))
    if outlooks:
        columns = ["regime", "#deadline", "#score", "#late", "#prior", "most answers by"]
        hot = "Hot: items come back to back; rehearsed and cold: after a sleep, with and without a rehearsal."
        blocks.append(Table("As the build replayed it", columns, _outlook_rows(outlooks), hot, "wide table"))
    promise = promise_text(bundle)
    return Section("Score against deadline", f"Promise: {promise}.", blocks)


def _scores(rows: Sequence[Replayed], measured: bool) -> Table:
    first, *others = rows[0].scores
    columns = ["#deadline", f"#{first}", f"#{percent(CONFIDENCE)} interval", *(f"#{name}" for name in others)]
    columns += ["#late"] * measured
    cells = [
        (
            format_seconds(row.deadline),
            f"{row.scores[first]:.3f}",
            "{:.3f} to {:.3f}".format(*row.interval) if row.interval else "–",
            *(f"{row.scores[name]:.3f}" for name in others),
            *([percent(row.outcome.missed / len(row.outcome.answers))] * measured),
            _most(row),
        )
        for row in rows
    ]
    return Table("Expected scores", [*columns, "most answers by"], cells, "", "wide table")


def finding(rows: Sequence[Replayed]) -> str:
    """Return at which deadline the policy gains most on the best single set, in words."""
    best = max(rows, key=lambda row: row.scores[row.policy] - row.scores[SINGLE])
    gain = best.scores[best.policy] - best.scores[SINGLE]
    at, score = format_seconds(best.deadline), best.scores[best.policy]
    if gain < 0.0005:
        return f"At {at}, the expected score is {score:.3f}, as much as that of the best single set"
    return f"At {at}, the expected score is {score:.3f}: {gain:.3f} more than that of the best single set"


def _draw(view: IndexView, rows: Sequence[Replayed]) -> Figure:
    made, axes = figure()
    deadlines = [row.deadline for row in rows]
    curves = []
    for name in rows[0].scores:
        low, high = [], []
        if name == rows[0].policy and all(row.interval for row in rows):
            low, high = (list(ends) for ends in zip(*(row.interval or () for row in rows), strict=True))
        curves.append(ScoreCurve(name, deadlines, [row.scores[name] for row in rows], low, high))
    draw_scores(axes, curves, view.budgets, view.score)
    return made


def _most(row: Replayed) -> str:
    """Return the set that answers most often, and its share."""
    sets = Counter(" + ".join(answer.features) or "(prior)" for answer in row.outcome.answers)
    (name, count), *_ = sets.most_common(1)
    return f"{percent(count / len(row.outcome.answers))} {name}"


def _late_replayed(rows: Sequence[Replayed]) -> Picture:
    items = len(rows[0].outcome.answers)
    curves = [_late_curve(name, rows, items) for name in rows[0].outcomes]
    worst = max(max(curve.shares) for curve in curves)
    note = (
        f"{items:,} replayed items at each deadline. Vertical lines: {percent(2 * SURE - 1)} intervals (Clopper and "
        "Pearson). Pauses, in which other programs have the processor, are not replayed."
    )
    return Picture(f"At most {percent(worst)} of the answers are late", note, lambda: _late(curves))


def _late_at_build(outlooks: Mapping[str, Sequence[Outlook]]) -> Picture:
    curves = [LateCurve(regime, [o.deadline for o in of], [o.late for o in of]) for regime, of in outlooks.items()]
    worst = max(max(curve.shares) for curve in curves)
    note = "As the build replayed its measured times, with the pauses that they had."
    return Picture(f"At most {percent(worst)} of the answers are late", note, lambda: _late(curves))


def _late_curve(name: str, rows: Sequence[Replayed], items: int) -> LateCurve:
    missed = [row.outcomes[name].missed for row in rows]
    return LateCurve(
        name,
        [row.deadline for row in rows],
        [count / items for count in missed],
        [lower_bound(count, items, SURE) for count in missed],
        [upper_bound(count, items, SURE) for count in missed],
    )


def _late(curves: Sequence[LateCurve]) -> Figure:
    made, axes = figure()
    draw_late(axes, curves)
    return made


def _regimes(bundle: Bundle) -> dict[str, BundleTimes]:
    return {"hot": bundle.times} | {name: bundle.regimes[name].times for name in REGIMES if name in bundle.regimes}


def _outlook_rows(outlooks: Mapping[str, Sequence[Outlook]]) -> list[tuple[str, ...]]:
    return [
        (
            *(regime, format_seconds(o.deadline), f"{o.score:.3f}", percent(o.late), percent(o.prior_share)),
            " + ".join(o.features) or "(prior)",
        )
        for regime, of in outlooks.items()
        for o in of
    ]
