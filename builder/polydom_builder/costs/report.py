"""A report on measured and fitted costs, as text and as pictures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.regimes import Regime
from polydom_runtime.costs import CostFunction, format_seconds
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples, Pauses
from polydom_runtime.measuring.spread import spreads
from polydom_runtime.measuring.tails import relative_error, tail_quantile

from .fitting import CostFit, fit_cost

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUN_TO_RUN = 0.05
"""The share by which times differ from one process to the next, through the layout of memory alone (Mytkowicz and
others, 2009)."""

PAUSES_AT = (0.3e-3, 1e-3, 3e-3, 10e-3)
"""Deadlines, in seconds, at which the report says how many answers pauses hit."""

AFTER_SLEEP: tuple[Regime, ...] = ("cold", "rehearsed")


@dataclass(frozen=True, slots=True)
class CostRow:
    """One unit of a report.

    Parameters
    ----------
    unit : str
    fit : CostFit
    exceeded : float
        The share of held-out samples above the worst case: each half of the rounds against a fit of the other half.
    exceeded_by_items : float
        The same for items as they come: each half of the items against a worst case that was raised until it held for
        the other half. NaN if no items were measured.
    typical_error, worst_error : float
        How far the costs may be wrong, as a fraction: half a 95 % interval and the difference between processes.
    """

    unit: str
    fit: CostFit
    exceeded: float
    exceeded_by_items: float
    typical_error: float
    worst_error: float


def report_costs(samples: CostSamples, quantile: float) -> list[CostRow]:
    """Fit every unit and judge the fits on held-out rounds and held-out items."""
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
        rows.append(
            CostRow(
                unit, fit, float(np.mean(exceeded)), _exceeded_by_items(samples, unit, fit.worst, quantile), *errors
            )
        )
    return rows


def _exceeded_by_items(samples: CostSamples, unit: str, worst: CostFunction, quantile: float) -> float:
    """Return the share of times on held-out items above the worst case, raised until it holds for the other items."""
    items, row = samples.items.get("hot"), samples.units.index(unit)
    if items is None or len(items.sizes) < 2:
        return math.nan
    first, second = (
        half.seconds[row] / np.array([worst(n) for n in half.sizes.tolist()])[:, None] for half in items.halves()
    )
    pairs = ((first, second), (second, first))
    limits = [max(1.0, float(tail_quantile(seen.reshape(1, -1), quantile)[0])) for seen, _ in pairs]
    return float(np.mean([(fresh > limit).mean() for (_, fresh), limit in zip(pairs, limits, strict=True)]))


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
        *_disturbed(samples.pauses),
        f"worst case: quantile {quantile:g} of the samples or of their fitted tail, whichever is higher",
        "",
        f"{'unit':20} {'typical':>28} {'worst case':>32} {'slack':>13} {'tail':>5} {'exceeded':>9} {'by items':>9} "
        f"{'known to':>12}",
    ]
    for row in rows:
        fit = row.fit
        slack = f"{100 * fit.slack.min():.0f} to {100 * fit.slack.max():.0f} %"
        errors = f"{100 * row.typical_error:.0f} / {100 * row.worst_error:.0f} %"
        lines.append(
            f"{row.unit:20} {fit.typical!s:>28} {fit.worst!s:>32} {slack:>13} {100 * fit.inflation.mean():4.0f}% "
            f"{row.exceeded:9.5f} {row.exceeded_by_items:9.5f} {errors:>12}"
        )
    lines += ["", f"{'slack at size, %':20}" + "".join(f"{n:8.6g}" for n in sizes)]
    lines += [f"{row.unit:20}" + "".join(f"{100 * s:8.0f}" for s in row.fit.slack) for row in rows]
    lines += ["", *_regimes(samples), *map(str, spreads(samples))]
    lines += [
        "",
        "slack: how far the worst case is above the samples' quantile, smallest and largest over the sizes. tail: the",
        "part of the slack, on average, for rare times that few samples cannot show. exceeded: share of held-out",
        f"samples above a worst case that was fitted without them; the promise is {1 - quantile:.5f}. by items: the",
        "same on held-out items as they come. known to: 95 % intervals of the typical and the worst case.",
    ]
    return "\n".join(lines)


def _disturbed(pauses: Pauses) -> list[str]:
    """Say how often other work took the processor, unless nobody watched."""
    if not pauses.watched:
        return []
    share, lengths = 100 * pauses.processor_share, pauses.lengths
    longest = f", the longest {format_seconds(lengths[0])}" if lengths else ""
    hit = ", ".join(f"{100 * pauses.share_hit(d):.2g} % at {format_seconds(d)}" for d in PAUSES_AT)
    return [
        f"pauses, which are in no time below: {len(lengths)} in {format_seconds(pauses.watched)} of work{longest}; the "
        f"measurement got {share:.0f} % of a processor",
        f"answers that a pause longer than the deadline hits: {hit}",
    ]


def _regimes(samples: CostSamples) -> list[str]:
    """Say how much longer units take after a sleep, if that was measured."""
    hot = samples.items.get("hot")
    lines = []
    for regime in AFTER_SLEEP:
        if hot is None or (slept := samples.items.get(regime)) is None:
            continue
        both = slice(min(len(hot.sizes), len(slept.sizes)))  # they begin with the same items
        medians = [np.median(answers.part(both).seconds, axis=2) for answers in (slept, hot)]
        added = np.median(medians[0] - medians[1], axis=1)
        title = f"{regime}, µs more"
        lines += [f"{title:20}" + ", ".join(f"{u} {1e6 * a:.1f}" for u, a in zip(samples.units, added, strict=True))]
    asleep = samples.items["cold"].asleep if lines and "cold" in samples.items else 0.0
    return [f"after {format_seconds(asleep)} asleep, in the median:", *lines, ""] if lines else []


def plot_costs(samples: CostSamples, rows: Sequence[CostRow], quantile: float, folder: Path) -> None:
    """Draw the samples and both fits of each unit into ``folder``: four files each, for light and for dark pages.

    Parameters
    ----------
    samples : CostSamples
    rows : sequence of CostRow
        As `report_costs` returns them.
    quantile : float
        The quantile of the worst case, for the note.
    folder : Path
        Made if it does not exist.
    """
    from polydom_builder.drawing.saving import save

    folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        name = "dispatch" if row.unit == DISPATCH else "".join(c if c.isalnum() else "_" for c in row.unit)
        save(partial(_picture, samples, row, quantile), folder / name)


def _picture(samples: CostSamples, row: CostRow, quantile: float) -> "Figure":
    from polydom_builder.drawing.fitted_times import draw_fits
    from polydom_builder.drawing.style import headline, panel
    from polydom_builder.drawing.unit_bars import short

    figure, axes = panel()
    fit, largest = row.fit, float(samples.sizes[-1])
    draw_fits(axes, samples.sizes, samples.of(row.unit), fit.typical, fit.worst)
    typical, worst = (format_seconds(cost(largest)) for cost in (fit.typical, fit.worst))
    note = f"marks: samples; typical: {fit.typical}; worst case ({quantile:g} quantile): {fit.worst}"
    headline(axes, f"{short(row.unit)} takes {typical} at size {largest:,g}, worst case {worst}", note)
    return figure
