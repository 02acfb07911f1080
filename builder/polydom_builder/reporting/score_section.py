"""Score against deadline, and late answers."""

from collections.abc import Sequence

from polydom_builder.displays.index_view import IndexView
from polydom_builder.drawing.curves import Curve, draw_late, draw_scores
from polydom_builder.drawing.score_names import ORACLE, SINGLE
from polydom_runtime.binomial import lower_bound, upper_bound
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.model_entry import CONFIDENCE
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.description import Description
from polydom_runtime.describing.outlook_table import set_text
from polydom_runtime.tables import TextTable

from .page import SURE, Picture, Section, percent
from .replayed import Replayed

EXPECTED = (
    "Expected scores: what the models that answer scored on held-out items of the build; a late answer counts as 0, or "
    "as the prior if that is less."
)


def score_section(
    bundle: Bundle, said: Description, view: IndexView, rows: Sequence[Replayed], measured: bool
) -> Section:
    """Return the section on scores and late answers.

    `rows`: the results by rising deadline, at least one. `measured`: whether they are of measured times; the section
    then says how many answers were late.
    """
    whose = "the given times" if measured else "the times of the build"
    known = all(row.outlook.answers for row in rows)
    how = f"replays of {whose}, with the pauses of the machine" if known else "each unit taking its typical time"
    band = f"Band: {percent(CONFIDENCE)} interval for new items of the same kind. " if rows[0].interval else ""
    oracle = "The oracle knows all times in advance, and has no pauses." if ORACLE in rows[0].scores else ""
    note = f"By {how}. {EXPECTED} {band}{oracle}".rstrip()
    title = gain_text([row for row in rows if view.promises(row.deadline)] or rows)
    curves = _curves(rows)
    blocks: list[Picture | TextTable] = [
        Picture(title, note, lambda axes: draw_scores(axes, curves, view.budgets, view.score))
    ]
    if known:
        blocks.append(_late_replayed(rows))
    if measured:
        blocks.append(_scores(rows))
    if (table := said.outlook).rows:
        cells = [(*numbers, features.replace("+", " + ")) for *numbers, features in table.rows]
        hot = "Hot: items come back to back; rehearsed and cold: after a sleep, with and without a rehearsal."
        title = "What deadlines buy, as the bundle states it from the times of its build"
        blocks.append(TextTable(title, table.columns, cells, [hot, *table.notes], is_wide=True))
    return Section("Score against deadline", f"Promise: {said.facts['promise']}.", blocks)


def _scores(rows: Sequence[Replayed]) -> TextTable:
    first, *others = rows[0].scores
    columns = ["#deadline", f"#{first}", f"#{percent(CONFIDENCE)} interval", *(f"#{name}" for name in others)]
    cells = [
        (
            format_seconds(row.deadline),
            f"{row.scores[first]:.3f}",
            "{:.3f} to {:.3f}".format(*row.interval) if row.interval else "–",
            *(f"{row.scores[name]:.3f}" for name in others),
            percent(row.outlook.late),
            set_text(row.outlook.features, plus=" + "),
        )
        for row in rows
    ]
    return TextTable("Expected scores", [*columns, "#late", "most answers by"], cells, is_wide=True)


def gain_text(rows: Sequence[Replayed]) -> str:
    """Return at which deadline the policy gains most on the best single set, in words."""
    best = max(rows, key=lambda row: row.scores[row.policy] - row.scores[SINGLE])
    gain = best.scores[best.policy] - best.scores[SINGLE]
    at, score = format_seconds(best.deadline), best.scores[best.policy]
    if gain < 0.0005:
        return f"At {at}, the expected score is {score:.3f}, as much as that of the best single set"
    return f"At {at}, the expected score is {score:.3f}: {gain:.3f} more than that of the best single set"


def _curves(rows: Sequence[Replayed]) -> list[Curve]:
    deadlines = [row.deadline for row in rows]
    ends = [row.interval for row in rows if row.interval]
    low, high = (list(end) for end in zip(*ends, strict=True)) if len(ends) == len(rows) else ([], [])
    return [
        Curve(name, deadlines, [row.scores[name] for row in rows], *((low, high) if name == rows[0].policy else ()))
        for name in rows[0].scores
    ]


def _late_replayed(rows: Sequence[Replayed]) -> Picture:
    deadlines, curves = [row.deadline for row in rows], []
    for name in rows[0].outlooks:
        of = [row.outlooks[name] for row in rows]
        low, high = (
            [bound(round(o.late * o.answers), o.answers, SURE) for o in of] for bound in (lower_bound, upper_bound)
        )
        curves.append(Curve(name, deadlines, [o.late for o in of], low, high))
    note = (
        f"With the pauses of the machine. Vertical lines: {percent(2 * SURE - 1)} intervals (Clopper and Pearson) from "
        f"{rows[0].outlook.answers:,} recorded answers."
    )
    return _late(curves, note)


def _late(curves: Sequence[Curve], note: str) -> Picture:
    worst = max(max(curve.values) for curve in curves)
    return Picture(f"Hot, at most {percent(worst)} of the answers are late", note, lambda axes: draw_late(axes, curves))
