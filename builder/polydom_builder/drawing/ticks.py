"""Ticks with units, of which an axis has at least three."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import EngFormatter, FuncFormatter, Locator, MaxNLocator, NullLocator

from polydom_runtime.tables import percent

STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 2.0, 3.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
"""The numbers of a decade that have ticks, from few to many."""

FEWEST_TICKS, MOST_TICKS = 4, 8
"""The numbers of ticks on an axis, if there is a way."""


class RoundNumbers(Locator):
    """Ticks of a logarithmic axis: round numbers, as few in a decade as give at least four in all.

    >>> RoundNumbers().tick_values(0.0004, 0.004)
    [0.0005, 0.001, 0.002, 0.003]
    """

    def __call__(self) -> Sequence[float]:
        """Return the ticks in the limits of the axis."""
        assert self.axis is not None
        low, high = self.axis.get_view_interval()
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the ticks between two positive numbers; linear ones where round numbers are too few."""
        low, high = sorted((vmin, vmax))
        if not 0.0 < low < high < math.inf:
            return [high]
        decades = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for step in STEPS:
            ticks = [float(f"{tick:.9g}") for tick in np.outer(decades, step).ravel()]
            ticks = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
            if len(ticks) >= FEWEST_TICKS:
                return ticks[:: math.ceil(len(ticks) / MOST_TICKS)]
        linear = MaxNLocator(FEWEST_TICKS, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        return [tick for tick in linear if low <= tick <= high]


def log_axis(axis: Any, unit: str = "", label: str = "") -> None:
    """Make an axis logarithmic, with ticks such as "500 µs"; without a unit they are plain numbers."""
    name = axis.axis_name
    shared = getattr(axis.axes, f"get_shared_{name}_axes")().get_siblings(axis.axes)
    ends = np.array([getattr(axes, f"{name}axis").get_data_interval() for axes in shared])
    low, high = ends[:, 0].min(), ends[:, 1].max()
    if low == high > 0.0:  # a single value, which has no range of its own
        axis.axes.set(**{f"{name}lim": (low / 1.5, low * 1.5)})
    axis.axes.set(**{f"{name}scale": "log"})
    axis.set_major_locator(RoundNumbers())
    axis.set_minor_locator(NullLocator())
    _finish(axis, unit, label)


def linear_axis(axis: Axis, unit: str = "", label: str = "") -> None:
    """Give a linear axis ticks with a unit, such as "2 ms"; without a unit they are plain numbers."""
    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
    _finish(axis, unit, label)


def percent_axis(axis: Axis, label: str = "") -> None:
    """Label an axis of shares with per cent."""
    linear_axis(axis, label=label)
    axis.set_major_formatter(FuncFormatter(lambda share, _: percent(share, 4)))


def _finish(axis: Axis, unit: str, label: str) -> None:
    plain = FuncFormatter(lambda number, _: f"{number:,.6g}")
    axis.set_major_formatter(EngFormatter(unit) if unit else plain)
    axis.set_label_text(label)
