"""Figures of the scenes, drawn from raw results alone."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from polydom_builder.drawing.labels import label_lines
from polydom_builder.drawing.style import COLOURS, LineLook, headline
from polydom_builder.drawing.ticks import linear_axis, log_axis, percent_axis

from .figures import LOOKS, Draw, legend, line, panels
from .results import Row, column, where
from .synthetic_index import SIZE_LINES, TIME_LINES

Tables = Mapping[str, Sequence[Row]]
"""Raw results by experiment."""

SHOWN = "texton"
"""The feature whose samples are shown, as in the paper; the first feature if there is none of this name."""


def by(rows: Sequence[Row], name: str) -> list[Any]:
    """Return the different values of a column, in their order.

    >>> by([{"e": 0.1}, {"e": 0.0}, {"e": 0.1}], "e")
    [0.1, 0.0]
    """
    return list(dict.fromkeys(row[name] for row in rows))


def side(size: float) -> str:
    """Return a size in pixels as the side of a square.

    >>> side(4225.0)
    '65 × 65 pixels'
    """
    pixels = round(math.sqrt(size))
    return f"{pixels} × {pixels} pixels"


UNITS_A_ROW = 3


def draw_costs(rows: Sequence[Row]) -> Figure:
    """Draw the two fitted costs of every feature against size, the dearest first, and the samples of one."""
    units = {str(unit): where(rows, unit=unit) for unit in by(rows, "unit") if not str(unit).startswith("(")}
    shown = SHOWN if SHOWN in units else next(iter(units))
    order = sorted(units, key=lambda unit: float(units[unit][-1]["worst"]), reverse=True)
    ends = [EngFormatter("s", places=0)(float(units[unit][-1]["worst"])) for unit in (order[0], order[-1])]
    finding = f"At {side(max(column(rows, 'size')))}, a feature costs at worst {ends[1]} to {ends[0]}"
    figure, axes = panels(finding, len(order) // UNITS_A_ROW + 1, UNITS_A_ROW, height=1.45)
    for ax, unit in zip(axes, order, strict=False):
        _draw_unit(ax, units[unit], samples=unit == shown)
        ax.set_title(unit, fontsize=10.0, pad=3.0)
    for ax in axes[: len(order)]:
        log_axis(ax.xaxis)
        log_axis(ax.yaxis, "s")
        ax.xaxis.set_major_formatter(EngFormatter())
    for ax in axes[::UNITS_A_ROW]:
        ax.set_ylabel("time")
    key = axes[len(order)]
    key.legend(*axes[order.index(shown)].get_legend_handles_labels(), loc="center", handlelength=3.2)
    for ax in axes[len(order) :]:
        ax.axis("off")
    for ax in axes[len(order) - UNITS_A_ROW : len(order)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("pixels")
    return figure


def _draw_unit(ax: Axes, rows: Sequence[Row], *, samples: bool) -> None:
    sizes, typical, worst = (column(rows, name) for name in ("size", "typical", "worst"))
    for values, name, look in ((worst, "worst case, fitted", "as printed"), (typical, "median, fitted", "Poly-Dom")):
        ax.plot(sizes, values, **LOOKS[look].line | {"marker": None}, label=name)
    ax.fill_between(sizes, typical, worst, color=COLOURS["blue"], alpha=0.15, linewidth=0.0)
    if samples:
        label = f"samples of {rows[0]['unit']}:\n10, 50 and 90 %"
        ax.vlines(sizes, column(rows, "low"), column(rows, "high"), color=COLOURS["ink"], linewidth=1.0)
        ax.plot(sizes, column(rows, "median"), "o", color=COLOURS["ink"], markersize=3.0, label=label)


def draw_trainings(rows: Sequence[Row]) -> Figure:
    """Draw the sets trained against e, a line for each α, on a log scale."""
    systems = {
        "best first": "Poly-Dom",
        "best first, c0 fixed": "Poly-Dom, c0 fixed",
        "as printed": "as printed",
        "layer by layer": "layer by layer",
    }
    alphas = sorted({float(a) for a in by(where(rows, system="as printed"), "alpha")})
    (ours,), (printed,), (every, *_) = (
        column(where(rows, system=name, **given), "trained")
        for name, given in (("best first", AT), ("as printed", AT), ("all", {}))
    )
    finding = f"of {every:,.0f} sets, Poly-Dom trains {ours:,.0f}, the printed search {printed:,.0f}"
    figure, axes = panels(f"With α = 1.2 and e = 0, {finding}", 2, 2, height=3.2)
    for ax, (system, title) in zip(axes, systems.items(), strict=True):
        for alpha, strength in zip(alphas, np.linspace(1.0, 0.35, len(alphas)).tolist(), strict=True):
            mine = where(rows, system=system, alpha=alpha)
            style: dict[str, Any] = {"color": (COLOURS["blue"], strength), "marker": "o", "markersize": 3.0}
            if mine:
                ax.plot(column(mine, "e"), column(mine, "trained"), **style, label=f"α = {alpha:g}")
        for name, look in (("Greedy", LineLook("ink", "--")), ("all", LineLook("ink", ":"))):
            mine = where(rows, system=name)
            line(ax, column(mine, "e"), column(mine, "trained"), name, look)
        linear_axis(ax.xaxis)
        log_axis(ax.yaxis)
        headline(ax, title)
    axes[0].set_ylim(bottom=1.0)
    for ax in axes:
        label_lines(ax, spacing=0.075)
    for ax in axes[::2]:
        ax.set_ylabel("sets trained")
    for ax in axes[2:]:
        ax.set_xlabel("e")
    return figure


AT: dict[str, float] = {"alpha": 1.2, "e": 0.0}
"""Where the title says how many sets are trained."""

SELECTIONS = {"kept": "kept by Poly-Dom", "all trained": "all trained as printed"}
GIVEN: dict[str, dict[str, float]] = {"e": {"alpha": 1.3}, "alpha": {"e": 0.0}}
"""For each x axis, what is fixed."""


def draw_indexes(rows: Sequence[Row], lines: Mapping[str, str], label: str, unit: str = "") -> Figure:
    """Draw the size or time of the indexes against e and α, for the kept candidates and for all trained sets.

    Parameters
    ----------
    rows : sequence of Row
        From `scenes.measure_indexes`.
    lines : mapping of str to str
        Columns to draw, with their labels.
    label : str
        What is drawn.
    unit : {"", "s"}
        Columns of times are in microseconds.
    """
    scale, text = (1e-6, EngFormatter(unit, places=1)) if unit else (1.0, EngFormatter(places=0))
    example = where(rows, selection="all trained", e=0.0, **GIVEN["e"])[0]
    values = {system: text(scale * float(example[name])) for name, system in lines.items()}
    finding = ", ".join(f"{system} {values[system]}" for system in ("Poly-Dom", "Naive-Lookup"))
    figure, axes = panels(f"{label}, α = 1.3, e = 0, all trained: {finding}", 2, 2)
    places = [(selection, x) for selection in SELECTIONS for x in GIVEN]
    for ax, (selection, x) in zip(axes, places, strict=True):
        mine = sorted(where(rows, selection=selection, **GIVEN[x]), key=lambda row: float(row[x]))
        for name, system in lines.items():
            drawn = [row for row in mine if not math.isnan(float(row[name]))]
            line(ax, column(drawn, x), [scale * value for value in column(drawn, name)], system)
        linear_axis(ax.xaxis)
        headline(ax, "α = 1.3" if x == "e" else "e = 0", SELECTIONS[selection])
    for ax in axes:
        log_axis(ax.yaxis, unit)  # after all panels are drawn, as they share the axis
    for ax, x in zip(axes[2:], ("e", "α"), strict=True):
        ax.set_xlabel(x)
    for left, right in (axes[:2], axes[2:]):
        left.set_ylabel(label)
        legend(right)
    return figure


GROUPS = (
    ("Poly-Dom", "Poly-Dom, α = 1.02", "Poly-Dom, α = 1.2", "α = 1.2, all trained", "as printed"),
    ("Greedy", "Greedy-Acc", "Greedy-Cost", "Poly-Dom, α = 1.02", "one set for all sizes"),
)
"""The systems in each column of panels."""


def draw_accuracy(rows: Sequence[Row], kind: str, place: str) -> Figure:
    """Draw accuracy against budget, a row of panels for each size: Poly-Dom on the left, other systems on the right."""
    best, *others = (
        np.mean(column(where(rows, system=name), kind)) for name in ("optimum", "Poly-Dom", "Greedy", "as printed")
    )
    gaps = [f"{100 * (best - other):.1f}" for other in others]
    finding = f"mean points below the optimum: Poly-Dom {gaps[0]}, Greedy {gaps[1]}, as printed {gaps[2]}"
    sizes = by(rows, "size")
    figure, axes = panels(f"{place}, {finding}", len(sizes), len(GROUPS), height=1.8)
    for ax, (n, group) in zip(axes, [(n, group) for n in sizes for group in GROUPS], strict=True):
        for name in ("optimum", *group):
            mine = where(rows, size=n, system=name)
            line(ax, column(mine, "budget"), column(mine, kind), name)
        log_axis(ax.xaxis, "s")
        ax.text(0.98, 0.06, side(n), ha="right", transform=ax.transAxes)
    for ax in axes[:: len(GROUPS)]:
        linear_axis(ax.yaxis, label="accuracy")
    for ax in axes[: len(GROUPS)]:
        legend(ax, columns=2)
    for ax in axes[-len(GROUPS) :]:
        ax.set_xlabel("budget")
    return figure


EXACT = (("optimum", 0.0), ("Poly-Dom", 1.0))
"""System and α of the rows that the title compares."""


def draw_averages(rows: Sequence[Row]) -> Figure:
    """Draw the mean accuracies as a table of α and e."""
    titles = {"estimated": "estimated", "tested": "on the test photos"}
    best, ours = (np.array([column(where(rows, system=s, alpha=a), kind) for kind in titles]) for s, a in EXACT)
    finding = f"Poly-Dom with α = 1 is at most {100 * (best - ours).max():.1f} points below the optimum"
    figure, axes = panels(f"Mean accuracy: {finding}", 1, len(titles), height=4.0)
    groups = dict.fromkeys((str(row["system"]), float(row["alpha"])) for row in rows)
    names = [f"{system}, α = {alpha:g}" if alpha else system for system, alpha in groups]
    for ax, (kind, title) in zip(axes, titles.items(), strict=True):
        table = np.array([column(where(rows, system=s, alpha=a), kind) for s, a in groups])
        ax.imshow(table, cmap="Blues", aspect="auto", vmin=1.3 * table.min() - 0.3 * table.max(), vmax=table.max())
        for (i, j), value in np.ndenumerate(table):
            ink = "white" if value > 0.5 * (table.min() + table.max()) else "black"  # the higher, the darker the cell
            ax.text(j, i, f"{value:.3f}", ha="center", va="center", fontsize=8, color=ink)
        ax.set(xticks=range(table.shape[1]), xticklabels=[f"{e:g}" for e in by(rows, "e")], xlabel="e")
        ax.set(yticks=range(len(names)), yticklabels=names)
        ax.grid(visible=False)
        headline(ax, title)
    return figure


def draw_violations(rows: Sequence[Row]) -> Figure:
    """Draw the distribution of the violations of monotonicity."""
    figure, (ax,) = panels(f"No subset scores more than {column(rows, 'amount')[-1]:.3f} above its superset")
    for name, label, system in (("all_pairs", "all pairs", "Poly-Dom"), ("violating", "that violate", "as printed")):
        plain = LOOKS[system].line | {"marker": None, "drawstyle": "steps-post"}
        ax.plot(column(rows, "amount"), column(rows, name), **plain, label=label)
    linear_axis(ax.xaxis, label="violation at most")
    percent_axis(ax.yaxis, "share of the pairs")
    ax.set(ylim=(0.0, 1.02), xlim=(0.0, None))
    legend(ax)
    return figure


def draw_distances(rows: Sequence[Row]) -> Figure:
    """Draw how large the violations are at each distance, and how many pairs violate."""
    names = ("distance", "low", "median", "high", "largest")
    distances, low, middle, high, largest = (column(rows, name) for name in names)
    figure, (ax,) = panels(f"No subset scores more than {max(largest):.3f} above its superset", height=3.6)
    ax.vlines(distances, low, high, color=COLOURS["blue"], linewidth=4.0, alpha=0.4)
    ax.plot(distances, middle, "o", color=COLOURS["blue"])
    ax.plot(distances, largest, "_", color=COLOURS["orange"], markersize=12.0, markeredgewidth=2.0)
    for row in rows:
        share = 100.0 * float(row["violating"]) / float(row["pairs"])
        top = float(row["distance"]), float(row["largest"])
        ax.annotate(f"{share:.2g} %", top, (0, 6), textcoords="offset points", ha="center", fontsize=8.5)
    linear_axis(ax.yaxis, label="score of the subset − superset")
    ax.xaxis.set_major_locator(MaxNLocator(14, integer=True))
    ax.set(xlabel="features that the superset has more", ylim=(0.0, None))
    headline(ax, "", "point: median, bar: 10 to 90 %, dash: largest; numbers: share of the pairs that violate")
    return figure


def _points(ax: Axes, x: Sequence[float], y: Sequence[float], label: str, system: str) -> None:
    ax.plot(x, y, ".", color=LOOKS[system].line["color"], markersize=3, label=label, rasterized=True)


def _diagonal(ax: Axes, ends: Sequence[float]) -> None:
    ax.plot(ends, ends, color=COLOURS["rule"], linewidth=4.0, zorder=1.5)


def draw_compared_costs(rows: Sequence[Row]) -> Figure:
    """Draw planned against measured costs, for the smallest and the largest images."""
    sizes = by(rows, "size")
    excess = np.divide(column(rows, "planned"), column(rows, "median"))
    finding = f"Random feature sets: a plan is {np.median(excess):.2g} times what is measured, in the median"
    figure, axes = panels(finding, 1, len(sizes), height=3.6)
    plans = {"planned": ("planned", "Poly-Dom"), "greedy": ("planned at the median size", "Greedy")}
    drawn = [value for name in plans for value in column(rows, name)]
    for ax, n in zip(axes, sizes, strict=True):
        mine = where(rows, size=n)
        for name, (label, system) in plans.items():
            _points(ax, column(mine, name), column(mine, "median"), label, system)
        _diagonal(ax, (min(drawn), max(drawn)))
        log_axis(ax.xaxis, "s", "planned")
        log_axis(ax.yaxis, "s")
        headline(ax, side(n))
    axes[0].legend(loc="upper left", markerscale=3)
    axes[0].set_ylabel("measured, median of the rounds")
    return figure


def draw_compared_accuracies(rows: Sequence[Row]) -> Figure:
    """Draw estimated against tested accuracies, for the smallest and the largest images."""
    titles = {"small": "smallest images", "large": "largest images"}
    figure, axes = panels("Estimated and tested accuracy of random feature sets", 1, len(titles), height=3.6)
    estimated = column(rows, "estimated")
    for ax, (name, title) in zip(axes, titles.items(), strict=True):
        tested = column(rows, name)
        _points(ax, estimated, tested, name, "Poly-Dom")
        _diagonal(ax, (min(estimated), max(estimated)))
        linear_axis(ax.xaxis, label="estimated")
        bias = 100.0 * float(np.mean(np.subtract(estimated, tested)))
        headline(ax, f"{title}: {abs(bias):.1f} points too {'high' if bias > 0.0 else 'low'}")
    linear_axis(axes[0].yaxis, label="on the test photos")
    return figure


FIGURES: dict[str, tuple[str, Draw]] = {
    "costs": ("costs", draw_costs),
    "trainings": ("trainings", draw_trainings),
    "index_sizes": ("indexes", partial(draw_indexes, lines=SIZE_LINES, label="Entries")),
    "lookup_times": ("indexes", partial(draw_indexes, lines=TIME_LINES, label="One lookup", unit="s")),
    "accuracy": ("accuracy", partial(draw_accuracy, kind="tested", place="Test photos")),
    "accuracy_estimated": ("accuracy", partial(draw_accuracy, kind="estimated", place="Estimates")),
    "averages": ("averages", draw_averages),
    "violations": ("violations", draw_violations),
    "distances": ("distances", draw_distances),
    "compared_costs": ("compared_costs", draw_compared_costs),
    "compared_accuracies": ("compared_accuracies", draw_compared_accuracies),
}
"""For each figure the experiment it is drawn from, and how."""
