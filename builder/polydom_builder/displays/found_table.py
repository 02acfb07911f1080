"""What a fitted search found, as a table of HTML."""

from typing import Any

from polydom_runtime.costs import format_seconds
from polydom_runtime.html_table import html_table

from .index_view import IndexView

N_SETS = 10


def found_table(search: Any) -> str:
    """Return the best sets of a fitted search with their scores and costs, the best first."""
    view = IndexView.of_search(search)
    sizes = sorted({*view.size_range})
    best = sorted(view.index.candidates, key=lambda candidate: -candidate.accuracy)[:N_SETS]
    rows = [
        (
            " + ".join(candidate.features) or "(prior)",
            f"{candidate.accuracy:.3f}",
            *(format_seconds(candidate.cost(n)) for n in sizes),
        )
        for candidate in best
    ]
    title = f"The {len(rows)} best of {len(view.index.candidates)} sets"
    return html_table(title, rows, ["features", view.score, *(f"worst case at size {n:g}" for n in sizes)])
