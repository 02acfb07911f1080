"""The table of the scenes: the paper's claims beside the results here, from raw results alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .results import Row, column, where
from .scene_figures import Tables, by

Here = Callable[[Tables], str]
"""Finds a result in the tables and returns it as text."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper about its photographs, the result here, and a remark.

    Parameters
    ----------
    what : str
        Subject of the claim.
    paper : str
        The result of the paper.
    here : callable
        Finds the result here.
    remark : str
        Explains a difference.
    """

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
    "The printed search does as the paper says. Poly-Dom uses the costs, which are known before anything is trained."
)
SCORES_DECIDE = (
    "How many trainings are needed depends on the scores. The scores of the paper's features and models are not known."
)
DOMINATED = "Dominated sets are entries of Naive-Lookup, but they are in no row of the array."
FEW_KEPT = "Poly-Dom keeps only a few sets, so every index is small and quick."
TAKES_ALL = (
    "The pruning of candidates uses the loss that α allows, although better sets are trained: see `all trained`."
)
ADAPTS = (
    "Greedy goes on while there is time. Here it stops as if it knew how long the next feature takes. "
    "The plan of Poly-Dom does not adapt."
)
COMPOUNDS = (
    "In the printed pruning, α applies several times over. "
    "With e = 0, every search ignores that sets may break monotonicity."
)

CLAIMS = (
    Claim("Sets trained, α = 1.2, e = 0", "under 400", _trained(1.2), TRAINS_LESS),
    Claim("All sets divided by sets trained, α = 1.2, e = 0", "20", _fewer, TRAINS_LESS),
    Claim("Sets trained, α = 1.1, e = 0", "over a quarter", _trained(1.1), SCORES_DECIDE),
    Claim("Sets trained, α = 1.02, e = 0", "–", _trained(1.02), "The paper did not go so close to the optimum."),
    Claim("Sets trained, α = 1, e = 0", "–", _trained(1.0), "The answers would be exact if the scores were monotone."),
    Claim("Sets trained, α = 1.2, e = .05", "under 400, more than with e = 0", _trained(1.2, 0.05), SCORES_DECIDE),
    Claim(
        "Fewest trainings if all scores were known, α = 1.2",
        "–",
        _fewest,
        "No search can train fewer than the first number.",
    ),
    Claim(
        "Sets trained by Greedy",
        "like Poly-Dom, α = 1.2",
        _greedy,
        "To choose one feature, Greedy must score all other features too.",
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
    Claim("Violations within .05", "close to 95 %", _within(0.05), "The paper does not say which pairs it counts."),
    Claim("Violations within .075", "all", _within(0.075)),
    Claim("Violations by distance", "median largest at 2, near 0 at 8", _by_distance),
    Claim("Mean estimated accuracy", "Greedy-Cost best", _means("accuracy", "estimated"), TAKES_ALL),
    Claim("Mean accuracy on the test photos", "–", _means("accuracy", "tested"), TAKES_ALL),
    Claim("Mean accuracy with measured times, replayed", "Greedy-Cost best", _means("replay", "tested"), ADAPTS),
    Claim(
        "Late answers of Poly-Dom in this replay, α = 1.2",
        "none",
        _late,
        "Tested on rounds that were not used for the plan.",
    ),
    Claim(
        "Planned cost",
        "overestimated",
        _costs,
        "A plan at the median size is too high for small images and too low for large ones.",
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
        Facts of the run, from `load_facts`.
    figures : sequence of str
        Names of the pictures to show.
    """
    lines = ["| what | the paper | here | remark |", "| --- | --- | --- | --- |"]
    lines += [f"| {claim.what} | {claim.paper} | {claim.here(tables)} | {claim.remark} |" for claim in CLAIMS]
    n_features, measured = len(facts["features"]), facts["measured"]
    head = (
        "# Experiments on photographs\n\n"
        f"{n_features} features make {1 << n_features:,} feature sets. Each set was trained once; the searches then "
        f"look up its score. Costs are planned such that {100 * facts['quantile']:g} % of the answers are in time, "
        f"from every second one of {measured['rounds']} measured rounds ({measured['stopped']}). If c0 is fixed, it is "
        f"{1e3 * facts['deadline']:.0f} ms. Greedy plans at the median size.\n\n"
        f"Python {facts['python']}, NumPy {facts['numpy']}, {facts['processor']}; "
        f"{sum(facts['seconds'].values()):,.0f} s of processor time in all."
    )
    pictures = "\n".join(f"![{name}](scenes_{name}.png)" for name in figures)
    return "\n\n".join([head, "\n".join(lines), f"## Figures\n\n{pictures}"]) + "\n"
