"""The paper's assumptions on scores and costs, and its promise, tested on photographs."""

import numpy as np
from numpy.typing import NDArray

from polydom_builder.lattice.monotonicity import violations
from polydom_runtime.arrays import Floats

from .results import Row
from .scene_costs import Scenes
from .scene_scale import Scale
from .synthetic_promises import ROUNDING, Queries, best_scores
from .systems import AS_PRINTED, BEST_FIRST, LAYERED


def _violations(scenes: Scenes) -> tuple[Floats, NDArray[np.uint8]]:
    return violations(dict(enumerate(scenes.lattice.estimated.tolist())))


def violation_shares(scenes: Scenes, _: Scale) -> list[Row]:
    """Return the distribution of the violations of monotonicity, over all pairs and over those that violate."""
    amounts = _violations(scenes)[0]
    ten_thousandths = np.unique(np.append(0.0, np.ceil(1e4 * amounts - 1e-6)))
    grid = 1e-4 * ten_thousandths + 1e-9  # floats round differences
    whole = np.searchsorted(np.sort(amounts), grid, side="right") / amounts.size
    share = float((amounts > grid[0]).mean())
    among = 1.0 - (1.0 - whole) / share if share else whole
    columns = zip(grid.tolist(), whole.tolist(), among.tolist(), strict=True)
    return [{"amount": amount, "all_pairs": a, "violating": v} for amount, a, v in columns]


def violation_distances(scenes: Scenes, _: Scale) -> list[Row]:
    """Return quantiles of the violations at each distance in the lattice, among the pairs that violate."""
    amounts, distances = _violations(scenes)
    rows: list[Row] = []
    for distance in np.unique(distances).tolist():
        there = amounts[distances == distance]
        bad = there[there > ROUNDING]
        quantiles = np.quantile(bad, (0.1, 0.5, 0.9, 1.0), method="inverted_cdf") if bad.size else np.zeros(4)
        low, middle, high, largest = quantiles.tolist()
        here: Row = {"distance": distance, "pairs": there.size}
        counts: Row = {"violating": bad.size}
        rows.append(here | counts | {"low": low, "median": middle, "high": high, "largest": largest})
    return rows


def compare_costs(scenes: Scenes, scale: Scale) -> list[Row]:
    """Return planned and measured costs of random sets, for the smallest and the largest size; also Greedy's plan."""
    rows: list[Row] = []
    for mask in _drawn(scenes, scale.drawn // 8):
        for n in scenes.world.region.sizes:
            cost, times = scenes.world.costs(mask), scenes.costs.measured(mask, n)
            low, middle, high = np.quantile(times, (0.1, 0.5, 0.9)).tolist()
            here: Row = {"mask": mask, "size": n, "planned": cost(n), "greedy": cost(scenes.world.median_size)}
            rows.append(here | {"low": low, "median": middle, "high": high, "within": float((times <= cost(n)).mean())})
    return rows


def compare_accuracies(scenes: Scenes, scale: Scale) -> list[Row]:
    """Return estimated and tested accuracies of random sets, on the smallest and the largest images."""
    estimated, tested = scenes.lattice.estimated, scenes.lattice.tested
    rows: list[Row] = []
    for mask in _drawn(scenes, scale.drawn):
        here: Row = {"mask": mask, "estimated": float(estimated[mask])}
        rows.append(here | {"small": float(tested[mask, 0]), "large": float(tested[mask, -1])})
    return rows


def _drawn(scenes: Scenes, count: int) -> list[int]:
    masks = np.random.default_rng(0).permutation(np.arange(1, len(scenes.lattice.estimated)))
    drawn: list[int] = np.sort(masks[: max(count, 1)]).tolist()
    return drawn


def check_promises(scenes: Scenes, scale: Scale) -> list[Row]:
    """Count the queries whose answer is below a(best set) / α, with e = 0 and with e the largest violation."""
    queries = Queries.draw(scenes.world, np.random.default_rng(0), scale.queries)
    best = best_scores(scenes.world, range(len(scenes.world.scores)), queries)
    enough = float(_violations(scenes)[0].max()) * (1.0 + ROUNDING)
    rows: list[Row] = []
    for alpha in [alpha for alpha in scale.alphas if alpha >= 1.05]:
        for e in (0.0, enough):
            for search in (AS_PRINTED, LAYERED, BEST_FIRST):
                ratio = best / best_scores(scenes.world, scenes.kept(search, alpha, e), queries)
                here: Row = {"system": search.name, "alpha": alpha, "e": e, "sufficient": int(e >= enough)}
                broken = int((ratio > alpha * (1.0 + ROUNDING)).sum())
                rows.append(here | {"queries": len(best), "broken": broken, "worst_ratio": float(ratio.max())})
    return rows
