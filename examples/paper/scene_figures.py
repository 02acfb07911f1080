"""Figures and table of the scenes, drawn from raw results alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
"""The feature whose samples are shown, as in the paper; the first one if there is none of that name."""


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


def _side(size: float) -> str:
    side = round(math.sqrt(size))
    return f"{side} × {side} pixels"


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
    """Draw what the indexes need against e and against α, over what is kept and over all that is trained."""
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
"""Colours of the systems that other experiments do not have."""

EXACT = ("Poly-Dom", "Poly-Dom, α = 1.02", "Poly-Dom, α = 1.2", "α = 1.2, all trained", "as printed")
HEURISTIC = ("Greedy", "Greedy-Acc", "Greedy-Cost")
GROUPS = (
    dict(zip(("optimum", *EXACT), ("-", "-", "--", "--", "-.", "-."), strict=True)),
    dict(
        zip(("optimum", *HEURISTIC, EXACT[1], "one set for all sizes"), ("-", "-", "-.", ":", "--", ":"), strict=True)
    ),
)
"""For each row of panels the systems with their dashes."""


def draw_accuracy(rows: Sequence[Row], kind: str, headline: str) -> Figure:
    """Draw accuracy against budget, a column of panels for each size: above Poly-Dom, below its rivals."""
    sizes = by(rows, "size")
    figure, axes = panels([_side(n) for n in sizes], headline, rows=len(GROUPS), width=3.5, height=2.7)
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
        ax.imshow(table, cmap="Blues", aspect="auto", vmin=table.min() - 0.02, vmax=table.max() + 0.05)
        for (i, j), value in np.ndenumerate(table):
            ax.text(j, i, f"{value:.3f}", ha="center", va="center", fontsize=8)
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
    figure, axes = panels([_side(n) for n in sizes], "Planned and measured cost of random feature sets", height=4.0)
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


Here = Callable[[Tables], str]
"""Finds a result."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says of its photographs, where to find what was measured, and what is to be said of it."""

    what: str
    paper: str
    here: Here
    remark: str = ""


def _one(rows: Sequence[Row], name: str, digits: int = 0) -> str:
    """Return the number of a single row; a dash if there is none."""
    return f"{float(rows[0][name]):,.{digits}f}" if rows and not math.isnan(float(rows[0][name])) else "–"


def _trained(alpha: float, e: float = 0.0) -> Here:
    names = {"as printed": "as printed", "layer by layer": "made complete", "best first": "Poly-Dom"}
    names["best first, c0 fixed"] = "c0 fixed"

    def here(tables: Tables) -> str:
        rows = {name: where(tables["trainings"], system=system, alpha=alpha, e=e) for system, name in names.items()}
        return "; ".join(f"{name} {_one(mine, 'trained')}" for name, mine in rows.items())

    return here


def _fewer(tables: Tables) -> str:
    every = float(where(tables["trainings"], system="all")[0]["trained"])
    rows = {name: where(tables["trainings"], system=name, alpha=1.2, e=0.0) for name in ("as printed", "best first")}
    counts = {name: column(mine, "trained") for name, mine in rows.items()}
    return "; ".join(f"{name} {every / count[0]:,.0f}" for name, count in counts.items() if count)


def _fewest(tables: Tables) -> str:
    rows = {k: where(tables["trainings"], system=f"{k}, omniscient", alpha=1.2) for k in ("at least", "enough")}
    return f"at least {_one(rows['at least'], 'trained')}; {_one(rows['enough'], 'trained')} are enough"


def _greedy(tables: Tables) -> str:
    return _one(where(tables["trainings"], system="Greedy"), "trained")


def _entries(selection: str, alpha: float = 1.3) -> Here:
    names = {"array": "array", "intervals": "intervals", "all_crossings": "Index-All", "scan": "Naive-Lookup"}

    def here(tables: Tables) -> str:
        rows = where(tables["indexes"], alpha=alpha, e=0.0, selection=selection)
        return "; ".join(f"{label} {_one(rows, name)}" for name, label in names.items())

    return here


