"""Metric 4: accuracy of the answer against the budget, at one size."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from polydom_builder.drawing.style import headline
from polydom_builder.drawing.ticks import linear_axis, log_axis
from polydom_builder.sets.inputs import weights_of
from polydom_builder.sets.region import costs_at_sizes

from .figures import band, legend, panels, quartiles
from .results import Row, where
from .synthetic_world import KINDS, SHORT, Scale, synthetic_world
from .systems import BEST_FIRST, LAYERED, ComparedSystem, World, greedy, greedy_acc, greedy_cost, poly_dom

SIZE = 50.0
"""The paper's n."""

BUDGETS = np.geomspace(1e1, 1e6, 51).tolist()
"""1,000 is among them: the paper discusses its figure at this budget."""

PLANNED = f"Greedy, planned at {SIZE:g}"
"""Greedy, planned at the size of the queries instead of the median size."""

ALPHAS = (1.0, 1.2, 1.3)


def measure(scale: Scale) -> list[Row]:
    """Return a row for each budget with the scores of all systems' answers."""
    rows: list[Row] = []
    for kind in KINDS:
        for seed in range(scale.seeds):
            world = synthetic_world(kind, scale.default_features, seed)
            systems = _systems(world)
            for budget in BUDGETS:
                here: Row = {"kind": kind, "seed": seed, "budget": budget, "optimum": _optimum(world, budget)}
                answers: Row = {name: float(world.scores[s.best(SIZE, budget)]) for name, s in systems.items()}
                rows.append(here | answers)
    return rows


def _systems(world: World) -> dict[str, ComparedSystem]:
    exact = poly_dom(world, 1.0, search=LAYERED)  # with α = 1 any search leads to the same answers; this is the fastest
    return {
        "Poly-Dom, α = 1": exact,
        **{f"Poly-Dom, α = {alpha:g}": poly_dom(world, alpha, search=BEST_FIRST) for alpha in ALPHAS[1:]},
        "Greedy": greedy(world),
        "Greedy-Acc": greedy_acc(world),
        "Greedy-Cost": greedy_cost(world),
        PLANNED: greedy(replace(world, median_size=SIZE)),
    }


def _optimum(world: World, budget: float) -> float:
    """Return the best score of all sets that fit, the empty set among them."""
    masks = np.arange(len(world.scores))
    costs = costs_at_sizes(weights_of(world.costs, masks), np.full(len(masks), SIZE))
    return float(world.scores[(costs <= budget) | (masks == 0)].max())


LINES = (
    ("Poly-Dom, α = 1", "Poly-Dom, α = 1.2", "Poly-Dom, α = 1.3"),
    ("Greedy", "Greedy-Acc", "Greedy-Cost", PLANNED),
)
"""The systems in each row of panels."""


def draw(rows: Sequence[Row]) -> Figure:
    """Draw medians and quartiles over the seeds, Poly-Dom above Greedy, each over the optimum."""
    ours, theirs = (f"{100 * _largest_gap(rows, name):.2g}" for name in ("Poly-Dom, α = 1", "Greedy"))
    finding = f"Largest gap of medians to the optimum: {ours} points (Poly-Dom, α = 1), {theirs} (Greedy)"
    figure, axes = panels(finding, len(LINES), len(KINDS))
    for ax, (systems, kind) in zip(axes, [(systems, kind) for systems in LINES for kind in KINDS], strict=True):
        for name in ("optimum", *systems):
            band(ax, where(rows, kind=kind), "budget", name, name)
        log_axis(ax.xaxis)
        ax.xaxis.set_major_formatter(EngFormatter())
    for ax, (kind, meaning) in zip(axes, KINDS.items(), strict=False):
        headline(ax, SHORT[kind], meaning)
    for ax in axes[:: len(KINDS)]:
        linear_axis(ax.yaxis, label="accuracy, with quartiles")
    for ax in axes[len(KINDS) - 1 :: len(KINDS)]:
        legend(ax)
    for ax in axes[-len(KINDS) :]:
        ax.set_xlabel(f"budget at size {SIZE:g}")
    return figure


def _largest_gap(rows: Sequence[Row], system: str) -> float:
    """Return the largest difference of two medians at one budget and kind: of the optimum, and of a system."""
    gaps = []
    for kind in KINDS:
        best, answer = (quartiles(where(rows, kind=kind), "budget", name)[1][1] for name in ("optimum", system))
        gaps.append(float((best - answer).max()))
    return max(gaps)
