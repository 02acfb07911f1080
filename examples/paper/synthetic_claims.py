"""What the paper says of its synthetic experiments, and where the raw results say it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .results import Row, Value, column, where
from .synthetic_accuracy import PLANNED, SIZE
from .synthetic_world import ALPHA

Tables = Mapping[str, Sequence[Row]]
"""Raw results by experiment."""

OURS = "Poly-Dom, α = 1.2"

BUDGET = 1000
"""At which the paper reads its figures."""

Here = Callable[[Tables, int], str]
"""Finds a result, for a number of features where that matters."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, where to find what was measured, and what is to be said about a difference."""

    what: str
    paper: str
    here: Here
    remark: str


def spread(rows: Sequence[Row], name: str, digits: int = 0) -> str:
    """Return median and quartiles as a person reads them.

    >>> spread([{"t": 1}, {"t": 2}, {"t": 9}], "t")
    '2 (2–6)'
    """
    if not rows:
        return "–"
    low, middle, high = np.percentile(column(rows, name), (25, 50, 75))
    return f"{middle:,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def trained(kind: str, system: str, alpha: float) -> Here:
    """Find how many sets a system trains."""

    def here(tables: Tables, n_features: int) -> str:
        rows = where(tables["trainings"], kind=kind, system=system, alpha=alpha, n_features=n_features)
        return spread(rows, "trained")

    return here


def _both(kind: str, alpha: float) -> Here:
    """Return as printed, and what ships."""

    def here(tables: Tables, n_features: int) -> str:
        printed, ours = (trained(kind, system, alpha)(tables, n_features) for system in ("as printed", "Poly-Dom"))
        return f"as printed {printed}; Poly-Dom {ours}"

    return here


def _greedy(kind: str) -> Here:
    def here(tables: Tables, n_features: int) -> str:
        scored, kept = (trained(kind, system, 0.0)(tables, n_features) for system in ("Greedy", "Greedy, kept"))
        return f"{scored} scored, {kept} kept"

    return here


def entries(kind: str, name: str, selection: str, at: int | None = None) -> Here:
    """Find how many entries an index over some selection of candidates has, with `at` features if given."""

    def here(tables: Tables, n_features: int) -> str:
        rows = where(tables["index_sizes"], kind=kind, selection=selection, n_features=at or n_features)
        return spread(rows, name)

    return here


def _slower(kind: str, alpha: float) -> Here:
    def here(tables: Tables, n_features: int) -> str:
        rows = where(tables["lookup_times"], kind=kind, alpha=alpha, n_features=n_features)
        ratios: list[Row] = [{"ratio": float(r["naive"]) / float(r["poly_dom"])} for r in rows]
        return f"{spread(ratios, 'ratio', 1)} times Poly-Dom's"

    return here


def _answers(kind: str) -> Here:
    def here(tables: Tables, _: int) -> str:
        rows = at_budget(tables, kind)
        return "; ".join(
            f"{name} {spread(rows, name, 2)}, in the best world {max(column(rows, name)):.2f}"
            for name in (OURS, "Greedy")
        )

    return here


def _lead(kind: str, rival: str) -> Here:
    """Find the least and the greatest mean lead of Poly-Dom over a rival, of all budgets, in points of a hundred."""

    def here(tables: Tables, _: int) -> str:
        leads: dict[Value, list[float]] = {}
        for row in where(tables["accuracy"], kind=kind):
            leads.setdefault(row["budget"], []).append(100.0 * (float(row[OURS]) - float(row[rival])))
        means = [float(np.mean(lead)) for lead in leads.values()]
        single = max(max(lead) for lead in leads.values())
        return f"{min(means):+.0f} to {max(means):+.0f} points, means at each budget; {single:+.0f} in one world"

    return here


def at_budget(tables: Tables, kind: str) -> list[Row]:
    """Return the answers at the budget that the paper reads its figures at."""
    return [row for row in where(tables["accuracy"], kind=kind) if abs(float(row["budget"]) / BUDGET - 1.0) < 1e-3]


CLAIMS = (
    Claim(
        "Sets trained, cf₁, α = 1.2",
        "about 30",
        _both("cf1", ALPHA),
        "As printed it is what the paper says. Poly-Dom trains fewer: it uses the costs, which are known before.",
    ),
    Claim(
        "Sets trained, cf₁, α = 1",
        "about 50",
        _both("cf1", 1.0),
        "The pseudo-code forgets witnesses. A search that forgets none, `layer by layer` below, needs over 50 too.",
    ),
    Claim(
        "Sets trained, cf∞, α = 1",
        "all",
        _both("cfinf", 1.0),
        "A set that costs more than a better one all over the region need not be trained.",
    ),
    Claim(
        "Sets trained, cf∞, α = 1.2",
        "like cf₁",
        _both("cfinf", ALPHA),
        "Not so as printed: where every feature counts, subset and superset differ by more.",
    ),
    Claim(
        "Sets trained by Greedy, cf₁",
        "like Poly-Dom, α = 1.2",
        _greedy("cf1"),
        "To choose a feature Greedy scores all its rivals too. What it keeps is near the paper's count.",
    ),
    Claim(
        "Index of Poly-Dom, cf₁, α = 1.2",
        "under 200",
        entries("cf1", "array", "all trained"),
        "The two-dimensional array over every set trained as printed. The paper does not say what it counts.",
    ),
    Claim("Naive-Lookup, likewise", "under 200", entries("cf1", "scan", "all trained"), "One entry a set."),
    Claim(
        "Poly-Dom-Index-All, likewise",
        "about 1,000",
        entries("cf1", "all_crossings", "all trained"),
        "One skyline for each range between two crossings.",
    ),
    Claim(
        "Poly-Dom-Index-All, 12 features",
        "about 6,000",
        entries("cf1", "all_crossings", "all trained", at=12),
        "Far more of them where every feature counts, see below.",
    ),
    Claim(
        "Index of what Poly-Dom keeps",
        "–",
        entries("cf1", "array", "kept"),
        "The paper prunes before it indexes too; then no index is large.",
    ),
    Claim(
        "Lookup by Naive-Lookup, cf∞, α = 1.2",
        "much slower",
        _slower("cfinf", ALPHA),
        "So few candidates are kept at α = 1.2 that looking at all of them takes little.",
    ),
    Claim(
        "Lookup by Naive-Lookup, cf∞, α = 1",
        "much slower",
        _slower("cfinf", 1.0),
        "Grows with the candidates, of which there are many at α = 1.",
    ),
    Claim(
        f"Accuracy, cf₁, budget {BUDGET:,}",
        "Poly-Dom .80, Greedy .50",
        _answers("cf1"),
        "The paper shows one world. At this budget the first feature becomes affordable, in some worlds only.",
    ),
    Claim(
        f"Accuracy, cf∞, budget {BUDGET:,}",
        "Poly-Dom above .90, Greedy .50",
        _answers("cfinf"),
        "Likewise: above .90 several features must be affordable.",
    ),
    Claim(
        "Poly-Dom's lead over Greedy, cf₁",
        "up to 20 points",
        _lead("cf1", "Greedy"),
        "At large budgets Greedy has all features, Poly-Dom what its promise needs; with α = 1 it never trails.",
    ),
    Claim("Poly-Dom's lead over Greedy, cf∞", "up to 20 points", _lead("cfinf", "Greedy"), "Likewise."),
    Claim(
        f"Poly-Dom's lead over Greedy planned at {SIZE:g}, cf∞",
        "–",
        _lead("cfinf", PLANNED),
        "Most of what Greedy loses is that it plans at another size than it is asked for.",
    ),
)
