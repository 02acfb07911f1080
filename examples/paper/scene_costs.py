"""Costs of the features of scenes, measured on one photograph at twelve sizes, and the world of costs and scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np

from polydom_builder.costs.cost_fit import CostFit
from polydom_builder.costs.cost_report import report_costs
from polydom_builder.costs.target import Target
from polydom_builder.lattice.greedy import PAPER_LAMBDAS
from polydom_builder.sets.combined_costs import costs_of_sets
from polydom_builder.sets.inputs import weights_of
from polydom_builder.sets.region import QueryRegion, costs_at_sizes
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime import FeatureSpace
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.unit_times import step_users
from polydom_runtime.device.calibration import REFERENCE_MODEL
from polydom_runtime.features import members
from polydom_runtime.measuring.cost_samples import AFTER, BEFORE, CostSamples
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.measuring.journal import FileJournal
from polydom_runtime.measuring.measure import measure

from . import scene_features
from .results import Row
from .scene_features import gradients
from .scene_images import Image, Photo, squares
from .scene_lattice import SceneLattice
from .systems import BEST_FIRST, ComparedSystem, Scores, Search, World, envelope, greedy, greedy_acc, greedy_cost

MEASURED_SIDES = (65, 73, 83, 94, 106, 125, 136, 153, 170, 187, 216, 250)
"""In pixels; the four sizes of the photographs are among them."""

QUANTILE = 0.99
"""The plan promises this share of the answers in time: a worst case that few rounds can estimate."""

LAMBDAS = tuple(1e3 * x for x in PAPER_LAMBDAS)
"""The paper's numbers, taken as score per millisecond; the costs here are in seconds."""

DEADLINE_SHARE = 0.25
"""c0 of Prob-c0-Fixed, as a share of the cost of all features at the largest size."""

LOOKED_AT = 40
"""The busiest of this number of photos is measured: features whose cost depends on content cost most there."""


@dataclass(frozen=True)
class SceneCosts:
    """The measured times of some features, and the costs that are planned with.

    Parameters
    ----------
    space : FeatureSpace
    samples : CostSamples
    quantile : float
        Quantile that is the worst case.
    """

    space: FeatureSpace
    samples: CostSamples
    quantile: float = QUANTILE

    @cached_property
    def planned(self) -> SetCosts:
        """The worst-case cost of any feature set in seconds: features, shared steps, a model's run and dispatch.

        It is fitted to every other round; the other rounds test it.
        """
        target = Target.measured(self.space, self.samples.rounds(slice(0, None, 2)), self.quantile)
        costs = costs_of_sets(target.worst, target.models[REFERENCE_MODEL])
        assert isinstance(costs, SetCosts)  # it was given no other way to combine costs
        return costs

    @cached_property
    def fits(self) -> dict[str, CostFit]:
        """The typical and the worst-case fit of each unit."""
        return {row.unit: row.fit for row in report_costs(self.samples, self.quantile)}

    def measured(self, mask: int, n: float) -> Floats:
        """Return the times of an answer with these features at the measured size next to `n`, in rounds for the test.

        Parameters
        ----------
        mask : int
        n : float
            Number of pixels.

        Returns
        -------
        array of shape (n_rounds // 2,)
            Seconds.
        """
        fresh = self._fresh
        steps = [name for name, users in step_users(self.space) if users & mask]
        rows = [fresh.units.index(u) for u in (*steps, *(self.space.names[i] for i in members(mask)), BEFORE, AFTER)]
        seconds: Floats = fresh.seconds[rows, int(np.abs(np.log(fresh.sizes / n)).argmin())].sum(axis=0)
        return seconds + fresh.kernels[REFERENCE_MODEL] if mask else seconds

    @cached_property
    def _fresh(self) -> CostSamples:
        return self.samples.rounds(slice(1, None, 2))


def measured_costs(
    space: FeatureSpace, photos: Sequence[Photo], cache: Path, rounds: int, seconds: float
) -> SceneCosts:
    """Measure the features, or return the samples of an earlier run.

    Parameters
    ----------
    space : FeatureSpace
    photos : sequence of Photo
        One of them is measured.
    cache : Path
        Folder that keeps the samples; delete ``*.costs`` there to measure again.
    rounds, seconds
        The greatest number of samples and the longest time; see `polydom_runtime.measuring.measure.measure`.
    """
    file = cache / f"scenes-{_key(space)}.costs"
    if not file.exists():
        file.with_name(file.name + ".part").unlink(missing_ok=True)
        pictures = busiest(photos[:LOOKED_AT], MEASURED_SIDES)
        journal = FileJournal(file)
        measure(space, pictures, rounds=rounds, seconds=seconds, quantile=QUANTILE, precision=0.01, journal=journal)
    # The fingerprint of partial functions differs from process to process; the name of the file stands in for it.
    return SceneCosts(space, replace(load_costs(file), fingerprint=""))


