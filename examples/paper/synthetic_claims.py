"""The paper's claims about its synthetic experiments, and the results here, from raw results."""

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
"""The budget at which the paper discusses its figures."""

Here = Callable[[Tables, int], str]
"""Finds a result in the tables, for a number of features, and returns it as text."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper, the result here, and a remark.

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
    remark: str


def spread(rows: Sequence[Row], name: str, digits: int = 0) -> str:
    """Return the median and, in brackets, the quartiles as text.

    >>> spread([{"t": 1}, {"t": 2}, {"t": 9}], "t")
    '2 (2–6)'
    """
    if not rows:
        return "–"
    low, middle, high = np.percentile(column(rows, name), (25, 50, 75))
    return f"{middle:,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def trained(kind: str, system: str, alpha: float) -> Here:
    """Return a function that finds the number of sets that a system trains."""

    def here(tables: Tables, n_features: int) -> str:
        rows = where(tables["trainings"], kind=kind, system=system, alpha=alpha, n_features=n_features)
        return spread(rows, "trained")

    return here


def _both(kind: str, alpha: float) -> Here:
    """Return a function that finds the sets trained by the search as printed and by Poly-Dom."""

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
    """Return a function that finds the number of entries of an index.

    Parameters
    ----------
    kind : {"cf1", "cfinf"}
    name : str
        Name of the index.
    selection : str
        Candidates that are indexed, a key of `synthetic_index.SELECTIONS`.
    at : int, optional
        Number of features, instead of the number in the table.
    """

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
    """Find the least and the greatest mean lead of Poly-Dom over a rival among all budgets, in percentage points."""

    def here(tables: Tables, _: int) -> str:
        leads: dict[Value, list[float]] = {}
        for row in where(tables["accuracy"], kind=kind):
            leads.setdefault(row["budget"], []).append(100.0 * (float(row[OURS]) - float(row[rival])))
        means = [float(np.mean(lead)) for lead in leads.values()]
        single = max(max(lead) for lead in leads.values())
        return f"{min(means):+.0f} to {max(means):+.0f} points, means at each budget; {single:+.0f} in one world"

    return here


def at_budget(tables: Tables, kind: str) -> list[Row]:
    """Return the answers at the budget at which the paper discusses its figures."""
    return [row for row in where(tables["accuracy"], kind=kind) if abs(float(row["budget"]) / BUDGET - 1.0) < 1e-3]


CLAIMS = (
    Claim(
        "Sets trained, cf₁, α = 1.2",
        "about 30",
        _both("cf1", ALPHA),
        "As printed, the search confirms the paper. Poly-Dom trains fewer, as it uses the costs, known before.",
    ),
    Claim(
        "Sets trained, cf₁, α = 1",
        "about 50",
        _both("cf1", 1.0),
        "The pseudo-code drops witnesses. A search that keeps all, `layer by layer` below, needs over 50 too.",
    ),
    Claim(
        "Sets trained, cf∞, α = 1",
        "all",
        _both("cfinf", 1.0),
        "A set need not be trained if a better one costs less everywhere in the region.",
    ),
    Claim(
        "Sets trained, cf∞, α = 1.2",
        "like cf₁",
        _both("cfinf", ALPHA),
        "Not for the search as printed: where every feature counts, subset and superset differ by more.",
    ),
    Claim(
        "Sets trained by Greedy, cf₁",
        "like Poly-Dom, α = 1.2",
        _greedy("cf1"),
        "To choose one feature, Greedy also trains the others. It keeps about the number that the paper gives.",
    ),
    Claim(
        "Index of Poly-Dom, cf₁, α = 1.2",
        "under 200",
        entries("cf1", "array", "all trained"),
        "The two-dimensional array over every set trained as printed. The paper does not say which entries it counts.",
    ),
    Claim("Naive-Lookup, likewise", "under 200", entries("cf1", "scan", "all trained"), "One entry for each set."),
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
        "There are far more where every feature counts, see below.",
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
        "At α = 1.2 only a few candidates are kept, so a scan of all of them is fast.",
    ),
    Claim(
        "Lookup by Naive-Lookup, cf∞, α = 1",
        "much slower",
        _slower("cfinf", 1.0),
        "The time grows with the number of candidates, which is large at α = 1.",
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
        "At large budgets Greedy uses all features, Poly-Dom those that α requires; with α = 1 it is never behind.",
    ),
    Claim("Poly-Dom's lead over Greedy, cf∞", "up to 20 points", _lead("cfinf", "Greedy"), "Likewise."),
    Claim(
        f"Poly-Dom's lead over Greedy planned at {SIZE:g}, cf∞",
        "–",
        _lead("cfinf", PLANNED),
        "Greedy loses most because it plans at another size than that of the queries.",
    ),
)