def _times(selection: str, alpha: float) -> Here:
    def here(tables: Tables) -> str:
        rows = where(tables["indexes"], alpha=alpha, e=0.0, selection=selection)
        ratio = float(rows[0]["naive"]) / float(rows[0]["poly_dom"]) if rows else math.nan
        return f"{_one(rows, 'naive', 1)} µs, {ratio:.1f} times Poly-Dom's; {_one(rows, 'scan')} candidates"

    return here


def _within(amount: float) -> Here:
    def here(tables: Tables) -> str:
        names = {"violating": "of those that violate", "all_pairs": "of all pairs"}
        grid = column(tables["violations"], "amount")
        values = [np.interp(amount, grid, column(tables["violations"], name)) for name in names]
        shares = "; ".join(f"{100 * v:.4g} % {label}" for v, label in zip(values, names.values(), strict=True))
        return f"{shares}; largest {grid[-1]:.3f}"

    return here


def _by_distance(tables: Tables) -> str:
    rows = [row for row in tables["distances"] if int(row["violating"])]
    medians = ", ".join(f"{row['distance']}: {float(row['median']):.3f}" for row in rows)
    share = sum(column(rows, "violating")) / sum(column(tables["distances"], "pairs"))
    return f"{100 * share:.2f} % of the pairs violate; medians {medians}" if rows else "no pair violates"


def _means(experiment: str, kind: str) -> Here:
    def here(tables: Tables) -> str:
        rows = tables[experiment]
        means = {name: np.mean(column(where(rows, system=name), kind)) for name in by(rows, "system")}
        return "; ".join(f"{name} {mean:.3f}" for name, mean in means.items())

    return here


def _late(tables: Tables) -> str:
    rows = where(tables["replay"], system="Poly-Dom, α = 1.2")
    return f"{100 * np.mean(column(rows, 'late')):.2g} %"


def _promises(tables: Tables, sufficient: int, alpha: float = 1.2) -> str:
    rows = where(tables["promises"], alpha=alpha, sufficient=sufficient)
    counts = (
        f"{r['system']} {int(r['broken']):,} of {int(r['queries']):,}, worst {float(r['worst_ratio']):.3f}"
        for r in rows
    )
    return "; ".join(counts)


def _costs(tables: Tables) -> str:
    rows = tables["compared_costs"]
    found = []
    for name, n in zip(("small", "large"), by(rows, "size"), strict=True):
        mine = where(rows, size=n)
        ratios = {plan: np.divide(column(mine, plan), column(mine, "median")) for plan in ("planned", "greedy")}
        within = 100.0 * np.mean(column(mine, "within"))
        over = f"{np.median(ratios['planned']):.2f} times what is measured, {within:.1f} % within the plan"
        found.append(f"{name} images: {over}; planned at the median size {np.median(ratios['greedy']):.2f} times")
    return ". ".join(found)


def _accuracies(tables: Tables) -> str:
    rows = tables["compared_accuracies"]
    estimated = np.array(column(rows, "estimated"))
    found = []
    for name in ("small", "large"):
        tested = np.array(column(rows, name))
        lead, likeness = 100.0 * np.mean(estimated - tested), np.corrcoef(estimated, tested)[0, 1]
        found.append(f"{name} images: estimate less test {lead:+.1f} points, correlation {likeness:.3f}")
    return "; ".join(found)


TRAINS_LESS = (
    "As printed it is what the paper says. Poly-Dom uses the costs, which are known before anything is trained."
)
SCORES_DECIDE = "How many are needed depends on the scores; those of the paper's features and models are not known."
DOMINATED = "Dominated sets are entries of Naive-Lookup, but in no row of the array."
FEW_KEPT = "What Poly-Dom keeps is a handful, and then any index is small and quick."
TAKES_ALL = "What α allows to lose, the pruning of candidates takes, though better sets are trained: see `all trained`."
ADAPTS = "Greedy goes on while there is time, and here stops as if it knew when; Poly-Dom's plan does not adapt."
COMPOUNDS = "In the printed pruning α compounds. With e = 0 no search allows for sets that break monotonicity."

