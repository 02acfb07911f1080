"""The systems of one task, all built from the same times and the same scores."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polydom_builder.costs.target import Target
from polydom_builder.evaluation.baselines import best_single_set
from polydom_builder.greedy_search import GreedySearch
from polydom_builder.lattice.greedy import PAPER_LAMBDAS
from polydom_builder.preparation.settings import Noise, ProvenPromise, SearchLimits
from polydom_builder.search import PolyDomSearch
from polydom_builder.sets.combined_costs import costs_of_sets
from polydom_builder.sets.inputs import CostsOfSets
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.device.calibration import REFERENCE_MODEL
from polydom_runtime.measuring.cost_samples import CostSamples

from .measuring import QUANTILE
from .task import Task

N_DEADLINES = 8

LAMBDAS: dict[str, tuple[float, ...]] = {"Greedy": PAPER_LAMBDAS, "Greedy-Acc": (0.0,), "Greedy-Cost": (math.inf,)}
"""The paper's heuristics, each with its λs: the score that a millisecond must add."""

PROMISE = ProvenPromise(tolerance=0.03)
"""e of the paper: with few items, a set may well score less than one of its subsets."""

MISMATCHES = 0.005
"""Share of the training items on which an exported model may differ: items for which two classes are equally likely."""


@dataclass(frozen=True)
class Systems:
    """The systems that were built for one task.

    `search`: fitted; its trainer can train further sets. `scores`: held-out score of every set that any system trained.
    `bundles`: bundles by name of the system. `deadlines`: seconds, rising.
    """

    task: Task
    search: PolyDomSearch
    scores: dict[int, float]
    bundles: dict[str, Bundle]
    deadlines: tuple[float, ...]

    def single(self, deadline: float, regime: Regime) -> int:
        """Return the mask of the best single set: it fits the largest item within the deadline in a regime."""
        if regime == "hot":
            return sum(1 << i for i in best_single_set(self.search, deadline))
        there, largest = self.search.target_.regimes[regime], self.search.region_.sizes[1]
        costs = costs_of_sets(there.worst, there.reference_seconds)
        fitting = [mask for mask in self.scores if mask == 0 or costs(mask)(largest) <= deadline]
        return max(fitting, key=self.scores.__getitem__)


def estimator(task: Task) -> Any:
    """Return the estimator for every set: scaled logistic regression, with balanced classes if the score is."""
    weights = "balanced" if task.scoring == "balanced_accuracy" else None
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.01, tol=1e-2, max_iter=1000, class_weight=weights))


def spread_deadlines(task: Task, costs: CostsOfSets) -> tuple[float, ...]:
    """Return eight deadlines: at the first some features fit a typical item, at the last all fit the largest one."""
    sizes = [float(task.space.size(item)) for item in task.items]
    cheapest = min(costs(1 << i)(float(np.median(sizes))) for i in range(len(task.space)))
    everything = costs((1 << len(task.space)) - 1)(max(sizes))
    return tuple(np.geomspace(cheapest, everything, N_DEADLINES).tolist())


def planned_costs(task: Task, samples: CostSamples) -> CostsOfSets:
    """Return the worst-case costs of all sets, with the run of a typical model in each."""
    times = planned_times(task, samples)
    return costs_of_sets(times, times.model or 0.0)


def planned_times(task: Task, samples: CostSamples) -> UnitTimes:
    """Return the worst-case times of all units, with the run of a typical model."""
    target = Target.measured(task.space, samples, QUANTILE)
    return replace(target.worst, model=target.models[REFERENCE_MODEL])


def build_systems(
    task: Task, samples: CostSamples, folder: Path, n_jobs: int = 1, verbose: int = 0, deadlines: Sequence[float] = ()
) -> Systems:
    """Train, search and export every system, or load the results of an earlier run.

    `samples`: times to plan with. `folder`: keeps scores and models in ``cache``, and the bundles by task and system.
    `deadlines`: seconds, rising; by default those of `spread_deadlines`.
    """
    deadlines = tuple(deadlines) or spread_deadlines(task, planned_costs(task, samples))
    common = shared_parameters(task, deadlines, folder, n_jobs, verbose)
    # Scores stay as they were measured, since those of the other systems do.
    poly_dom = PolyDomSearch(estimator(task), task.space, promise=PROMISE, noise=Noise(correction=None), **common)
    searches: dict[str, Any] = {"Poly-Dom": poly_dom}
    for name, lambdas in LAMBDAS.items():
        searches[name] = GreedySearch(estimator(task), task.space, lambdas=lambdas, **common)
    scores: dict[int, float] = {}
    bundles: dict[str, Bundle] = {}
    for name, search in searches.items():
        search.fit(task.items, task.labels, task.groups, samples)
        place = folder / f"{task.name}-{name.lower()}.bundle"
        search.export(place)
        bundles[name] = load_bundle(place)
        scores |= search.expanded_
    return Systems(task, poly_dom, scores, bundles, deadlines)


def build_poly_dom(
    task: Task, samples: CostSamples, folder: Path, quantile: float, verbose: int = 0, deadlines: Sequence[float] = ()
) -> tuple[Bundle, tuple[float, ...]]:
    """Return only the bundle of Poly-Dom, built for another quantile, and the eight deadlines."""
    deadlines = tuple(deadlines) or spread_deadlines(task, planned_costs(task, samples))
    common = shared_parameters(task, deadlines, folder, 1, verbose) | {"quantile": quantile}
    search = PolyDomSearch(estimator(task), task.space, promise=PROMISE, **common)
    search.fit(task.items, task.labels, task.groups, samples)
    place = folder / f"{task.name}-{quantile:g}.bundle"
    search.export(place)
    return load_bundle(place), deadlines


def shared_parameters(
    task: Task, deadlines: Sequence[float], folder: Path, n_jobs: int = 1, verbose: int = 0
) -> dict[str, Any]:
    """Return the parameters that all searches of a task have in common."""
    return {
        "deadline": (deadlines[0], deadlines[-1]),
        "size_range": _all_sizes(task),
        "scoring": task.scoring,
        "cv": task.folds,
        "n_jobs": n_jobs,
        "memory": folder / "cache",
        "random_state": 0,
        "verbose": verbose,
        "quantile": QUANTILE,
        "limits": SearchLimits(max_mismatches=math.ceil(MISMATCHES * len(task.items))),
    }


def _all_sizes(task: Task) -> tuple[float, float]:
    sizes: Sequence[float] = [float(task.space.size(item)) for item in [*task.items, *task.test_items]]
    return min(sizes), max(sizes)