def _key(space: FeatureSpace) -> str:
    """Identify the features and their code."""
    code = Path(scene_features.__file__).read_bytes()
    return sha256(repr(space.names).encode() + code).hexdigest()[:16]


def busiest(photos: Sequence[Photo], sides: Sequence[int]) -> list[Image]:
    """Return the photo with the strongest gradients, at these sizes."""
    smallest = min(sides)
    chosen = max(photos, key=lambda photo: float(gradients(next(squares(photo, [smallest]))).strength.mean()))
    return list(squares(chosen, sides))


def measure_units(costs: SceneCosts) -> list[Row]:
    """Return quantiles of the samples of each unit at each size, and its two fits there."""
    rows: list[Row] = []
    for unit, fit in costs.fits.items():
        quantiles = np.quantile(costs.samples.of(unit), (0.1, 0.5, 0.9), axis=1)
        for n, (low, middle, high) in zip(costs.samples.sizes.tolist(), quantiles.T.tolist(), strict=True):
            here: Row = {"unit": unit, "size": n, "low": low, "median": middle, "high": high}
            rows.append(here | {"typical": fit.typical(n), "worst": fit.worst(n), "formula": str(fit.typical)})
    return rows


class Scenes:
    """A trained lattice, the costs of its features, and the sets that each search has trained so far."""

    def __init__(self, lattice: SceneLattice, costs: SceneCosts) -> None:
        """Make the world that all systems share: all sizes of the photographs and any budget, in seconds."""
        sizes = lattice.sizes.astype(float)
        region = QueryRegion((float(sizes.min()), float(sizes.max())))
        self.lattice, self.costs = lattice, costs
        self.world = World(costs.planned, lattice.estimated, region, float(np.median(sizes)))
        self.everything = costs.planned(len(lattice.estimated) - 1)
        self.deadline = DEADLINE_SHARE * self.everything(region.sizes[1])
        self._trained: dict[tuple[str, float, float, bool], Scores] = {}

    def trained(self, search: Search, alpha: float, e: float, *, c0_fixed: bool = False) -> Scores:
        """Return the sets that a search trains, with their scores; each search runs once.

        Parameters
        ----------
        search : Search
        alpha, e : float
        c0_fixed : bool
            Whether the budget is fixed at c0.
        """
        key = search.name, alpha, e, c0_fixed
        if key not in self._trained:
            world = self.world.with_budget(self.deadline) if c0_fixed else self.world
            self._trained[key] = search.expand(world, alpha, e)
        return self._trained[key]

    def kept(self, search: Search, alpha: float, e: float, *, pruned: bool = True) -> list[int]:
        """Return the candidates of a search for any budget.

        Parameters
        ----------
        search : Search
        alpha, e : float
        pruned : bool
            Whether candidates are dropped that others can replace within α; else only those that are never the best.
        """
        trained = self.trained(search, alpha, e)
        return search.select(trained, self.world, *((alpha, e) if pruned else (1.0, 0.0)))

    def poly_dom(
        self, alpha: float, e: float = 0.0, search: Search = BEST_FIRST, *, pruned: bool = True
    ) -> ComparedSystem:
        """Return Poly-Dom with its index.

        Parameters
        ----------
        alpha, e : float
        search : Search
        pruned : bool
            As for `kept`.
        """
        candidates = self.world.candidates(self.kept(search, alpha, e, pruned=pruned))
        index, entries = envelope(candidates, self.world.region)
        return ComparedSystem(search.name, self.trained(search, alpha, e), tuple(candidates), index, entries)

    def greedies(self) -> dict[str, ComparedSystem]:
        """Return the paper's heuristics."""
        first = greedy(self.world, LAMBDAS)
        return {"Greedy": first, "Greedy-Acc": greedy_acc(self.world), "Greedy-Cost": greedy_cost(self.world)}

    def questions(self, budgets: int) -> list[tuple[int, float, float]]:
        """Return (column of `tested`, size, budget): the same budgets at each size, from one feature to all of them."""
        low, high = self.world.region.sizes
        cheapest = min(self.world.costs(1 << i)(low) for i in range(self.world.n_features))
        grid = np.geomspace(cheapest, self.everything(high), budgets).tolist()
        return [(k, float(n), budget) for k, n in enumerate(self.lattice.sizes) for budget in grid]

    def best(self, n: float, budget: float) -> int:
        """Return the best set that fits, by estimated accuracy."""
        masks = np.arange(len(self.lattice.estimated))
        fits = costs_at_sizes(weights_of(self.world.costs, masks), np.full(len(masks), n)) <= budget
        return int(np.where(fits | (masks == 0), self.world.scores, -1.0).argmax())
