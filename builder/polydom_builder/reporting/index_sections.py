"""What the index chooses: which set answers where, and what each feature is worth."""

from collections.abc import Sequence

from polydom_builder.displays.display import Place, SetDisplay
from polydom_builder.displays.index_view import IndexView
from polydom_builder.displays.worth import Worth, worths
from polydom_builder.drawing.bars import MOST_BARS, draw_bars
from polydom_builder.drawing.set_map import LEAST_AREA
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.outlook_table import set_text
from polydom_runtime.tables import TextTable

from .page import Picture, Section, percent, rows_high

LEAST_GAIN = 1e-4
"""Less than this is no gain: four digits are shown."""


def set_section(view: IndexView) -> Section:
    """Return the section with the map of size and deadline, and what its letters stand for."""
    display = SetDisplay(view)
    places, size = display.places, sorted(view.sizes)[len(view.sizes) // 2]
    named = [place for place in places if place.area >= LEAST_AREA]
    title = f"{len(places)} sets answer somewhere; the largest region, of {percent(places[0].area)}, is that of A"
    note = "By worst cases, before the first feature. The darker, the higher the score."
    columns = ["", "features", "#score", f"#worst case at size {size:g}", "#share of the map"]
    return Section(
        "Which set answers",
        "Small items and long deadlines get rich sets; large items and short deadlines get cheap ones.",
        [
            Picture(title, note, display.draw, 4.2),
            TextTable(
                f"The {len(named)} largest regions",
                columns,
                [_place(place, size) for place in named],
                [f"All regions of at least {percent(LEAST_AREA)} of the map."],
            ),
        ],
    )


def _place(place: Place, size: float) -> tuple[str, ...]:
    candidate = place.candidate
    features = set_text(candidate.features, candidate.estimator, " + ")
    worst = format_seconds(candidate.cost(size))
    return place.name, features, f"{candidate.accuracy:.3f}", worst, percent(place.area)


def feature_section(view: IndexView) -> tuple[Section, str]:
    """Return the section on what each feature is worth, and its finding in a sentence."""
    rows, size = worths(view), sorted(view.sizes)[len(view.sizes) // 2]
    seconds = dict(zip(view.worst.names, (cost(size) for cost in view.worst.terms), strict=True))
    features = sorted((w for w in rows if w.lost is not None), key=lambda w: -(w.lost or 0.0))
    gained, lost = [w.gained for w in rows], [max(w.lost or 0.0, 0.0) for w in features]
    finding = _most_gained(rows[0])
    note = (
        f"In the mean over {len(view.queries.sizes)} item sizes and {len(view.queries.deadlines)} deadlines. A new "
        "search may find more than these models allow."
    )
    table = TextTable(
        "Worth of features and steps",
        ["unit", f"#worst case at size {size:g}", "#used", "#lost without it", "#gained at half its time"],
        [_worth(worth, seconds[worth.name]) for worth in rows],
        ["Used: the share of sizes and deadlines at which the set that answers needs it."],
    )
    pictures = [
        _bars(finding, f"{note} The {MOST_BARS} best at most.", rows, gained, "green", "gained at half its time"),
        _bars(_most_needed(features), note, features, lost, "orange", "lost without it"),
    ]
    lead = "Planned again by the index: without the feature, and with half its time. Shared steps are listed, too."
    return Section("What each feature is worth", lead, [*pictures, table]), finding


def _most_gained(best: Worth) -> str:
    if best.gained < LEAST_GAIN:
        return f"No feature is worth optimising: at half its time, none would raise the mean score by {LEAST_GAIN:.4f}"
    return f"Optimise {best.name} first: at half its time, the mean score would rise by {best.gained:.4f}"


def _most_needed(features: Sequence[Worth]) -> str:
    best = features[0]
    idle = sum(not worth.used for worth in features)
    unused = f"; {idle} of {len(features)} features are never used" if idle else ""
    return f"Without {best.name}, the mean score would fall by {best.lost:.4f}{unused}"


def _worth(worth: Worth, seconds: float) -> tuple[str, ...]:
    is_step = worth.lost is None
    name, lost = (f"{worth.name} (step)", "–") if is_step else (worth.name, f"{worth.lost:.4f}")
    return name, format_seconds(seconds), percent(worth.used), lost, f"{worth.gained:.4f}"


def _bars(title: str, note: str, rows: Sequence[Worth], values: list[float], colour: str, label: str) -> Picture:
    names, height = [worth.name for worth in rows], rows_high(min(len(rows), MOST_BARS))
    return Picture(title, note, lambda axes: draw_bars(axes, names, values, colour, f"score {label}"), height)
