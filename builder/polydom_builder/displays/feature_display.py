"""What each feature is worth."""

from typing import Any

from .display import Display
from .worth import Worth, worths


class FeatureDisplay(Display):
    """A bar for each feature and step: the planned score that would be gained if it took half its time.

    `worths_`: the one that gains most first.
    """

    worths_: list[Worth]

    def draw(self, axes: Any) -> None:
        """Draw the bars."""
        from polydom_builder.drawing.feature_bars import draw_bars

        self.worths_ = worths(self.view)
        names, gained = [worth.name for worth in self.worths_], [worth.gained for worth in self.worths_]
        draw_bars(axes, names, gained, "green", "score gained at half its time")
