"""The synthetic worlds, and the scale of the experiments on them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polydom_builder.sets.region import QueryRegion

from .generator import N_FEATURES, SIZES, costs, scores
from .systems import World

KINDS = {"cf1": "as accurate as the best feature", "cfinf": "every feature counts"}
"""The combiners and their names in figures."""

SHORT = {"cf1": "cf₁", "cfinf": "cf∞"}
"""Their names in tables."""

TRAINING_SIZE = 1.0
"""The paper's training items are all of size 1, so this is the median at which Greedy plans."""

ALPHA = 1.2
"""The paper's default."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The amount of work in the experiments: worlds, features and queries.

    Parameters
    ----------
    seeds : int
        Number of worlds of each kind and number of features.
    most_features : int
        The experiments that vary the number of features go from 1 to this.
    default_features : int
        Number of features for accuracy against budget.
    table_features : int
        Number of features for the table beside the paper's counts, and for the promises.
    queries : int
        Random queries for each system, kind and α, over all seeds.
    timed_queries : int
        Number of timed queries of each index.
    """

    seeds: int = 20
    most_features: int = 15
    default_features: int = N_FEATURES
    table_features: int = 10
    queries: int = 100_000
    timed_queries: int = 200


QUICK = Scale(seeds=3, most_features=8, default_features=8, table_features=8, queries=3_000, timed_queries=40)


def synthetic_world(kind: str, n_features: int, seed: int) -> World:
    """Return a world of the paper's generator, with queries of any size and any budget."""
    rng = np.random.default_rng(seed)
    set_costs = costs(n_features, rng)
    return World(set_costs, scores(kind, n_features, rng), QueryRegion(SIZES), TRAINING_SIZE)


def worlds(scale: Scale, most_features: int) -> Iterator[tuple[str, int, int, World]]:
    """Yield (kind, number of features, seed, world) from 1 to `most_features`."""
    for kind in KINDS:
        for n_features in range(1, min(most_features, scale.most_features) + 1):
            for seed in range(scale.seeds):
                yield kind, n_features, seed, synthetic_world(kind, n_features, seed)
