"""What the features of a scene cost: measured on one photograph at twelve sizes, fitted, and drawn again at random."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polydom_builder.costs.fitting import CostFit
from polydom_builder.costs.report import report_costs
from polydom_builder.costs.unit_costs import TYPICAL_MODEL, UnitCosts, fit_units
from polydom_builder.lattice.set_costs import SetCosts
from polydom_runtime import FeatureSpace
from polydom_runtime.bundle import step_users
from polydom_runtime.cost_samples import DISPATCH, CostSamples
from polydom_runtime.costs_file import load_costs
from polydom_runtime.features import members
from polydom_runtime.journal import FileJournal
from polydom_runtime.timing import measure

from . import scene_features
from .results import Row
from .scene_features import gradients
from .scene_images import Image, Photo, squares

Floats = NDArray[np.float64]

MEASURED_SIDES = (65, 73, 83, 94, 106, 125, 136, 153, 170, 187, 216, 250)
"""In pixels; the four sizes of the photographs are among them."""

QUANTILE = 0.99
"""The share of answers that must be in time by the plan: the worst case of few rounds."""

LOOKED_AT = 40
"""Photos of which the busiest is measured on: where content matters, busy photos cost most."""


@dataclass(frozen=True)
class SceneCosts:
    """What was measured of some features, and what is planned with.

    Parameters
    ----------
    space : FeatureSpace
    samples : CostSamples
    quantile : float
        Of the worst case.
    """

    space: FeatureSpace
    samples: CostSamples
    quantile: float = QUANTILE

    @cached_property
    def planned(self) -> SetCosts:
        """The worst-case cost of any feature set in seconds: features, shared steps, a model's run and dispatch."""
        fitted = fit_units(self.space, self.samples, self.quantile)
        units: UnitCosts = fitted.units.with_allowance(fitted.allowance)
        model = fitted.models[TYPICAL_MODEL] * (1.0 + fitted.allowance.share)
        costs = units.set_costs(model)
        assert isinstance(costs, SetCosts)  # for it was given no way to combine costs
        return costs

    @cached_property
    def fits(self) -> dict[str, CostFit]:
        """The typical and the worst-case fit of each unit."""
        return {row.unit: row.fit for row in report_costs(self.samples, self.quantile)}

    def measured(self, mask: int, n: float) -> Floats:
        """Return what computing and classifying by these features took in each round, at the measured size next to `n`.

        Parameters
        ----------
        mask : int
        n : float
            In pixels.

        Returns
        -------
        array of shape (n_rounds,)
            Seconds.
        """
        steps = [name for name, users in step_users(self.space) if users & mask]
        rows = [self.samples.units.index(u) for u in (*steps, *(self.space.names[i] for i in members(mask)), DISPATCH)]
        seconds: Floats = self.samples.seconds[rows, self._nearest(n)].sum(axis=0)
        return seconds + self.samples.kernels[TYPICAL_MODEL] if mask else seconds

    def _nearest(self, n: float) -> int:
        return int(np.abs(np.log(self.samples.sizes / n)).argmin())


def measured_costs(
    space: FeatureSpace, photos: Sequence[Photo], cache: Path, rounds: int, seconds: float
) -> SceneCosts:
    """Measure the features, or return what was measured of them before.

    Parameters
    ----------
    space : FeatureSpace
    photos : sequence of Photo
        Of which one is measured on.
    cache : Path
        Folder that keeps the samples; delete ``*.costs`` there to measure again.
    rounds, seconds
        At most so many samples, at most so long; see `polydom_runtime.timing.measure`.
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
