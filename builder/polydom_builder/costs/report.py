"""A report on measured and fitted costs, as text and as pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples
from polydom_runtime.measuring.tails import relative_error

from .fitting import CostFit, fit_cost

RUN_TO_RUN = 0.05
"""The share by which times differ from one process to the next, through the layout of memory alone (Mytkowicz and
others, 2009)."""


@dataclass(frozen=True, slots=True)
class CostRow:
    """One unit of a report.

    Parameters
    ----------
    unit : str
    fit : CostFit
    exceeded : float
        The share of held-out samples above the worst case: each half of the rounds against a fit of the other half.
    typical_error, worst_error : float
        How far the costs may be wrong, as a fraction: half a 95 % interval and the difference between processes.
    """

    unit: str
    fit: CostFit
    exceeded: float
    typical_error: float
    worst_error: float


def report_costs(samples: CostSamples, quantile: float) -> list[CostRow]:
    """Fit every unit and judge the fits on held-out rounds."""
    halves = samples.rounds(slice(0, None, 2)), samples.rounds(slice(1, None, 2))
    rows = []
    for unit in samples.units:
        fit = fit_cost(samples.sizes, samples.of(unit), quantile, samples.typical_of(unit))
        pairs = ((halves[0], halves[1]), (halves[1], halves[0]))
        exceeded = [
            exceed_rate(fit_cost(samples.sizes, seen.of(unit), quantile), samples.sizes, fresh.of(unit))
            for seen, fresh in pairs
            if seen.n_rounds and fresh.n_rounds
        ]
        errors = ((1.0 + e) * (1.0 + RUN_TO_RUN) - 1.0 for e in relative_error(samples.of(unit), quantile))
        rows.append(CostRow(unit, fit, float(np.mean(exceeded)), *errors))
    return rows


def exceed_rate(fit: CostFit, sizes: Floats, fresh: Floats) -> float:
    """Return the share of fresh samples, shape ``(n_sizes, n_rounds)``, above the worst case of their size."""
    limits = np.array([fit.worst(n) for n in sizes])
    return float((fresh > limits[:, None]).mean())


def as_report(samples: CostSamples, rows: Sequence[CostRow], quantile: float) -> str:
    """Return the report as text."""
    machine, sizes = samples.machine, samples.sizes
    lines = [
        f"{machine.get('device', 'unknown device')}: {len(sizes)} sizes from {sizes[0]:g} to {sizes[-1]:g}, "
        f"{samples.n_rounds} rounds; {samples.stopped}",
        *(f"warning: {warning}" for warning in samples.warnings),
        f"worst case: quantile {quantile:g} of the samples or of their fitted tail, whichever is higher",
        "",
        f"{'unit':20} {'typical':>28} {'worst case':>32} {'slack':>13} {'tail':>5} {'exceeded':>9} {'known to':>12}",
    ]
    for row in rows:
        fit = row.fit
        slack = f"{100 * fit.slack.min():.0f} to {100 * fit.slack.max():.0f} %"
        errors = f"{100 * row.typical_error:.0f} / {100 * row.worst_error:.0f} %"
        lines.append(
            f"{row.unit:20} {fit.typical!s:>28} {fit.worst!s:>32} {slack:>13} {100 * fit.inflation.mean():4.0f}% "
            f"{row.exceeded:9.5f} {errors:>12}"
        )
    lines += ["", f"{'slack at size, %':20}" + "".join(f"{n:8.6g}" for n in sizes)]
    lines += [f"{row.unit:20}" + "".join(f"{100 * s:8.0f}" for s in row.fit.slack) for row in rows]
    lines += [
        "",
        "slack: how far the worst case is above the samples' quantile, smallest and largest over the sizes. tail: the",
        "part of the slack, on average, for rare times that few samples cannot show. exceeded: share of held-out",
        f"samples above a worst case that was fitted without them; the promise is {1 - quantile:.5f}. known to: 95 %",
        "intervals of the typical and the worst case.",
    ]
    return "\n".join(lines)


def plot_costs(samples: CostSamples, rows: Sequence[CostRow], quantile: float, folder: Path) -> None:
    """Draw the samples and both fits of each unit into ``folder/UNIT.png``.

    Parameters
    ----------
    samples : CostSamples
    rows : sequence of CostRow
        As `report_costs` returns them.
    quantile : float
        The quantile of the worst case, for the legend.
    folder : Path
        Made if it does not exist.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    grid = np.geomspace(samples.sizes[0], samples.sizes[-1], 200)
    for row in rows:
        figure, axes = pyplot.subplots(figsize=(6.5, 4), layout="constrained")
        times = samples.of(row.unit)
        scattered = np.repeat(samples.sizes, times.shape[1])
        axes.plot(scattered, times.ravel() * 1e6, ".", ms=2, color="0.7", label="samples", rasterized=True)
        axes.plot(grid, [row.fit.typical(n) * 1e6 for n in grid], label=f"typical: {row.fit.typical}")
        axes.plot(grid, [row.fit.worst(n) * 1e6 for n in grid], label=f"worst case ({quantile:g}): {row.fit.worst}")
        axes.set(xscale="log", yscale="log", xlabel="item size n", ylabel="time (µs)", title=row.unit)
        axes.legend(frameon=False, fontsize=8)
        axes.grid(alpha=0.3)
        name = "dispatch" if row.unit == DISPATCH else "".join(c if c.isalnum() else "_" for c in row.unit)
        figure.savefig(folder / f"{name}.png", dpi=110)
        pyplot.close(figure)
