"""The pictures of a fitted search, as methods."""

from typing import Any

from .cost_display import CostDisplay
from .deadline_display import DeadlineDisplay
from .feature_display import FeatureDisplay
from .found_table import found_table
from .set_display import SetDisplay


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
