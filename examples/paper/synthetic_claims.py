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
        "The printed search trains about as many sets as the paper says. Poly-Dom trains fewer, since it uses the "
        "costs, which are known before training.",
    ),
    Claim(
        "Sets trained, cf₁, α = 1",
        "about 50",
        _both("cf1", 1.0),
        "The pseudo-code forgets witnesses. A search that forgets none (`layer by layer` below) needs more than "
        "50 too.",
    ),
    Claim(
        "Sets trained, cf∞, α = 1",
        "all",
        _both("cfinf", 1.0),
        "A set need not be trained if a better set costs less everywhere in the region.",
    ),
    Claim(
        "Sets trained, cf∞, α = 1.2",
        "like cf₁",
        _both("cfinf", ALPHA),
        "The printed search needs many more than on cf₁: if every feature counts, the scores of subset and superset "
        "differ by more.",
    ),
    Claim(
        "Sets trained by Greedy, cf₁",
        "like Poly-Dom, α = 1.2",
        _greedy("cf1"),
        "To choose one feature, Greedy must score all other features too. The number of sets that it keeps is near the "
        "paper's count.",
    ),
    Claim(
        "Index of Poly-Dom, cf₁, α = 1.2",
        "under 200",
        entries("cf1", "array", "all trained"),
        "Counted: entries of the two-dimensional array, over all sets that the printed search trains. The paper does "
        "not say which entries it counts.",
    ),
    Claim(
        "Naive-Lookup, in the same way", "under 200", entries("cf1", "scan", "all trained"), "One entry for each set."
    ),
    Claim(
        "Poly-Dom-Index-All, in the same way",
        "about 1,000",
        entries("cf1", "all_crossings", "all trained"),
        "It stores one skyline for each range between two crossings.",
    ),
    Claim(
        "Poly-Dom-Index-All, 12 features",
        "about 6,000",
        entries("cf1", "all_crossings", "all trained", at=12),
        "It has far more entries if every feature counts, see below.",
    ),
    Claim(
        "Index of the sets that Poly-Dom keeps",
        "–",
        entries("cf1", "array", "kept"),
        "The paper also prunes the sets before it builds the index. Then every index is small.",
    ),
    Claim(
        "Lookup by Naive-Lookup, cf∞, α = 1.2",
        "much slower",
        _slower("cfinf", ALPHA),
        "At α = 1.2 only a few candidates are kept, so a look at all of them takes little time.",
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
        "The paper shows one world. At this budget, one feature fits in some worlds and none in the others.",
    ),
    Claim(
        f"Accuracy, cf∞, budget {BUDGET:,}",
        "Poly-Dom above .90, Greedy .50",
        _answers("cfinf"),
        "The same holds here: for a score above .90, several features must fit.",
    ),
    Claim(
        "Poly-Dom's lead over Greedy, cf₁",
        "up to 20 points",
        _lead("cf1", "Greedy"),
        "At large budgets, Greedy has all features, and Poly-Dom only the features that its promise needs. With α = 1, "
        "Poly-Dom is never behind.",
    ),
    Claim("Poly-Dom's lead over Greedy, cf∞", "up to 20 points", _lead("cfinf", "Greedy"), "The same holds here."),
    Claim(
        f"Poly-Dom's lead over Greedy planned at {SIZE:g}, cf∞",
        "–",
        _lead("cfinf", PLANNED),
        "Greedy loses most because it plans at one size and is asked at another.",
    ),
)
