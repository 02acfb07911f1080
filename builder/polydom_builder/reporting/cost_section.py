"""How long each unit takes."""

import numpy as np

from polydom_builder.costs.cost_report import report_costs
from polydom_builder.displays.index_view import IndexView
from polydom_builder.drawing.bars import MOST_BARS, UnitBar, draw_units
from polydom_runtime.costs import ZERO, format_seconds
from polydom_runtime.measuring.cost_samples import AROUND, CostSamples
from polydom_runtime.tables import TextTable

from .page import Picture, Section, percent, rows_high

BAR_SAMPLES = 120


def cost_section(view: IndexView, samples: CostSamples | None, quantile: float) -> Section:
    """Return the section on the bundle's costs, and on the samples of a costs file, if there is one.

    Raises `FitError`, `MeasurementError` if the samples cannot be fitted.
    """
    n = float(np.median(view.sizes))
    around = zip(AROUND, view.typical.around, view.worst.around, strict=True)
    units = [*zip(view.worst.names, view.typical.terms, view.worst.terms, strict=True)]
    units += [unit for unit in around if unit[2] != ZERO]
    bars = [UnitBar(name, typical(n), worst(n), _samples(samples, name, n)) for name, typical, worst in units]
    dearest = max(bars, key=lambda bar: bar.worst)
    title = f"{dearest.name} is the dearest unit: {format_seconds(dearest.worst)} at worst at size {n:g}"
    grey = ", grey: measured times" if samples else ""
    note = f"From the median (point) to the worst case of the plan (bar){grey}, at the median item size."
    sizes = sorted({view.size_range[0], n, view.size_range[1]})
    columns = ["unit", *(f"#{kind} at {size:g}" for kind in ("typical", "worst") for size in sizes), "worst case"]
    rows = [
        (name, *(format_seconds(cost(size)) for cost in (typical, worst) for size in sizes), str(worst))
        for name, typical, worst in units
    ]
    blocks: list[Picture | TextTable] = [
        Picture(title, note, lambda axes: draw_units(axes, bars), rows_high(min(len(bars), MOST_BARS))),
        TextTable("Times of units", columns, rows, is_wide=True),
    ]
    if samples is not None:
        blocks.append(_measured(samples, quantile))
    return Section("Times", "The time of a feature excludes that of its shared step.", blocks)


def _samples(samples: CostSamples | None, name: str, n: float) -> list[float]:
    """Return some measured times of a unit at the size next to `n`."""
    if samples is None or name not in samples.units:
        return []
    times = samples.of(name)
    nearest = int(np.abs(np.log(samples.sizes / n)).argmin())
    found: list[float] = times[nearest, :: max(times.shape[1] // BAR_SAMPLES, 1)].tolist()
    return found


def _measured(samples: CostSamples, quantile: float) -> TextTable:
    rows = []
    for row in report_costs(samples, quantile):
        times = samples.of(row.unit)
        middle = times[times.shape[0] // 2]
        tail = (format_seconds(float(np.quantile(middle, q))) for q in (0.5, 0.99, 1.0))
        rows.append((row.unit, f"{middle.size:,}", *tail, str(row.fit.worst), percent(row.exceeded), row.known_to))
    size = samples.sizes[len(samples.sizes) // 2]
    columns = ["unit", "#samples", "#median", "#p99", "#longest", "worst case, fitted", "#exceeded", "#known to"]
    note = (
        f"Samples at size {size:g}. Exceeded: the share of held-out samples above a worst case ({quantile:g} quantile) "
        "that was fitted without them. Known to: half a 95 % interval of the typical and of the worst case."
    )
    return TextTable("Measured times and their tails", columns, rows, [note], is_wide=True)
