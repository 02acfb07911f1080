"""How much better the best sets would be than those that a search has found after some trainings."""

from typing import Any

import numpy as np

from examples.paper.results import Row
from polydom_builder.preparation.settings import ProvenPromise
from polydom_builder.sets.expected_queries import ExpectedQueries
from polydom_runtime.bundles.index import Candidate

from .setting import Setting
from .trainings import SEARCHES

STAGES = (10, 20, 40, 80)
ORDERS: dict[str, dict[str, Any]] = {"by gain": {}, "best-first": {"promise": ProvenPromise()}}
N_SIZES = 50

WORDS = (
    "Points of held-out score by which the best of all known sets are better than the best of those that were trained "
    "so far: the mean over sizes of test items and eight deadlines. *Best-first* is the order of the search that "
    "proves a promise, here for α = 1 and tolerance 0."
)


def rows(setting: Setting) -> list[Row]:
    """Return a row for each order of training."""
    fitted = {name: setting.fitted(**changes) for name, changes in (SEARCHES | ORDERS).items()}
    known = {mask: score for search in fitted.values() for mask, score in search.expanded_.items()}
    costs = fitted["by gain"].set_costs_
    sizes = np.quantile(setting.task.test_sizes, (np.arange(N_SIZES) + 0.5) / N_SIZES)
    queries = ExpectedQueries(tuple(sizes.tolist()), setting.deadlines)
    worth = queries.worth([Candidate(mask, (), score, costs(mask)) for mask, score in known.items()], known[0])
    place = {mask: k for k, mask in enumerate(known)}
    best = worth.max(axis=0)
    found = []
    for name in ORDERS:
        order = [place[mask] for mask in fitted[name].expanded_]
        losses = [float((best - worth[order[:stage]].max(axis=0)).mean()) for stage in (*STAGES, len(order))]
        names = (*(f"after {stage}" for stage in STAGES), "in the end")
        row: Row = dict(zip(names, (round(100.0 * loss, 2) for loss in losses), strict=True))
        found.append({"task": setting.task.name, "order": name, **row, "trained": len(order)})
    return found
