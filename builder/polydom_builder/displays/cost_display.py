"""How long each unit takes."""

from typing import Any

import numpy as np

from .display import Display


class CostDisplay(Display):
    """The median and the worst case of each feature and step, of items of the median size."""

    def draw(self, axes: Any) -> None:
        """Draw a row for each unit."""
        from polydom_builder.drawing.unit_bars import UnitBar, draw_units

        n = float(np.median(self.view.sizes))
        pairs = zip(self.view.worst.names, self.view.typical.terms, self.view.worst.terms, strict=True)
        draw_units(axes, [UnitBar(name, typical(n), worst(n)) for name, typical, worst in pairs])
