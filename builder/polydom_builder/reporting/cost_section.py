"""How long each unit takes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from polydom_builder.costs.cost_report import report_costs
from polydom_builder.displays.index_view import IndexView
from polydom_builder.drawing.unit_bars import MOST_UNITS, UnitBar, draw_units
from polydom_runtime.costs import CostFunction, format_seconds
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples

from .figures import figure, percent, rows_high
from .page import Picture, Section, Table

MOST_SAMPLES = 120


def cost_section(view: IndexView, samples: CostSamples | None, quantile: float) -> Section:
    """Return the section on the bundle's costs, and on the samples of a costs file, if there is one.

    Raises `FitError`, `MeasurementError` if the samples cannot be fitted.
    """
    n = float(np.median(view.sizes))
    units = [*zip(view.worst.names, view.typical.terms, view.worst.terms, strict=True)]
    units.append(("dispatch", view.typical.dispatch, view.worst.dispatch))
    bars = [UnitBar(name, typical(n), worst(n), _samples(samples, name, n)) for name, typical, worst in units]
    dearest = max(bars, key=lambda bar: bar.worst)
    title = f"{dearest.name} is the dearest unit: {format_seconds(dearest.worst)} at worst at size {n:g}"
    grey = ", grey: measured times" if samples else ""
    note = f"From the median (point) to the worst case of the plan (bar){grey}, at the median item size."
    sizes = sorted({view.size_range[0], n, view.size_range[1]})
    columns = ["unit", *(f"#typical at {size:g}" for size in sizes), *(f"#worst at {size:g}" for size in sizes)]
    blocks: list[Picture | Table] = [
        Picture(title, note, lambda: _draw(bars)),
        Table("Times of units", [*columns, "worst case"], [_row(*unit, sizes) for unit in units], "", "wide table"),
    ]
    if samples is not None:
        blocks.append(_measured(samples, quantile))
    return Section("Times", "The time of a feature excludes that of its shared step.", blocks)


def _row(name: str, typical: CostFunction, worst: CostFunction, sizes: Sequence[float]) -> tuple[str, ...]:
    return (
        name,
        *(format_seconds(typical(n)) for n in sizes),
        *(format_seconds(worst(n)) for n in sizes),
        str(worst),
    )


def _samples(samples: CostSamples | None, name: str, n: float) -> list[float]:
    """Return some measured times of a unit at about a size, brought to that size in proportion to its median."""
    unit = DISPATCH if name == "dispatch" else name
    if samples is None or unit not in samples.units:
        return []
    times = samples.of(unit)
    nearest = int(np.abs(np.log(samples.sizes / n)).argmin())
    found: list[float] = times[nearest, :: max(times.shape[1] // MOST_SAMPLES, 1)].tolist()
    return found


def _measured(samples: CostSamples, quantile: float) -> Table:
    rows = []
    for row in report_costs(samples, quantile):
        times = samples.of(row.unit)
        middle = times[times.shape[0] // 2]
        tail = (format_seconds(float(np.quantile(middle, q))) for q in (0.5, 0.99, 1.0))
        known = f"{100 * row.typical_error:.0f} / {100 * row.worst_error:.0f} %"
        rows.append((row.unit, f"{middle.size:,}", *tail, str(row.fit.worst), percent(row.exceeded), known))
    size = samples.sizes[len(samples.sizes) // 2]
    columns = ["unit", "#samples", "#median", "#p99", "#longest", "worst case, fitted", "#exceeded", "#known to"]
    note = (
        f"Samples at size {size:g}. Exceeded: the share of held-out samples above a worst case ({quantile:g} quantile) "
        "that was fitted without them. Known to: half a 95 % interval of the typical and of the worst case."
    )
    return Table("Measured times and their tails", columns, rows, note, "wide table")


def _draw(bars: Sequence[UnitBar]) -> Figure:
    made, axes = figure(rows_high(min(len(bars), MOST_UNITS)))
    draw_units(axes, bars)
    return made
