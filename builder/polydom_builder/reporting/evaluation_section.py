"""The answers of a bundle to labelled items that it has not seen."""

from collections.abc import Sequence

from polydom_builder.drawing.curves import draw_reliability
from polydom_builder.evaluation import AtDeadline, Evaluation, JudgedScore, Part
from polydom_runtime.costs import format_seconds
from polydom_runtime.tables import TextTable

from .page import Picture, Section, ShadedText, percent

SYSTEMS = {"node": "timed here", "planned": "planned", "single": "best single set", "cheap_first": "cheapest first"}
MOST_CLASSES = 20


def evaluation_section(found: Evaluation) -> Section:
    """Return the section; the confusion and the reliability are those of the longest deadline."""
    last = found.deadlines[-1]
    blocks: list[Picture | TextTable] = [_scores(found.deadlines)]
    if found.deadlines[0].bands:
        blocks.append(_bands(found.deadlines))
    part = last.whole
    if part.confusion:
        blocks.append(_confusion(found, part, last.deadline))
    if part.calibration_error is not None:
        points = [(one.confidence, one.right, one.items / part.items) for one in part.reliability]
        title = f"Confidences are off by {part.calibration_error:.3f} in the mean"
        note = f"At {format_seconds(last.deadline)}. The larger a point, the more items it stands for."
        blocks.append(Picture(title, note, lambda axes: draw_reliability(axes, points)))
    lead = (
        f"{part.items:,} labelled items, by the policy {found.policy}. Scores here are of the answers to these items. "
        "The expected scores at the top and in the section above are estimates from held-out items of the build. So "
        "they differ by chance, and by more if these items are of another kind. Intervals are for new items of the "
        "same kind."
    )
    return Section("Answers to labelled items", lead, blocks)


def _scores(deadlines: Sequence[AtDeadline]) -> TextTable:
    systems = [name for name in SYSTEMS if name in deadlines[0].whole.systems]
    timed = ["#late", "#p99 / deadline"] if deadlines[0].whole.timing else []
    rows = []
    for at in deadlines:
        timing = at.whole.timing
        late = (percent(timing.late / at.whole.items), f"{timing.elapsed_share['p99']:.2f}") if timing else ()
        scores = (_text(at.whole.systems[name]) for name in systems)
        rows.append((format_seconds(at.deadline), *scores, *late, percent(at.whole.prior / at.whole.items)))
    columns = ["#deadline", *(f"#{SYSTEMS[name]}" for name in systems), *timed, "#prior"]
    note = "A late answer counts as the answer that it is."
    return TextTable("Scores on these items", columns, rows, [note], is_wide=True)


def _text(score: JudgedScore) -> str:
    if score.score is None:
        return "–"
    interval = f" ({score.low:.3f} to {score.high:.3f})" if score.low is not None and score.high is not None else ""
    return f"{score.score:.3f}{interval}"


def _bands(deadlines: Sequence[AtDeadline]) -> TextTable:
    bands = deadlines[0].bands
    columns = ["#deadline", *(f"#sizes {band.sizes[0]:g} to {band.sizes[1]:g}" for band in bands)]
    first = next(name for name in SYSTEMS if name in bands[0].systems)
    rows = [(format_seconds(at.deadline), *(_text(band.systems[first]) for band in at.bands)) for at in deadlines]
    return TextTable(f"Scores by size, {SYSTEMS[first]}", columns, rows, is_wide=True)


def _confusion(found: Evaluation, part: Part, deadline: float) -> TextTable:
    labels = [*map(str, found.classes), "other"][: len(part.confusion)][:MOST_CLASSES]
    rows = []
    for label, counts in zip(labels, part.confusion, strict=False):
        total = max(sum(counts), 1)
        cells = (ShadedText(f"{count:,}", count / total) for count in counts[: len(labels)])
        rows.append([label, *cells, f"{total:,}"])
    wrong = 1.0 - sum(row[k] for k, row in enumerate(part.confusion)) / max(sum(map(sum, part.confusion)), 1)
    columns = ["", *(f"#{label}" for label in labels), "#items"]
    note = f"Rows: true labels; columns: answers, at {format_seconds(deadline)}. Shades: shares of a row."
    return TextTable(f"{percent(wrong)} of the answers are wrong", columns, rows, [note])
