"""The answers of a bundle to labelled items that it has not seen."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from polydom_builder.drawing.risk_curves import draw_reliability
from polydom_builder.evaluation import AtDeadline, Evaluation, Part, Score
from polydom_runtime.costs import format_seconds

from .figures import figure, percent
from .page import Cell, Picture, Section, Table

SYSTEMS = {"node": "timed here", "planned": "planned", "single": "best single set", "cheap_first": "cheapest first"}
MOST_CLASSES = 20


def evaluation_section(found: Evaluation) -> Section:
    """Return the section; the confusion and the reliability are those of the longest deadline."""
    last = found.deadlines[-1]
    blocks: list[Picture | Table] = [_scores(found.deadlines)]
    if bands := _bands(found.deadlines):
        blocks.append(bands)
    part = last.whole
    if part.confusion:
        blocks.append(_confusion(found, part, last.deadline))
    if part.calibration_error is not None:
        points = [(one.confidence, one.right, one.items / part.items) for one in part.reliability]
        title = f"Confidences are off by {part.calibration_error:.3f} in the mean"
        note = f"At {format_seconds(last.deadline)}. The larger a point, the more items it stands for."
        blocks.append(Picture(title, note, lambda: _reliability(points)))
    lead = (
        f"{part.items:,} labelled items, by the policy {found.policy}. Scores here are of the answers to these items. "
        "The expected scores at the top and in the section above are estimates from held-out items of the build. So "
        "they differ by chance, and by more if these items are of another kind. Intervals are for new items of the "
        "same kind."
    )
    return Section("Answers to labelled items", lead, blocks)


def _scores(deadlines: Sequence[AtDeadline]) -> Table:
    systems = [name for name in SYSTEMS if name in deadlines[0].whole.systems]
    timed = deadlines[0].whole.timing is not None
    columns = [
        "#deadline",
        *(f"#{SYSTEMS[name]}" for name in systems),
        *(["#late", "#p99 / deadline"] * timed),
        "#prior",
    ]
    rows = []
    for at in deadlines:
        timing = at.whole.timing
        late = (percent(timing.late / at.whole.items), f"{timing.elapsed_share['p99']:.2f}") if timing else ()
        scores = (_text(at.whole.systems[name]) for name in systems)
        rows.append((format_seconds(at.deadline), *scores, *late, percent(at.whole.prior / at.whole.items)))
    return Table("Scores on these items", columns, rows, "A late answer counts as the answer that it is.", "wide table")


def _text(score: Score) -> str:
    if score.score is None:
        return "–"
    interval = f" ({score.low:.3f} to {score.high:.3f})" if score.low is not None and score.high is not None else ""
    return f"{score.score:.3f}{interval}"


def _bands(deadlines: Sequence[AtDeadline]) -> Table | None:
    bands = deadlines[0].bands
    if not bands:
        return None
    columns = ["#deadline", *(f"#sizes {band.sizes[0]:g} to {band.sizes[1]:g}" for band in bands)]
    first = next(name for name in SYSTEMS if name in bands[0].systems)
    rows = [(format_seconds(at.deadline), *(_text(band.systems[first]) for band in at.bands)) for at in deadlines]
    return Table(f"Scores by size, {SYSTEMS[first]}", columns, rows, "", "wide table")


def _confusion(found: Evaluation, part: Part, deadline: float) -> Table:
    labels = [*map(str, found.classes), "other"][: len(part.confusion)][:MOST_CLASSES]
    rows: list[list[str | Cell]] = []
    for label, counts in zip(labels, part.confusion, strict=False):
        total = max(sum(counts), 1)
        rows.append([label, *(Cell(f"{count:,}", count / total) for count in counts[: len(labels)]), f"{total:,}"])
    wrong = 1.0 - sum(row[k] for k, row in enumerate(part.confusion)) / max(sum(map(sum, part.confusion)), 1)
    note = f"Rows: true labels; columns: answers, at {format_seconds(deadline)}. Shades: shares of a row."
    return Table(
        f"{percent(wrong)} of the answers are wrong", ["", *(f"#{label}" for label in labels), "#items"], rows, note
    )


def _reliability(points: Sequence[tuple[float, float, float]]) -> Figure:
    made, axes = figure()
    draw_reliability(axes, points)
    return made
