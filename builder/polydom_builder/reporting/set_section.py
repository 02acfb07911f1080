"""Which set answers at which size and deadline."""

from matplotlib.figure import Figure

from polydom_builder.displays.index_view import IndexView
from polydom_builder.displays.set_display import Place, SetDisplay
from polydom_builder.drawing.set_map import LEAST_AREA
from polydom_runtime.costs import format_seconds

from .figures import figure, percent
from .page import Picture, Section, Table


def set_section(view: IndexView) -> Section:
    """Return the section with the map, and what its letters stand for."""
    display = SetDisplay(view)
    places, size = display.places, sorted(view.sizes)[len(view.sizes) // 2]

    def draw() -> Figure:
        made, axes = figure(4.2)
        display.draw(axes)
        return made

    named = [place for place in places if place.area >= LEAST_AREA]
    title = f"{len(places)} sets answer somewhere; the largest region, of {percent(places[0].area)}, is that of A"
    return Section(
        "Which set answers",
        "Small items and long deadlines get rich sets; large items and short deadlines get cheap ones.",
        [
            Picture(title, "By worst cases, before the first feature. The darker, the higher the score.", draw),
            Table(
                f"The {len(named)} largest regions",
                ["", "features", "#score", f"#worst case at size {size:g}", "#share of the map"],
                [_row(place, size) for place in named],
                f"All regions of at least {percent(LEAST_AREA)} of the map.",
            ),
        ],
    )


def _row(place: Place, size: float) -> tuple[str, ...]:
    candidate = place.candidate
    by = f" by {candidate.estimator}" if candidate.estimator else ""
    return (
        *(place.name, (" + ".join(candidate.features) or "(prior)") + by, f"{candidate.accuracy:.3f}"),
        *(format_seconds(candidate.cost(size)), percent(place.area)),
    )
