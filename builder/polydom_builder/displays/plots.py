"""The pictures of a fitted search as methods, and what it found as a table of HTML."""

from typing import Any

from polydom_runtime.costs import format_seconds
from polydom_runtime.tables import TextTable

from .display import CostDisplay, DeadlineDisplay, FeatureDisplay, SetDisplay
from .index_view import IndexView

N_SETS = 10


class Plots:
    """Draws a fitted search. Each method takes axes, or makes a figure, and returns a display with `ax_`, `figure_`.

    They raise NotFittedError if the search is not fitted, and FitError if matplotlib is not installed.
    """

    def _repr_html_inner(self) -> str:
        """Return the diagram of the estimator, and below it what a fitted search found."""
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        return diagram + (found_table(self) if hasattr(self, "index_") else "")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        return shown | ({"text/html": self._repr_html_inner()} if "text/html" in shown else {})

    def plot_deadlines(self, ax: Any = None) -> DeadlineDisplay:
        """Draw the planned score against the deadline."""
        return DeadlineDisplay.from_search(self, ax=ax)

    def plot_sets(self, ax: Any = None) -> SetDisplay:
        """Draw which feature set answers at which item size and deadline."""
        return SetDisplay.from_search(self, ax=ax)

    def plot_features(self, ax: Any = None) -> FeatureDisplay:
        """Draw what each feature would gain if it took half its time."""
        return FeatureDisplay.from_search(self, ax=ax)

    def plot_costs(self, ax: Any = None) -> CostDisplay:
        """Draw how long each feature and each shared step takes."""
        return CostDisplay.from_search(self, ax=ax)


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
    columns = ["features", view.score, *(f"worst case at size {n:g}" for n in sizes)]
    return TextTable(title, columns, rows).to_html()
