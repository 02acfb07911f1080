"""A report on measured and fitted costs, as rows and as pictures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polydom_builder.costs.cost_fit import CostFit, fit_cost
from polydom_runtime.arrays import Floats
from polydom_runtime.costs import CostFunction, format_seconds
from polydom_runtime.measuring.cost_samples import WAKING, CostSamples
from polydom_runtime.measuring.tails import pooled_quantile, relative_error
from polydom_runtime.tables import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUN_TO_RUN = 0.05
"""The share by which times differ from one process to the next, through the layout of memory alone (Mytkowicz and
others, 2009)."""


@dataclass(frozen=True, slots=True)
class CostRow:
    """One unit of a report."""

    unit: str
    fit: CostFit
    exceeded: float
    """The share of held-out samples above the worst case: each half of the rounds against a fit of the other half."""
    exceeded_by_items: float
    """The share for items as they come: each half of the items against a worst case that was raised until it held for
    the other half. NaN if no items were measured."""
    typical_error: float
    worst_error: float
    """`typical_error`, `worst_error`: how far the costs may be wrong, as a fraction: half a 95 % interval and the
    difference between processes."""

    @property
    def known_to(self) -> str:
        """Both errors in words."""
        return f"{percent(self.typical_error)} / {percent(self.worst_error)}"


def report_costs(samples: CostSamples, quantile: float) -> list[CostRow]:
    """Fit every unit and judge the fits on held-out rounds and held-out items; waking takes no time in hot rounds."""
    halves = samples.rounds(slice(0, None, 2)), samples.rounds(slice(1, None, 2))
    rows = []
    for unit in (unit for unit in samples.units if unit != WAKING):
        fit = fit_cost(samples.sizes, samples.of(unit), quantile, samples.typical_of(unit))
        pairs = ((halves[0], halves[1]), (halves[1], halves[0]))
        exceeded = [
            exceed_rate(fit_cost(samples.sizes, seen.of(unit), quantile), samples.sizes, fresh.of(unit))
            for seen, fresh in pairs
            if seen.n_rounds and fresh.n_rounds
        ]
        errors = ((1.0 + e) * (1.0 + RUN_TO_RUN) - 1.0 for e in relative_error(samples.of(unit), quantile))
        by_items = _exceeded_by_items(samples, unit, fit.worst, quantile)
        rows.append(CostRow(unit, fit, float(np.mean(exceeded)), by_items, *errors))
    return rows


def _exceeded_by_items(samples: CostSamples, unit: str, worst: CostFunction, quantile: float) -> float:
    """Return the share of times on held-out items above the worst case, raised until it holds for the other items."""
    items, row = samples.items.get("hot"), samples.units.index(unit)
    if items is None or len(items.sizes) < 2:
        return math.nan
    first, second = (half.seconds[row] / half.costs_at(worst) for half in items.halves())
    pairs = ((first, second), (second, first))
    limits = [max(1.0, pooled_quantile(seen, quantile)) for seen, _ in pairs]
    return float(np.mean([(fresh > limit).mean() for (_, fresh), limit in zip(pairs, limits, strict=True)]))


def exceed_rate(fit: CostFit, sizes: Floats, fresh: Floats) -> float:
    """Return the share of fresh samples, shape ``(n_sizes, n_rounds)``, above the worst case of their size."""
    limits = np.array([fit.worst(n) for n in sizes])
    return float((fresh > limits[:, None]).mean())


def plot_costs(samples: CostSamples, rows: Sequence[CostRow], quantile: float, folder: Path) -> None:
    """Draw the samples and both fits of each unit into a folder: four files each, for light and for dark pages."""
    from polydom_builder.drawing.saving import save

    folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        name = "".join(c if c.isalnum() else "_" for c in row.unit.strip("()"))
        save(partial(_picture, samples, row, quantile), folder / name)


def _picture(samples: CostSamples, row: CostRow, quantile: float) -> "Figure":
    from polydom_builder.drawing.bars import short_name
    from polydom_builder.drawing.curves import draw_fits
    from polydom_builder.drawing.style import headline, panel

    figure, axes = panel()
    fit, largest = row.fit, float(samples.sizes[-1])
    draw_fits(axes, samples.sizes, samples.of(row.unit), fit.typical, fit.worst)
    typical, worst = (format_seconds(cost(largest)) for cost in (fit.typical, fit.worst))
    note = f"marks: samples; typical: {fit.typical}; worst case ({quantile:g} quantile): {fit.worst}"
    headline(axes, f"{short_name(row.unit)} takes {typical} at size {largest:,g}, worst case {worst}", note)
    return figure
