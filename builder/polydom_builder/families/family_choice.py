"""Which estimators are worth more trainings, and which one explores the lattice.

Most sets are trained with one estimator. The others are compared with it on 4, 8 and then 16 sets of all prices; one
that is beaten beyond noise by another that is no slower drops out.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polydom_builder.lattice.within_noise import PairedErrors
from polydom_builder.sets.inputs import CostsOfSets, weights_of
from polydom_builder.sets.region import QueryRegion
from polydom_builder.training.families import Family
from polydom_runtime.arrays import Floats
from polydom_runtime.costs import basis_terms

from .other_families import grid_of, log_prices

ROUNDS = (4, 8, 16)
"""The number of sets in each round."""

DRAWN = 32
"""Random sets for each set of a round, among which the price decides."""

NOISE = 2.0
"""Standard errors by which an estimator must be beaten."""

SAME_TIME = 0.02
"""Model times that differ by less than this share of the shortest budget count as equal."""

CostsByName = Mapping[str, CostsOfSets]
"""The costs of sets by the name of the estimator."""

MOST_MORE = 0.5
"""All estimators together train at most this share more models than the search of the lattice."""

COMPARED, OTHERS = 6, 4
"""`COMPARED`: at most a sixth of `max_trainings` compares estimators. `OTHERS`: a fourth of `max_trainings`, or of
`max_seconds`, is kept for the other estimators at the end."""


@dataclass
class FamilyLimits:
    """The limits of a search with several estimators."""

    families: Sequence[Family]
    """Their trainers know the sets that were trained."""
    trainings: int | None
    seconds: float | None
    clock: Callable[[], float] = time.monotonic
    """Returns the time in seconds."""

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def to_compare(self) -> int:
        """The number of trainings that compare other estimators: that of features, or enough for one set of each."""
        most = max(len(self.families[0].trainer.table.columns), len(self.families) - 1)
        return most if self.trainings is None else min(most, self.trainings // COMPARED)

    @property
    def of_lattice(self) -> tuple[int | None, float | None]:
        """The number of trainings and of seconds that the search of the lattice may take."""
        trainings, seconds = self.trainings, self.seconds
        if len(self.families) > 1:
            if trainings is not None:
                trainings -= self._trained + trainings // OTHERS
            if seconds is not None:
                seconds = max(seconds * (1.0 - 1.0 / OTHERS) - self._passed, 1e-3)
        return trainings, seconds

    def of_others(self, explored: int) -> int:
        """Return the number of trainings left for other estimators after a search that explored some sets."""
        most = int((1.0 + MOST_MORE) * explored)
        return max((most if self.trainings is None else min(most, self.trainings)) - self._trained, 0)

    def in_time(self) -> bool:
        """Tell whether a further training may begin."""
        return self.seconds is None or self._passed < self.seconds

    @property
    def _trained(self) -> int:
        return sum(len(family.trainer.known) for family in self.families)

    @property
    def _passed(self) -> float:
        return self.clock() - self._began


def chosen_families(
    families: Sequence[Family], costs: CostsByName, region: QueryRegion, limits: FamilyLimits, seed: int
) -> tuple[Family, ...]:
    """Return the families that are worth more trainings, first the one that is the best at most queries.

    If the limits allow no comparison, the first family is the only one left.
    """
    grid, left = grid_of(families, costs, region), list(families)
    most = limits.to_compare
    slack = SAME_TIME * float(grid.budgets.min())
    tried: list[int] = []
    for count in ROUNDS:
        count = min(count, most // max(len(left) - 1, 1))
        new = [mask for mask in spread_sets(costs[left[0].name], region, count, seed) if mask not in tried]
        if not new or len(left) == 1 or not limits.in_time():
            break
        most -= len(new) * (len(left) - 1)
        tried = sorted([*tried, *new], key=lambda mask: -costs[families[0].name](mask)(region.typical_size))
        for family in left:
            family.trainer.scored(tried)
        left = [f for f in left if not any(g.seconds <= f.seconds + slack and _beats(g, f, tried) for g in left)]
    if not tried:
        warnings.warn(
            f"The limits of training allow no comparison of estimators: there are only models of {families[0].name}. "
            "Raise max_trainings or max_seconds.",
            stacklevel=4,
        )
        return (families[0],)
    masks = np.array(tried, dtype=np.int64)
    scores = np.stack([_best(family, masks, grid.fits(weights_of(costs[family.name], masks))) for family in left])
    wins = (scores >= scores.max(axis=0)).sum(axis=1).tolist()
    ranked = sorted(zip(left, wins, strict=True), key=lambda pair: (-pair[1], pair[0].seconds))
    return tuple(family for family, _ in ranked)


def choice_text(given: Sequence[Family], left: Sequence[Family]) -> str:
    """Say which estimator explores the lattice, which others stay, and which were beaten."""
    parts = (
        ("explores the lattice", left[:1]),
        ("where it promises more", left[1:]),
        ("beaten", [family for family in given if family not in left]),
    )
    return "; ".join(f"{what}: {', '.join(family.name for family in part)}" for what, part in parts if part)


def spread_sets(costs: CostsOfSets, region: QueryRegion, count: int, seed: int) -> list[int]:
    """Return random sets that fit somewhere, the most expensive first, at about equal ratios of price."""
    rng, n = np.random.default_rng(seed), costs.n_features
    drawn = rng.random((count * DRAWN, n)) < rng.random((count * DRAWN, 1))
    masks = np.unique(np.concatenate([drawn @ (1 << np.arange(n)), 1 << np.arange(n), [(1 << n) - 1]]))
    masks = masks[masks > 0].astype(np.int64)
    weights = weights_of(costs, masks)
    fits = weights @ basis_terms(region.sizes[0]) <= region.budgets[1]
    masks, prices = masks[fits], log_prices(weights[fits], region)
    if not len(masks) or not count:
        return []
    wanted = np.linspace(prices.max(), prices.min(), count)
    nearest = np.abs(prices - wanted[:, None]).argmin(axis=1)
    return list(dict.fromkeys(masks[nearest].tolist()))


def _beats(better: Family, family: Family, sets: Sequence[int]) -> bool:
    """Tell whether a family scores more beyond noise on some sets, by falling price; and on both halves of them."""
    if better is family:
        return False
    gains = _parts(better, sets) - _parts(family, sets)
    shares, half = family.trainer.shares, max(len(sets) // 2, 1)
    mean = gains.mean(axis=0)
    gain = float(shares @ mean)
    error = float(np.linalg.norm(PairedErrors(lambda _: mean, shares, family.trainer.inflation).moves([0])))
    halves = gains[:half], gains[-half:]
    return gain > NOISE * error and all(float(shares @ part.mean(axis=0)) >= 0.0 for part in halves)


def _parts(family: Family, sets: Sequence[int]) -> Floats:
    return np.stack([found.parts for found in family.trainer.scored(sets)])


def _best(family: Family, masks: NDArray[np.int64], fits: NDArray[np.bool_]) -> Floats:
    scores = np.array(family.trainer.scores(masks.tolist()))
    best: Floats = np.where(fits, scores, -np.inf).max(axis=1)
    return best
