"""The picture of the times of units."""

import numpy as np

from polydom_builder.drawing.bars import MOST_BARS, UnitBar, draw_units
from polydom_builder.drawing.style import panel, style


def test_of_too_many_units_the_dearest_are_drawn_the_dearest_on_top() -> None:
    """What a unit costs is its worst case; its median may be small."""
    count = MOST_BARS + 5
    units = [UnitBar(f"unit {k}", 1e-6 * (count - k), 1e-3 * (1 + k)) for k in range(count)]
    shuffled = [units[k] for k in np.random.default_rng(0).permutation(count)]
    with style():
        figure, axes = panel()
        draw_units(axes, shuffled)
        figure.draw_without_rendering()

    labels = sorted(axes.get_yticklabels(), key=lambda label: float(label.get_position()[1]))
    assert [label.get_text() for label in labels] == [unit.name for unit in units[5:]]
