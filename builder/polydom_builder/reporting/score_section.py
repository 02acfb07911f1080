"""Score against deadline, and late answers."""

from collections import Counter
from collections.abc import Sequence

from polydom_builder.displays.index_view import IndexView
from polydom_builder.drawing.curves import Curve, draw_late, draw_scores
from polydom_builder.drawing.score_names import SINGLE
from polydom_runtime.binomial import lower_bound, upper_bound
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.model_entry import CONFIDENCE
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.description import Description
from polydom_runtime.describing.outlook_table import set_text, times_of_regimes
from polydom_runtime.tables import TextTable

from .page import SURE, Picture, Section, percent
from .replayed import Replayed

EXPECTED = (
    "Expected scores: what the models that answer scored on held-out items of the build; a late answer counts as 0."
)


def score_section(
    bundle: Bundle, said: Description, view: IndexView, rows: Sequence[Replayed], measured: bool
) -> Section:
    """Return the section on scores and late answers.

    `rows`: the results by rising deadline, at least one. `measured`: whether they are of measured times; the section
    then says how many answers were late.
    """
    how = "replays of measured times" if measured else "each unit taking its typical time"
    band = f"Band: {percent(CONFIDENCE)} interval for new items of the same kind. " if rows[0].interval else ""
    note = f"By {how}. {EXPECTED} {band}The oracle knows all times in advance."
    title = gain_text([row for row in rows if view.promises(row.deadline)] or rows)
    curves = _curves(rows)
    blocks: list[Picture | TextTable] = [
        Picture(title, note, lambda axes: draw_scores(axes, curves, view.budgets, view.score))
    ]
    at_build = {regime: times.outlook for regime, times in times_of_regimes(bundle).items() if times.outlook}
    if measured:
        blocks.append(_late_replayed(rows))
    elif at_build:
        late = [Curve(regime, [o.deadline for o in of], [o.late for o in of]) for regime, of in at_build.items()]
        blocks.append(_late(late, "As the build replayed its measured times, without pauses of the machine."))
    blocks.append(_scores(rows, measured))
    if at_build:
        table = said.outlook
        cells = [(*numbers, features.replace("+", " + ")) for *numbers, features in table.rows]
        hot = "Hot: items come back to back; rehearsed and cold: after a sleep, with and without a rehearsal."
        blocks.append(TextTable("As the build replayed it", table.columns, cells, [hot, *table.notes], is_wide=True))
    return Section("Score against deadline", f"Promise: {said.facts['promise']}.", blocks)


def _scores(rows: Sequence[Replayed], measured: bool) -> TextTable:
    first, *others = rows[0].scores
    columns = ["#deadline", f"#{first}", f"#{percent(CONFIDENCE)} interval", *(f"#{name}" for name in others)]
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
    return TextTable("Expected scores", [*columns, *["#late"] * measured, "most answers by"], cells, is_wide=True)


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


def _most(row: Replayed) -> str:
    """Return the set that answers most often, and its share."""
    sets = Counter(set_text(answer.features, plus=" + ") for answer in row.outcome.answers)
    (name, count), *_ = sets.most_common(1)
    return f"{percent(count / len(row.outcome.answers))} {name}"


def _late_replayed(rows: Sequence[Replayed]) -> Picture:
    items, deadlines = len(rows[0].outcome.answers), [row.deadline for row in rows]
    curves = []
    for name in rows[0].outcomes:
        missed = [row.outcomes[name].missed for row in rows]
        low, high = ([bound(count, items, SURE) for count in missed] for bound in (lower_bound, upper_bound))
        curves.append(Curve(name, deadlines, [count / items for count in missed], low, high))
    note = (
        f"{items:,} replayed items at each deadline. Vertical lines: {percent(2 * SURE - 1)} intervals (Clopper and "
        "Pearson). Pauses, in which other programs have the processor, are not replayed."
    )
    return _late(curves, note)


def _late(curves: Sequence[Curve], note: str) -> Picture:
    worst = max(max(curve.values) for curve in curves)
    return Picture(f"At most {percent(worst)} of the answers are late", note, lambda axes: draw_late(axes, curves))
