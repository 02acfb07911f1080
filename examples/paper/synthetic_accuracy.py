"""Metric 4: accuracy of the answer against the budget, at one size."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from polydom_builder.lattice.inputs import weights_of
from polydom_builder.lattice.region import evaluate

from .figures import band, panels, plain_numbers
from .results import Row, where
from .synthetic_world import KINDS, Scale, synthetic_world
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
    costs = evaluate(weights_of(world.costs, masks), np.full(len(masks), SIZE))
    return float(world.scores[(costs <= budget) | (masks == 0)].max())


LINES = (
    (("Poly-Dom, α = 1", "Poly-Dom", "-"), ("Poly-Dom, α = 1.2", "", "--"), ("Poly-Dom, α = 1.3", "", "-.")),
    (("Greedy", "", "-"), ("Greedy-Acc", "", "--"), ("Greedy-Cost", "", ":"), (PLANNED, "", "-.")),
)
"""For each row of panels: the systems, the key of the colour if it is not the system's own, and the dashes."""


def draw(rows: Sequence[Row]) -> Figure:
    """Draw medians and quartiles over the seeds, Poly-Dom above Greedy, each over the optimum."""
    headline = f"Accuracy of the answer at size {SIZE:g}"
    figure, axes = panels(list(KINDS.values()), headline, rows=len(LINES), height=2.7)
    places = [(lines, kind) for lines in LINES for kind in KINDS]
    for ax, (lines, kind) in zip(axes, places, strict=True):
        here = where(rows, kind=kind)
        band(ax, here, "budget", "optimum", "optimum", wide=True)
        for name, colour, dashes in lines:
            band(ax, here, "budget", name, name, system=colour, dashes=dashes)
        ax.set(xscale="log", ylim=(0.48, 1.02), ylabel="a(answer)" if kind == next(iter(KINDS)) else "")
        ax.legend(loc="upper left")
    for ax in axes[-len(KINDS) :]:
        ax.set_xlabel("budget")
        plain_numbers(ax.xaxis)
    return figure
