"""A test of the promise of α: answers to random queries are compared with the best set that fits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polydom_builder.drawing.style import COLOURS, headline
from polydom_builder.drawing.ticks import linear_axis
from polydom_builder.sets.inputs import weights_of
from polydom_runtime.arrays import Floats
from polydom_runtime.costs import basis_terms

from .figures import panels
from .results import Row, column, where
from .synthetic_world import KINDS, SHORT, Scale, synthetic_world
from .systems import AS_PRINTED, BEST_FIRST, LAYERED, Search, World

ALPHAS = (1.1, 1.2)
BLOCK = 512
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Queries:
    """Random sizes and budgets, shape ``(n_queries,)`` each."""

    sizes: Floats
    budgets: Floats

    @classmethod
    def draw(cls, world: World, rng: np.random.Generator, count: int) -> "Queries":
        """Draw sizes and, on the log scale, budgets between the cheapest feature and all features at that size."""
        sizes = rng.uniform(*world.region.sizes, count)
        features = weights_of(world.costs, 1 << np.arange(world.n_features)) @ basis_terms(sizes).T
        low, high = np.log(features.min(axis=0)), np.log(features.sum(axis=0))
        return cls(sizes, np.clip(np.exp(rng.uniform(low, high)), *world.region.budgets))


def best_scores(world: World, masks: Sequence[int], queries: Queries) -> Floats:
    """Return, for each query, the best score among the sets of `masks` that fit; that of the empty set if none fits.

    Examples
    --------
    >>> world = synthetic_world("cf1", 3, seed=0)
    >>> queries = Queries(np.array([1.0, 1.0]), np.array([0.0, 1e9]))
    >>> best_scores(world, [0, 7], queries) == world.scores[[0, 7]]
    array([ True,  True])
    """
    chosen = np.array(masks)
    weights, scores = weights_of(world.costs, chosen), world.scores[chosen]
    answers = np.empty(len(queries.sizes))
    for start in range(0, len(answers), BLOCK):
        block = slice(start, start + BLOCK)
        fits = weights @ basis_terms(queries.sizes[block]).T <= queries.budgets[block]
        answers[block] = np.where(fits, scores[:, None], world.scores[0]).max(axis=0)
    return answers


def _systems(world: World, rng: np.random.Generator) -> dict[str, tuple[Search, World]]:
    """Return each system with the region of its queries; the fixed size and the fixed budget are random."""
    one = Queries.draw(world, rng, 1)
    return {
        "as printed": (AS_PRINTED, world),
        "layer by layer": (LAYERED, world),
        "Poly-Dom": (BEST_FIRST, world),
        "Poly-Dom, c0 fixed": (BEST_FIRST, world.with_budget(float(one.budgets[0]))),
        "Poly-Dom, n0 fixed": (BEST_FIRST, world.with_size(float(one.sizes[0]))),
    }


def measure(scale: Scale) -> list[Row]:
    """Count broken promises: queries for which α times the score of the answer is below that of the best set."""
    rows: list[Row] = []
    count = -(-scale.queries // scale.seeds)
    for kind in KINDS:
        for seed in range(scale.seeds):
            world, rng = synthetic_world(kind, scale.table_features, seed), np.random.default_rng(seed)
            for system, (search, asked) in _systems(world, rng).items():
                queries = Queries.draw(asked, rng, count)
                best = best_scores(asked, range(len(world.scores)), queries)
                for alpha in ALPHAS:
                    kept = search.select(search.expand(asked, alpha, 0.0), asked, alpha, 0.0)
                    ratio = best / best_scores(asked, kept, queries)
                    here: Row = {"kind": kind, "seed": seed, "system": system, "alpha": alpha, "queries": count}
                    broken = int((ratio > alpha * (1.0 + ROUNDING)).sum())
                    rows.append(here | {"broken": broken, "worst_ratio": float(ratio.max())})
    return rows


@dataclass(frozen=True, slots=True)
class Total:
    """The queries, broken promises and worst ratio of one system over all seeds."""

    queries: int
    broken: int
    worst_ratio: float


def total(rows: Sequence[Row], kind: str, system: str, alpha: float) -> Total:
    """Return the sums over all seeds.

    Parameters
    ----------
    rows : sequence of Row
        From `measure`.
    kind, system, alpha
        Values of the columns to add up.
    """
    mine = where(rows, kind=kind, system=system, alpha=alpha)
    return Total(int(sum(column(mine, "queries"))), int(sum(column(mine, "broken"))), max(column(mine, "worst_ratio")))


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the worst ratio of each system beside the promised one, and count its broken promises."""
    systems = list(dict.fromkeys(str(row["system"]) for row in rows))[::-1]
    figure, axes = panels(_finding(rows), len(KINDS))
    for ax, (kind, meaning) in zip(axes, KINDS.items(), strict=True):
        for alpha, marker, shift in zip(ALPHAS, "so", (0.2, -0.2), strict=True):
            ax.axvline(alpha, color=COLOURS["grey"], linewidth=1.0, linestyle="--", zorder=1.5)
            for height, system in enumerate(systems):
                result = total(rows, kind, system, alpha)
                _draw_total(ax, result, height + shift, marker, f"α = {alpha:g}")
        linear_axis(ax.xaxis)
        ax.set(yticks=range(len(systems)), yticklabels=systems, ylim=(-0.5, len(systems) - 0.5))
        ax.set_xlim(1.0, max(1.4, 1.05 * max(column(rows, "worst_ratio"))))
        ax.grid(axis="y", visible=False)
        headline(ax, f"{SHORT[kind]}: {meaning}", "the worst of all queries; dashed: the promises; hollow: broken")
    axes[-1].set_xlabel("score of the best set / score of the answer")
    return figure


def _draw_total(ax: Axes, result: Total, height: float, marker: str, name: str) -> None:
    colour = COLOURS["orange" if result.broken else "blue"]
    fill = "none" if result.broken else colour
    ax.plot(result.worst_ratio, height, marker, color=colour, markerfacecolor=fill, markersize=6.0)
    broken = f"{result.broken:,} of {result.queries:,} broken" if result.broken else "none broken"
    ax.text(1.02, height, f"{name}: {broken}", fontsize=8.5, va="center", transform=ax.get_yaxis_transform())


def _finding(rows: Sequence[Row]) -> str:
    """Say which systems broke promises, and how many of all kinds and α."""
    parts = []
    for system in dict.fromkeys(str(row["system"]) for row in rows):
        asked, broken = (int(sum(column(where(rows, system=system), name))) for name in ("queries", "broken"))
        if broken:
            parts.append(f"{system}, {broken:,} of {asked:,} answers break the promise")
    return f"{'; '.join(parts)}; of the others, none".capitalize() if parts else "No answer breaks the promise"
