"""Which sets to train with other estimators than the one that explored the lattice: those that promise more somewhere.

Scores of all estimators are guessed together: to the process, the estimator is one more feature of a set, so a few
trainings by another one tell what it gives elsewhere. The promise is the expected gain over the best answers so far,
in the mean over the queries of the region.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polydom_builder.lattice.by_gain import LITTLE
from polydom_builder.lattice.set_pool import SetPool
from polydom_builder.lattice.set_process import MOST_FITTED, SetProcess
from polydom_builder.lattice.within_noise import PairedErrors, select_within_noise
from polydom_builder.sets.inputs import CostsOfSets, weights_of
from polydom_builder.sets.query_grid import QueryGrid
from polydom_builder.sets.region import QueryRegion
from polydom_builder.training.families import Family
from polydom_runtime.arrays import Floats, Masks
from polydom_runtime.costs import CostFunction, basis_terms

MOST_BITS = 62
"""The most bits of a set: its features, and one for each further estimator. Estimators beyond that are not trained."""

ON_ANSWERS = 3
"""A third of the trainings is on sets that are the best so far, divided among the other estimators."""

LEAST_PRICE = 1e-12
"""Prices below this count as this."""


@dataclass
class OtherFamilies:
    """Trains further models, the most promising first."""

    families: Sequence[Family]
    """The first one has explored the lattice. Those that have trained nothing are left out."""
    costs: Mapping[str, CostsOfSets]
    """The costs of sets by the name of the family."""
    region: QueryRegion
    explored: Mapping[int, float]
    """The scores of the first family."""

    def __post_init__(self) -> None:
        self._n = self.costs[self.families[0].name].n_features
        self._others = [f for f in self.families[1:] if f.trainer.known][: MOST_BITS - self._n]
        self._grid = grid_of(self.families, self.costs, self.region)
        self._pools = [SetPool(self.costs[f.name], self.region, self._grid) for f in self._others]
        self._process: SetProcess | None = None

    def train(self, most: int, in_time: Callable[[], bool], batch: int = 1) -> None:
        """Train at most `most` models as long as one promises a gain, first on some of the best sets so far."""
        each = most // (ON_ANSWERS * max(len(self._others), 1))
        for family in self._others if each and in_time() else ():
            before = len(family.trainer.known)
            family.trainer.scored(self._some_answers(family, each))
            most -= len(family.trainer.known) - before
        while self._others and most > 0 and in_time() and (chosen := self._most_promising(min(batch, most))):
            for k, family in enumerate(self._others):
                if masks := [mask for number, mask in chosen if number == k]:
                    family.trainer.scored(masks)
            most -= len(chosen)

    def better(self, kept: Sequence[int], times: float) -> list[tuple[Family, int]]:
        """Return the models that are better, by more than `times` standard errors, than all cheaper and `kept` ones."""
        first = self.families[0]
        models = {mask: (first, mask) for mask in kept}
        scores = {mask: self.explored[mask] for mask in kept}
        for k, family in enumerate(self._others):
            models |= {mask | self._bit(k): (family, mask) for mask in self._scores(family)}
            scores |= {mask | self._bit(k): score for mask, score in self._scores(family).items()}

        def parts(masks: Sequence[int]) -> Floats:
            return np.array([family.trainer.scored([mask])[0].parts for family, mask in map(models.__getitem__, masks)])

        errors = PairedErrors(parts, first.trainer.shares, first.trainer.inflation)
        chosen = select_within_noise(
            scores, _CostsOfModels(models, self.costs, self._n_bits), self.region, errors, times
        )
        return [models[mask] for mask in chosen if mask >> self._n]

    def _some_answers(self, family: Family, count: int) -> list[int]:
        """Return some of the best sets at the queries that they fit with a family, evenly spread by budget."""
        _, answers = self._best_so_far()
        sets = np.unique(answers[answers > 0])
        fits = self._grid.fits(weights_of(self.costs[family.name], sets)).any(axis=0)
        sets = sets[fits & ~np.isin(sets, [*family.trainer.known])]
        prices = weights_of(self.costs[family.name], sets) @ basis_terms(self.region.typical_size)
        sets = sets[np.argsort(-prices, kind="stable")]
        chosen: list[int] = sets[np.linspace(0, len(sets) - 1, min(count, len(sets))).astype(int)].tolist()
        return chosen

    def _most_promising(self, count: int) -> list[tuple[int, int]]:
        """Return up to `count` pairs (position in `_others`, mask) to train, by falling gain; empty if none gains."""
        process, (levels, answers) = self._guessing(), self._best_so_far()
        found: list[tuple[float, int, int]] = []
        for k, (family, pool) in enumerate(zip(self._others, self._pools, strict=True)):
            pool.renew(self._scores(family), answers)
            process.watch(pool.masks | self._bit(k))
            gains = pool.gains(process.guesses(), levels)
            least = LITTLE * process.scale.unit
            rank = np.argsort(-gains, kind="stable")[:count]
            found += [(float(gains[row]), k, int(pool.masks[row])) for row in rank if gains[row] > least]
        return [(k, mask) for _, k, mask in sorted(found, reverse=True)[:count]]

    def _guessing(self) -> SetProcess:
        """Return the process over all scores that are known."""
        scores = dict([*self.explored.items()][:: math.ceil(len(self.explored) / MOST_FITTED)])
        for k, family in enumerate(self._others):
            scores |= {mask | self._bit(k): score for mask, score in self._scores(family).items()}
        self._process = self._process.after(scores) if self._process else SetProcess(scores, self._n_bits)
        return self._process

    def _best_so_far(self) -> tuple[Floats, Masks]:
        """Return the best score at each query, and the set that has it."""
        best: Floats = np.full(len(self._grid.budgets), self.explored[0])
        answers: Masks = np.zeros(len(best), dtype=np.int64)
        for family in (self.families[0], *self._others):
            known = self.explored if family is self.families[0] else self._scores(family)
            masks = np.array([mask for mask in known if mask], dtype=np.int64)
            fits = self._grid.fits(weights_of(self.costs[family.name], masks))
            scores = np.where(fits, [known[mask] for mask in masks.tolist()], -np.inf)
            better = scores.max(axis=1, initial=-np.inf) > best
            best[better], answers[better] = scores.max(axis=1)[better], masks[scores.argmax(axis=1)[better]]
        return best, answers

    def _scores(self, family: Family) -> dict[int, float]:
        return {mask: found.score for mask, found in family.trainer.known.items() if mask}

    def _bit(self, number: int) -> int:
        return 1 << self._n + number

    @property
    def _n_bits(self) -> int:
        return self._n + len(self._others)


@dataclass(frozen=True)
class _CostsOfModels:
    """The costs of models by their numbers, of which the estimator is a part."""

    models: Mapping[int, tuple[Family, int]]
    costs: Mapping[str, CostsOfSets]
    n_features: int

    def __call__(self, number: int) -> CostFunction:
        family, mask = self.models[number]
        return self.costs[family.name](mask)


def grid_of(families: Sequence[Family], costs: Mapping[str, CostsOfSets], region: QueryRegion) -> QueryGrid:
    """Return the grid of queries to compare estimators on, made with the costs of the one with the quickest models."""
    quickest = min(families, key=lambda family: family.seconds)
    return QueryGrid.of(region, costs[quickest.name])


def log_prices(weights: Floats, region: QueryRegion) -> Floats:
    """Return the logarithm of the cost of each set at a typical size, for the weights of its cost."""
    prices: Floats = np.log(np.maximum(weights @ basis_terms(region.typical_size), LEAST_PRICE))
    return prices
