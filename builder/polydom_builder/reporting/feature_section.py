"""What each feature is worth."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from polydom_builder.displays.index_view import IndexView
from polydom_builder.displays.worth import Worth, worths
from polydom_builder.drawing.feature_bars import MOST_FEATURES, draw_bars
from polydom_runtime.costs import format_seconds

from .figures import figure, percent, rows_high
from .page import Picture, Section, Table

LEAST_GAIN = 1e-4
"""Less than this is no gain: four digits are shown."""


def feature_section(view: IndexView) -> tuple[Section, str]:
    """Return the section, and its finding in a sentence."""
    rows, size = worths(view), sorted(view.sizes)[len(view.sizes) // 2]
    seconds = dict(zip(view.worst.names, (cost(size) for cost in view.worst.terms), strict=True))
    features = sorted((w for w in rows if w.lost is not None), key=lambda w: -(w.lost or 0.0))
    finding = _finding(rows)
    note = (
        f"In the mean over {len(view.queries.sizes)} item sizes and {len(view.queries.deadlines)} deadlines. A new "
        "search may find more than these models allow."
    )
    return Section(
        "What each feature is worth",
        "Planned again by the index: without the feature, and with half its time. Shared steps are listed, too.",
        [
            Picture(finding, f"{note} The {MOST_FEATURES} best at most.", lambda: _gained(rows)),
            Picture(_most_needed(features), note, lambda: _lost(features)),
            Table(
                "Worth of features and steps",
                ["unit", f"#worst case at size {size:g}", "#used", "#lost without it", "#gained at half its time"],
                [_row(worth, seconds) for worth in rows],
                "Used: the share of sizes and deadlines at which the set that answers needs it.",
            ),
        ],
    ), finding


def _finding(rows: Sequence[Worth]) -> str:
    best = rows[0]
    if best.gained < LEAST_GAIN:
        return f"No feature is worth optimising: at half its time, none would raise the mean score by {LEAST_GAIN:.4f}"
    return f"Optimise {best.name} first: at half its time, the mean score would rise by {best.gained:.4f}"


def _most_needed(features: Sequence[Worth]) -> str:
    best = features[0]
    idle = [worth.name for worth in features if not worth.used]
    unused = f"; {len(idle)} of {len(features)} features are never used" if idle else ""
    return f"Without {best.name}, the mean score would fall by {best.lost:.4f}{unused}"


def _row(worth: Worth, seconds: dict[str, float]) -> tuple[str, ...]:
    return (
        worth.name if worth.lost is not None else f"{worth.name} (step)",
        *(format_seconds(seconds[worth.name]), percent(worth.used)),
        "–" if worth.lost is None else f"{worth.lost:.4f}",
        f"{worth.gained:.4f}",
    )


def _gained(rows: Sequence[Worth]) -> Figure:
    return _bars(rows, [worth.gained for worth in rows], "green", "score gained at half its time")


def _lost(rows: Sequence[Worth]) -> Figure:
    return _bars(rows, [max(worth.lost or 0.0, 0.0) for worth in rows], "orange", "score lost without it")


def _bars(rows: Sequence[Worth], values: Sequence[float], colour: str, label: str) -> Figure:
    made, axes = figure(rows_high(min(len(rows), MOST_FEATURES)))
    draw_bars(axes, [worth.name for worth in rows], values, colour, label)
    return made
