"""The table of results: the paper's claims about its synthetic experiments beside the results of this run."""

from collections.abc import Mapping, Sequence
from typing import Any

from .results import where
from .synthetic_accuracy import LINES, SIZE
from .synthetic_claims import BUDGET, CLAIMS, Tables, at_budget, entries, spread, trained
from .synthetic_promises import ALPHAS, total
from .synthetic_trainings import AFFORDABLE, BOUNDED_FEATURES, DEADLINES
from .synthetic_world import ALPHA, SHORT


def as_markdown(tables: Tables, facts: Mapping[str, Any], figures: Sequence[str]) -> str:
    """Return the report.

    Parameters
    ----------
    tables : mapping of str to rows
        Raw results by experiment.
    facts : mapping
        Facts of the run, from `load_facts`.
    figures : sequence of str
        Names of the pictures to show.
    """
    n_features = min(facts["scale"]["table_features"], facts["scale"]["most_features"])
    sections = [
        _head(facts, n_features),
        _table(
            ("what", "the paper", "here", "remark"),
            [(c.what, c.paper, c.here(tables, n_features), c.remark) for c in CLAIMS],
        ),
        _counts(tables, n_features),
        _promises(tables, facts["scale"]["table_features"]),
        _indexes(tables, n_features),
        _accuracy(tables, facts["scale"]["default_features"]),
        "## Figures\n\n" + "\n".join(f"![{name}]({name}.png)" for name in figures),
    ]
    return "\n\n".join(sections) + "\n"


def _head(facts: Mapping[str, Any], n_features: int) -> str:
    return (
        "# Synthetic experiments\n\n"
        "There are two kinds of scores: with cf₁, a set is as accurate as its best feature; with cf∞, a set is wrong "
        "only where all its features are wrong. For each kind and each number of features, the paper's generator makes "
        f"{facts['scale']['seeds']} worlds, with sizes from 1 to 500 and p = .6 (the share of features with an "
        "accuracy of .7 to .8; the others have .5 to .6). All systems get the same worlds. Figures are medians, with "
        "quartiles in brackets. Greedy plans at size 1, the size of the paper's training items. Unless stated "
        f"otherwise, counts, index sizes and times are for {n_features} features, and accuracies for "
        f"{facts['scale']['default_features']}.\n\n"
        f"Python {facts['python']}, NumPy {facts['numpy']}, {facts['processor']}; "
        f"{sum(facts['seconds'].values()):,.0f} s of processor time in all."
    )


def _counts(tables: Tables, n_features: int) -> str:
    systems: tuple[tuple[str, str, tuple[float, float]], ...] = (
        ("as printed", "as printed", (1.0, ALPHA)),
        ("layer by layer, complete", "layer by layer", (1.0, ALPHA)),
        ("Poly-Dom, any budget", "Poly-Dom", (1.0, ALPHA)),
        *((f"Poly-Dom, c0 = {c0:,.0f}", f"Poly-Dom, c0 = {c0:g}", (1.0, ALPHA)) for c0 in DEADLINES),
        ("Greedy (no α)", "Greedy", (0.0, 0.0)),
        ("those of them that Greedy keeps", "Greedy, kept", (0.0, 0.0)),
        ("enough, if all scores were known", "enough, omniscient", (1.0, ALPHA)),
        ("the fewest possible, any budget", "at least, omniscient", (1.0, ALPHA)),
    )
    rows = [
        (name, *(trained(kind, system, a)(tables, n_features) for kind in ("cf1", "cfinf") for a in alphas))
        for name, system, alphas in systems
    ]
    if n_features == 10:
        rows.insert(0, ("the paper's counts", "about 50", "about 30", "all", "like cf₁"))
    head = ("", "cf₁, α = 1", "cf₁, α = 1.2", "cf∞, α = 1", "cf∞, α = 1.2")
    return (
        f"## Sets trained of {1 << n_features:,} with {n_features} features\n\n{_table(head, rows)}\n\n"
        f"On cf∞, Poly-Dom with α = 1 is counted up to {AFFORDABLE['cfinf']} features. The fewest possible trainings "
        f"are counted up to {BOUNDED_FEATURES} features, everything else up to 15."
    )


def _promises(tables: Tables, n_features: int) -> str:
    rows = []
    for system in dict.fromkeys(str(row["system"]) for row in tables["promises"]):
        results = [total(tables["promises"], kind, system, alpha) for kind in ("cf1", "cfinf") for alpha in ALPHAS]
        rows.append((system, *(f"{r.broken:,} of {r.queries:,}, {r.worst_ratio:.3f}" for r in results)))
    head = ("", *(f"{name}, α = {alpha:g}" for name in SHORT.values() for alpha in ALPHAS))
    return f"## Broken promises, {n_features} features: number of queries, worst ratio\n\n" + _table(head, rows)


def _indexes(tables: Tables, n_features: int) -> str:
    names = {"array": "array", "intervals": "intervals", "all_crossings": "Index-All", "scan": "Naive-Lookup"}
    sizes = [
        (f"{SHORT[kind]}, {selection}", *(entries(kind, name, selection)(tables, n_features) for name in names))
        for kind in ("cf1", "cfinf")
        for selection in ("all trained", "kept as printed", "kept")
    ]
    ways = {"poly_dom": "Poly-Dom", "staircase": "staircase", "naive": "Naive-Lookup", "naive_numpy": "with numpy"}
    times = []
    for kind in ("cf1", "cfinf"):
        for alpha in (ALPHA, 1.0):
            rows = where(tables["lookup_times"], kind=kind, alpha=alpha, n_features=n_features)
            times.append((f"{SHORT[kind]}, α = {alpha:g}", *(spread(rows, name, 1) for name in ("candidates", *ways))))
    return (
        f"## Index entries, α = {ALPHA:g}, {n_features} features\n\n"
        f"{_table(('candidates', *names.values()), sizes)}\n\n"
        f"## Time of one lookup in µs, {n_features} features\n\n{_table(('', 'candidates', *ways.values()), times)}"
    )


def _accuracy(tables: Tables, n_features: int) -> str:
    names = [name for systems in LINES for name in systems]
    rows = [
        (name, *(spread(at_budget(tables, kind), name, 2) for kind in ("cf1", "cfinf"))) for name in ["optimum", *names]
    ]
    title = f"## Accuracy of the answer, size {SIZE:g}, budget {BUDGET:,}, {n_features} features"
    return f"{title}\n\n{_table(('', 'cf₁', 'cf∞'), rows)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
