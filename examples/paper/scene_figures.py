"""Figures and table of the scenes, drawn from raw results alone."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from .figures import COLOURS, Draw, label_lines, panels, plain_numbers
from .results import Row, column, where

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


def _line(ax: Axes, rows: Sequence[Row], x: str, y: str, scale: float = 1.0, **drawn: Any) -> None:
    if rows:
        ax.plot(column(rows, x), scale * np.array(column(rows, y)), **drawn)


def _shade(colours: str, share: float) -> str:
    return to_hex(matplotlib.colormaps[colours](share))


def side(size: float) -> str:
    """Return a size in pixels as the side of a square.

    >>> side(4225.0)
    '65 × 65 pixels'
    """
    pixels = round(math.sqrt(size))
    return f"{pixels} × {pixels} pixels"


def draw_costs(rows: Sequence[Row]) -> Figure:
    """Draw the typical cost of every feature, the worst cases, and the samples of one with both fits."""
    units = [unit for unit in by(rows, "unit") if not str(unit).startswith("(")]
    shown = SHOWN if SHOWN in units else units[0]
    titles = ["median, fitted", "worst case, fitted", f"{shown}: samples and fits"]
    figure, axes = panels(titles, "Cost against size, without the model", height=4.2)
    axes[0].set(yscale="log", ylabel="ms")
    plain_numbers(axes[0].yaxis)
    for k, unit in enumerate(units):
        for ax, fit in zip(axes, ("typical", "worst"), strict=False):
            _line(ax, where(rows, unit=unit), "size", fit, 1e3, color=_shade("tab20", k / 20), label=unit)
    mine = where(rows, unit=shown)
    quantiles = [1e3 * np.array(column(mine, name)) for name in ("low", "median", "high")]
    spread = np.abs(np.diff(quantiles, axis=0))
    axes[2].errorbar(
        column(mine, "size"), quantiles[1], spread, fmt="o", color="#777777", markersize=4, label="_10, 50, 90 %"
    )
    for fit, system in (("worst", "as printed"), ("typical", "Poly-Dom")):
        _line(axes[2], mine, "size", fit, 1e3, color=COLOURS[system], label=fit)
    for ax in axes:
        ax.set_xlabel("size, pixels")
        ax.xaxis.set_major_formatter(lambda n, _: f"{n:,.0f}")
        label_lines(ax, spacing=0.05)
    return figure


def draw_trainings(rows: Sequence[Row]) -> Figure:
    """Draw the sets trained against e, a line for each α, on a log scale."""
    systems = {
        "best first": "Poly-Dom",
        "best first, c0 fixed": "Poly-Dom, c0 fixed",
        "as printed": "as printed",
        "layer by layer": "layer by layer",
    }
    figure, axes = panels(list(systems.values()), "Feature sets trained", width=3.6)
    alphas = sorted({float(a) for a in by(where(rows, system="as printed"), "alpha")})
    for ax, system in zip(axes, systems, strict=True):
        for k, alpha in enumerate(alphas):
            shade = _shade("viridis", 0.92 * k / max(len(alphas) - 1, 1))
            mine = where(rows, system=system, alpha=alpha)
            _line(ax, mine, "e", "trained", color=shade, label=f"α = {alpha:g}", marker="o", markersize=3)
        for name, dashes in (("Greedy", "--"), ("all", ":")):
            _line(ax, where(rows, system=name), "e", "trained", color="#000000", linestyle=dashes, label=name)
        ax.set(xlabel="e", yscale="log")
    plain_numbers(axes[0].yaxis)
    axes[0].set(ylabel="feature sets trained", ylim=(1.0, None))
    for ax in axes:
        label_lines(ax)
    return figure


ENTRIES = {
    "all_crossings": "Index-All",
    "array": "two-dimensional array",
    "intervals": "Poly-Dom",
    "scan": "Naive-Lookup",
}
TIMES = {
    "naive": "Naive-Lookup",
    "naive_numpy": "Naive-Lookup, numpy",
    "poly_dom": "Poly-Dom",
    "staircase": "staircase",
}


def draw_indexes(rows: Sequence[Row], lines: Mapping[str, str], headline: str, ylabel: str) -> Figure:
    """Draw the size or time of the indexes against e and α, for the kept candidates and for all trained sets.

    Parameters
    ----------
    rows : sequence of Row
        From `scenes.measure_indexes`.
    lines : mapping of str to str
        Columns to draw, with their labels.
    headline, ylabel : str
        Title of the figure and label of its y axes.
    """
    against = [("e", {"alpha": 1.3}), ("alpha", {"e": 0.0})]
    places = [(selection, x, given) for selection in ("kept", "all trained") for x, given in against]
    names = {"kept": "kept by Poly-Dom", "all trained": "all trained as printed"}
    titles = [f"{names[selection]}, {'α = 1.3' if x == 'e' else 'e = 0'}" for selection, x, _ in places]
    figure, axes = panels(titles, headline, width=3.9)
    axes[0].set(yscale="log", ylabel=ylabel)
    plain_numbers(axes[0].yaxis)
    for ax, (selection, x, given) in zip(axes, places, strict=True):
        mine = sorted(where(rows, selection=selection, **given), key=lambda row: float(row[x]))
        for name, label in lines.items():
            drawn = [row for row in mine if not math.isnan(float(row[name]))]
            _line(ax, drawn, x, name, color=COLOURS[label], label=label, marker="o", markersize=3)
        ax.set_xlabel("α" if x == "alpha" else "e")
    for ax in axes:
        label_lines(ax)
    return figure


SHADES = {"Poly-Dom, α = 1.02": "#009E73", "α = 1.2, all trained": "#882255", "one set for all sizes": "#777777"}
"""Colours of the systems that only these experiments have."""

EXACT = ("Poly-Dom", "Poly-Dom, α = 1.02", "Poly-Dom, α = 1.2", "α = 1.2, all trained", "as printed")
HEURISTIC = ("Greedy", "Greedy-Acc", "Greedy-Cost")
GROUPS = (
    dict(zip(("optimum", *EXACT), ("-", "-", "--", "--", "-.", "-."), strict=True)),
    dict(
        zip(("optimum", *HEURISTIC, EXACT[1], "one set for all sizes"), ("-", "-", "-.", ":", "--", ":"), strict=True)
    ),
)
"""For each row of panels, its systems with their dashes."""


def draw_accuracy(rows: Sequence[Row], kind: str, headline: str) -> Figure:
    """Draw accuracy against budget, a column of panels for each size: Poly-Dom above, other systems below."""
    sizes = by(rows, "size")
    figure, axes = panels([side(n) for n in sizes], headline, rows=len(GROUPS), width=3.5, height=2.7)
    for ax, (group, n) in zip(axes, [(group, n) for group in GROUPS for n in sizes], strict=True):
        for name, dashes in group.items():
            colour, width = (COLOURS | SHADES)[name], 6.0 if name == "optimum" else 1.8
            mine = [row | {"ms": 1e3 * float(row["budget"])} for row in where(rows, size=n, system=name)]
            _line(ax, mine, "ms", kind, color=colour, linestyle=dashes, label=name, linewidth=width)
        ax.set(xscale="log")
    for ax in axes[:: len(sizes)]:
        ax.set_ylabel(f"{kind} accuracy")
        ax.legend(loc="lower right", fontsize=7)
    for ax in axes[-len(sizes) :]:
        ax.set_xlabel("budget, ms")
        plain_numbers(ax.xaxis)
    return figure


def draw_averages(rows: Sequence[Row]) -> Figure:
    """Draw the mean accuracies as a table of α and e."""
    titles = {"estimated": "estimated", "tested": "on the test photos"}
    figure, axes = panels(list(titles.values()), "Mean accuracy over sizes and budgets", width=5.0, height=4.0)
    groups = dict.fromkeys((str(row["system"]), float(row["alpha"])) for row in rows)
    names = [f"{system}, α = {alpha:g}" if alpha else system for system, alpha in groups]
    for ax, kind in zip(axes, titles, strict=True):
        table = np.array([column(where(rows, system=s, alpha=a), kind) for s, a in groups])
        ax.imshow(table, cmap="Blues", aspect="auto", vmin=1.3 * table.min() - 0.3 * table.max(), vmax=table.max())
        for (i, j), value in np.ndenumerate(table):
            ink = "white" if value > 0.5 * (table.min() + table.max()) else "black"  # the higher, the darker the cell
            ax.text(j, i, f"{value:.3f}", ha="center", va="center", fontsize=8, color=ink)
        ax.set(xticks=range(table.shape[1]), xticklabels=[f"{e:g}" for e in by(rows, "e")], xlabel="e")
        ax.set(yticks=range(len(names)), yticklabels=names)
        ax.grid(visible=False)
    return figure


def draw_violations(rows: Sequence[Row]) -> Figure:
    """Draw the distribution of the violations of monotonicity."""
    figure, (ax,) = panels(["a(subset) − a(superset)"], "Violations of monotonicity", width=5.5)
    lines = {"all_pairs": ("all pairs", "Poly-Dom"), "violating": ("those that violate", "as printed")}
    for name, (label, system) in lines.items():
        _line(ax, rows, "amount", name, color=COLOURS[system], label=label, drawstyle="steps-post")
    ax.set(xlabel="violation at most", ylabel="share of the pairs", ylim=(0.0, 1.02), xlim=(0.0, None))
    ax.legend(loc="lower right")
    return figure


def draw_distances(rows: Sequence[Row]) -> Figure:
    """Draw how large the violations are at each distance, and how many pairs violate."""
    title = "median, 10 and 90 %, largest; in numbers, how many of the pairs violate"
    figure, axes = panels([title], "Violations of monotonicity by distance", width=6.5)
    middle = np.array(column(rows, "median"))
    spread = [middle - np.array(column(rows, "low")), np.array(column(rows, "high")) - middle]
    axes[0].errorbar(column(rows, "distance"), middle, spread, fmt="o-", color="#000000", ecolor="#AAAAAA", capsize=3)
    axes[0].plot(column(rows, "distance"), column(rows, "largest"), "_", color=COLOURS["as printed"], markersize=10)
    for row in rows:
        share = 100.0 * float(row["violating"]) / float(row["pairs"])
        top = float(row["distance"]), float(row["largest"])
        axes[0].annotate(f"{share:.2g} %", top, (0, 6), textcoords="offset points", ha="center", fontsize=7.5)
    axes[0].set(xlabel="features that the superset has more", ylabel="a(subset) − a(superset)", ylim=(0.0, None))
    return figure


def _points(ax: Axes, x: Sequence[float], y: Sequence[float], label: str, system: str) -> None:
    ax.plot(x, y, ".", color=COLOURS[system], markersize=3, label=label, rasterized=True)


def _diagonal(ax: Axes, ends: Sequence[float]) -> None:
    ax.plot(ends, ends, color="#999999", linewidth=1.0, zorder=0)


def draw_compared_costs(rows: Sequence[Row]) -> Figure:
    """Draw planned against measured costs, for the smallest and the largest images."""
    sizes = by(rows, "size")
    figure, axes = panels([side(n) for n in sizes], "Planned and measured cost of random feature sets", height=4.0)
    plans = {"planned": ("planned", "Poly-Dom"), "greedy": ("planned at the median size, as Greedy does", "Greedy")}
    drawn = [1e3 * value for name in plans for value in column(rows, name)]
    for ax, n in zip(axes, sizes, strict=True):
        mine = where(rows, size=n)
        measured = [1e3 * value for value in column(mine, "median")]
        for name, (label, system) in plans.items():
            _points(ax, [1e3 * value for value in column(mine, name)], measured, label, system)
        _diagonal(ax, (min(drawn), max(drawn)))
        ax.set(xscale="log", yscale="log", xlim=(0.9 * min(drawn), 1.1 * max(drawn)), xlabel="planned, ms")
        plain_numbers(ax.xaxis)
        plain_numbers(ax.yaxis)
        ax.legend(loc="upper left", markerscale=3)
    axes[0].set_ylabel("measured, median of the rounds, ms")
    return figure


def draw_compared_accuracies(rows: Sequence[Row]) -> Figure:
    """Draw estimated against tested accuracies, for the smallest and the largest images."""
    titles = {"small": "smallest images", "large": "largest images"}
    figure, axes = panels(list(titles.values()), "Estimated and tested accuracy of random feature sets", height=4.0)
    estimated = column(rows, "estimated")
    for ax, name in zip(axes, titles, strict=True):
        _points(ax, estimated, column(rows, name), name, "Poly-Dom")
        _diagonal(ax, (min(estimated), max(estimated)))
        ax.set_xlabel("estimated")
    axes[0].set_ylabel("on the test photos")
    return figure


FIGURES: dict[str, tuple[str, Draw]] = {
    "costs": ("costs", draw_costs),
    "trainings": ("trainings", draw_trainings),
    "index_sizes": ("indexes", partial(draw_indexes, lines=ENTRIES, headline="Index entries", ylabel="entries")),
    "lookup_times": ("indexes", partial(draw_indexes, lines=TIMES, headline="Time of one lookup", ylabel="µs, median")),
    "accuracy": ("accuracy", partial(draw_accuracy, kind="tested", headline="Accuracy on the test photos")),
    "accuracy_estimated": ("accuracy", partial(draw_accuracy, kind="estimated", headline="Estimated accuracy")),
    "averages": ("averages", draw_averages),
    "violations": ("violations", draw_violations),
    "distances": ("distances", draw_distances),
    "compared_costs": ("compared_costs", draw_compared_costs),
    "compared_accuracies": ("compared_accuracies", draw_compared_accuracies),
}
"""For each figure the experiment it is drawn from, and how."""
