"""Score against deadline, as planned."""

from typing import Any

import numpy as np

from polydom_builder.drawing.score_names import SINGLE, STRICT

from .display import Display

N_DEADLINES = 40


class DeadlineDisplay(Display):
    """The planned score against the deadline: of the index, and of the best single set that fits the largest item."""

    def draw(self, axes: Any) -> None:
        """Draw both lines."""
        from polydom_builder.drawing.score_curves import ScoreCurve, draw_scores

        view, deadlines = self.view, self.view.deadlines(N_DEADLINES)
        stairs = [view.index.at_deadline(deadline) for deadline in deadlines]
        strict = [float(np.mean([stair.best(n).accuracy for n in view.sizes])) for stair in stairs]
        single = [best_single(view.candidates, view.size_range[1], deadline).accuracy for deadline in deadlines]
        curves = (ScoreCurve(STRICT, deadlines, strict), ScoreCurve(SINGLE, deadlines, single))
        draw_scores(axes, curves, view.budgets, view.score)


def best_single(candidates: Any, largest: float, deadline: float) -> Any:
    """Return the candidate of the highest score that fits the largest item, hence every item."""
    fitting = (c for c in candidates if c.mask == 0 or c.cost(largest) <= deadline)
    return max(fitting, key=lambda candidate: candidate.accuracy)
