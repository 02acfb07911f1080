"""Metrics 2 and 3: index size and retrieval time against the number of features."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from polydom_builder.drawing.style import headline
from polydom_runtime import Candidate
from polydom_runtime.costs import basis_terms

from .figures import against_features, band, last_median, panels
from .results import Row, column, where
from .synthetic_world import ALPHA, KINDS, SHORT, Scale, worlds
from .systems import AS_PRINTED, BEST_FIRST, LAYERED, World, array_entries, envelope, every_crossing, scan

SELECTIONS = {
    "all trained": "every trained set, as printed",
    "kept as printed": "the sets that the paper's pruning keeps",
    "kept": "the sets that Poly-Dom keeps",
}
"""The selections of candidates that are indexed, with their names in the figures."""

Query = tuple[float, float]


def _candidates(world: World, selection: str) -> list[Candidate]:
    if selection == "kept":
        trained = BEST_FIRST.expand(world, ALPHA, 0.0)
        return world.candidates(BEST_FIRST.select(trained, world, ALPHA, 0.0))
    trained = AS_PRINTED.expand(world, ALPHA, 0.0)
    if selection == "all trained":
        return world.candidates(list(trained))
    return world.candidates(AS_PRINTED.select(trained, world, ALPHA, 0.0))


def measure_sizes(scale: Scale) -> list[Row]:
    """Build the indexes over the same candidates, and count their entries."""
    rows: list[Row] = []
    for kind, n_features, seed, world in worlds(scale, 15):
        for selection in SELECTIONS:
            candidates = _candidates(world, selection)
            index, intervals = envelope(candidates, world.region)
            sizes: Row = {"intervals": intervals, "array": array_entries(index)}
            sizes["all_crossings"] = every_crossing(candidates, world.region)[1]
            sizes["scan"] = scan(candidates, world.region)[1]
            here: Row = {"kind": kind, "n_features": n_features, "seed": seed, "selection": selection}
            rows.append(here | sizes)
    return rows


def measure_times(scale: Scale) -> list[Row]:
    """Time the lookups over the candidates that Poly-Dom keeps, at α = 1.2 and, where there are many, at α = 1."""
    rows: list[Row] = []
    # With α = 1 best first takes minutes and layer by layer seconds; the answers are the same.
    for alpha, search, most_features in ((ALPHA, BEST_FIRST, 15), (1.0, LAYERED, 12)):
        for kind, n_features, seed, world in worlds(scale, most_features):
            kept = search.select(search.expand(world, alpha, 0.0), world, alpha, 0.0)
            queries = _queries(world, np.random.default_rng(seed), scale.timed_queries)
            seconds = microseconds(lookups(world, kept, queries), queries)
            here: Row = {"kind": kind, "n_features": n_features, "seed": seed, "alpha": alpha, "candidates": len(kept)}
            rows.append(here | seconds)
    return rows


def _queries(world: World, rng: np.random.Generator, count: int) -> list[Query]:
    """Return random sizes with budgets between the costs of the cheapest feature and of all features there."""
    sizes = rng.uniform(*world.region.sizes, count).tolist()
    features = range(world.n_features)
    queries = []
    for n in sizes:
        low, high = min(world.costs(1 << i)(n) for i in features), world.costs((1 << world.n_features) - 1)(n)
        queries.append((n, math.exp(rng.uniform(math.log(low), math.log(high)))))
    return queries


def lookups(world: World, kept: Sequence[int], queries: Sequence[Query]) -> dict[str, Callable[[float, float], Any]]:
    """Return all ways to look up a candidate; the staircase is for one budget, the median."""
    candidates = world.candidates(kept)
    index, _ = envelope(candidates, world.region)
    stairs = index.at_deadline(statistics.median(budget for _, budget in queries))
    weights, scores = np.array([c.cost.weights for c in candidates]), np.array([c.accuracy for c in candidates])

    def numpy_scan(n: float, budget: float) -> Candidate:
        return candidates[int(np.where(weights @ basis_terms(n) <= budget, scores, -1.0).argmax())]

    naive = scan(candidates, world.region)[0]
    return {
        "poly_dom": index.best,
        "staircase": lambda n, _: stairs.best(n),
        "naive": naive.best,
        "naive_numpy": numpy_scan,
    }


def microseconds(lookups: dict[str, Callable[[float, float], Any]], queries: Sequence[Query]) -> Row:
    """Time each query with every index in turn, so that heat and load affect all alike; return medians over queries."""
    kept: dict[str, list[int]] = {name: [] for name in lookups}
    warm_up = queries[:10]
    for n, budget in (*warm_up, *queries):
        for name, look_up in lookups.items():
            start = time.perf_counter_ns()
            look_up(n, budget)
            kept[name].append(time.perf_counter_ns() - start)
    return {name: statistics.median(taken[len(warm_up) :]) * 1e-3 for name, taken in kept.items()}


SIZE_LINES = {
    "all_crossings": "Index-All",
    "array": "two-dimensional array",
    "intervals": "Poly-Dom",
    "scan": "Naive-Lookup",
}
TIME_LINES = {
    "naive": "Naive-Lookup",
    "naive_numpy": "Naive-Lookup, numpy",
    "poly_dom": "Poly-Dom",
    "staircase": "staircase",
}
"""The columns that are drawn, with their labels."""


def draw_sizes(rows: Sequence[Row], selection: str) -> Figure:
    """Draw the entries of all indexes over one kind of candidates, on a log scale."""
    figure, axes = panels(f"Index entries at α = {ALPHA:g}: {SELECTIONS[selection]}", len(KINDS))
    for ax, (kind, meaning) in zip(axes, KINDS.items(), strict=True):
        mine = where(rows, kind=kind, selection=selection)
        for name, label in SIZE_LINES.items():
            band(ax, mine, "n_features", name, label)
        ours, all_crossings = (last_median(mine, "n_features", name) for name in ("intervals", "all_crossings"))
        most = max(column(mine, "n_features"))
        finding = f"with {most:g} features, Poly-Dom's has {ours:,.0f}, Index-All {all_crossings:,.0f}"
        headline(ax, f"{SHORT[kind]}: {finding}", f"{meaning}; medians, bands: quartiles of the worlds")
    against_features(axes, "entries")
    return figure


def draw_times(rows: Sequence[Row], alpha: float) -> Figure:
    """Draw the time of one lookup, on a log scale."""
    figure, axes = panels(f"Time of one lookup at α = {alpha:g}", len(KINDS))
    for ax, (kind, meaning) in zip(axes, KINDS.items(), strict=True):
        mine = where(rows, kind=kind, alpha=alpha)
        for name, label in TIME_LINES.items():
            band(ax, mine, "n_features", name, label, 1e-6)
        ours, naive = (last_median(mine, "n_features", name) for name in ("poly_dom", "naive"))
        most = max(column(mine, "n_features"))
        finding = f"with {most:g} features, Poly-Dom takes {ours:.3g} µs, Naive-Lookup {naive:.3g} µs"
        headline(ax, f"{SHORT[kind]}: {finding}", f"{meaning}; medians, bands: quartiles of the worlds")
    against_features(axes, "one lookup", "s")
    return figure