CLAIMS = (
    Claim("Sets trained, α = 1.2, e = 0", "under 400", _trained(1.2), TRAINS_LESS),
    Claim("Sets for each one trained, α = 1.2, e = 0", "20", _fewer, TRAINS_LESS),
    Claim("Sets trained, α = 1.1, e = 0", "over a quarter", _trained(1.1), SCORES_DECIDE),
    Claim("Sets trained, α = 1.02, e = 0", "–", _trained(1.02), "Closer to the optimum than the paper went."),
    Claim("Sets trained, α = 1, e = 0", "–", _trained(1.0), "Exact, were the scores monotone."),
    Claim("Sets trained, α = 1.2, e = .05", "under 400, more than with e = 0", _trained(1.2, 0.05), SCORES_DECIDE),
    Claim("Fewest for one who knew all scores, α = 1.2", "–", _fewest, "What any search can be held to."),
    Claim(
        "Sets trained by Greedy",
        "like Poly-Dom, α = 1.2",
        _greedy,
        "To choose a feature Greedy scores all its rivals too.",
    ),
    Claim(
        "Index entries, α = 1.3, all trained as printed",
        "array a hundredth of Index-All",
        _entries("all trained"),
        DOMINATED,
    ),
    Claim("Index entries, α = 1.3, kept by Poly-Dom", "Naive-Lookup a tenth of the array", _entries("kept"), FEW_KEPT),
    Claim("Naive-Lookup, α = 1.3, all trained as printed", "10 times Poly-Dom's", _times("all trained", 1.3)),
    Claim("Naive-Lookup, α = 1.1, all trained as printed", "10 times Poly-Dom's", _times("all trained", 1.1)),
    Claim("Naive-Lookup, α = 1.3, kept by Poly-Dom", "10 times Poly-Dom's", _times("kept", 1.3), FEW_KEPT),
    Claim("Violations within .05", "close to 95 %", _within(0.05), "Of which pairs the paper does not say."),
    Claim("Violations within .075", "all", _within(0.075)),
    Claim("Violations by distance", "median largest at 2, near 0 at 8", _by_distance),
    Claim("Mean estimated accuracy", "Greedy-Cost best", _means("accuracy", "estimated"), TAKES_ALL),
    Claim("Mean accuracy on the test photos", "–", _means("accuracy", "tested"), TAKES_ALL),
    Claim("Likewise, measured times replayed", "Greedy-Cost best", _means("replay", "tested"), ADAPTS),
    Claim("Answers of Poly-Dom, α = 1.2, too late then", "none", _late, "In rounds that the plan has not seen."),
    Claim(
        "Planned cost", "overestimated", _costs, "A plan at the median size is too high for small, too low for large."
    ),
    Claim("Estimated accuracy", "overestimated, correlated", _accuracies, "The estimate is a mean over all sizes."),
    Claim("Promises broken, α = 1.2, e = 0", "–", partial(_promises, sufficient=0), COMPOUNDS),
    Claim("Promises broken, α = 1.2, e the largest violation", "–", partial(_promises, sufficient=1), COMPOUNDS),
)


def as_markdown(tables: Tables, facts: Mapping[str, Any], figures: Sequence[str]) -> str:
    """Return the results beside the paper's claims.

    Parameters
    ----------
    tables : mapping of str to rows
        Raw results by experiment.
    facts : mapping
        What the run was.
    figures : sequence of str
        Names of the pictures to show.
    """
    lines = ["| what | the paper | here | remark |", "| --- | --- | --- | --- |"]
    lines += [f"| {claim.what} | {claim.paper} | {claim.here(tables)} | {claim.remark} |" for claim in CLAIMS]
    n_features, measured = len(facts["features"]), facts["measured"]
    head = (
        "# Experiments on photographs\n\n"
        f"{n_features} features, {1 << n_features:,} feature sets, each trained once and looked up. Costs are planned "
        f"so that {100 * facts['quantile']:g} % of the answers are in time, from every other of {measured['rounds']} rounds of "
        f"measuring ({measured['stopped']}). c0, where it is fixed, is {1e3 * facts['deadline']:.0f} ms. Greedy plans "
        "at the median size.\n\n"
        f"Python {facts['python']}, NumPy {facts['numpy']}, {facts['processor']}; "
        f"{sum(facts['seconds'].values()):,.0f} s of processor time in all."
    )
    pictures = "\n".join(f"![{name}](scenes_{name}.png)" for name in figures)
    return "\n\n".join([head, "\n".join(lines), f"## Figures\n\n{pictures}"]) + "\n"
