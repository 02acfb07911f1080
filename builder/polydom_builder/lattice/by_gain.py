"""The default search: train the set with the greatest expected gain, until no gain is worth a training."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polydom_builder.sets.inputs import CostsOfSets, ScoreSets, ask, check_parameters, weights_of
from polydom_builder.sets.query_grid import QueryGrid
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.arrays import Bools, Floats, Masks

from .limits import Spent
from .set_pool import SetPool
from .set_process import Guesses, ProcessShape, SetProcess

RENEW = 10
"""The number of trainings after which the sets to choose from are chosen anew, in a large lattice."""

CHANCE = 0.05
"""The probability of what a search leaves out of account."""

LITTLE, OF_NOISE = 1.5e-4, 0.005
"""A gain that is not worth a training, in the mean over all queries: the first share of the range of scores, or the
second share of the noise, if that is more. A search for less finds what chance made of the held-out items."""

MISSED = 0.04
"""A share of the range of scores: where an untrained set may be better by more, and by more than the noise, the search
goes on even for little gain. Guesses are a little too sure, so the gains of many unlikely sets add up to more."""


@dataclass(frozen=True, slots=True)
class SearchStep:
    """How far a search has come."""

    n_trained: int
    gain: float
    """What the next training is expected to add to the best score that fits, in the mean over sizes and budgets."""
    possible: float
    """With a probability of 95 %, no untrained set exceeds those that can answer in its place by more than this."""
    noise: float
    """The typical standard error of the difference between a trained set and the one that answers in its place."""
    worth: float = 0.0
    """The least gain that is worth a training: the search goes on while `gain` is above it."""


@dataclass(frozen=True, slots=True)
class Gained:
    """The result of a search by gain."""

    expanded: dict[int, float]
    """The scores in the order of training."""
    steps: list[SearchStep]
    untrained: Masks
    """Shape (n_sets,). The masks of untrained sets."""
    guesses: Guesses
    """Guesses of the scores of `untrained`."""
    shape: ProcessShape
    all_weighed: bool
    """Whether `untrained` holds all untrained sets that fit."""
    is_spent: bool
    """Whether limits ended the search before it was done."""
    noise: float
    """The noise of a `SearchStep`."""


def expand_by_gain(
    costs: CostsOfSets,
    region: QueryRegion,
    score: ScoreSets,
    *,
    noise: Callable[[Mapping[int, int]], float] = lambda rivals: 0.0,
    batch: int = 1,
    known: Mapping[int, float] | None = None,
    shown: Callable[[SearchStep], object] = lambda step: None,
) -> Gained:
    """Train the empty and the full set, then always the set from which most is expected.

    The gain of a set is what it is expected to add to the score of the answers, in the mean over a grid of queries,
    where it becomes the best one that fits; a Gaussian process guesses its score. In turn with these sets, single
    features are trained: they show what each contributes, and cost little.

    The search is done when no gain is worth a training, and no untrained set is likely to be much better; `score` may
    end it at any time by `Spent`. `noise` returns the typical standard error of the difference between trained sets
    and those that answer in their place, by set. O(n_sets · n_trained) in each round, for the sets that fit, of large
    lattices a part.

    Feature 0 is worth .3, feature 1 nothing, feature 2 little. Each costs twice as much as the one before:

    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_builder.sets.set_costs import SetCosts
    >>> costs = SetCosts([CostFunction.of(linear=w) for w in (1, 2, 4)])
    >>> def score(masks):
    ...     return [0.5 + 0.3 * (m & 1) + 0.01 * (m >> 2) for m in masks]
    >>> found = expand_by_gain(costs, QueryRegion((1, 500)), score)
    >>> sorted(found.expanded), found.is_spent
    ([0, 1, 2, 3, 4, 5, 7], False)
    """
    check_parameters(costs.n_features, 1.0, 0.0, batch)
    search = _Search(costs, region, score, batch, noise, shown)
    try:
        search.run(known or {})
    except Spent:
        search.learn_new()
        return search.found(is_spent=True)
    return search.found(is_spent=False)


@dataclass
class _Search:
    costs: CostsOfSets
    region: QueryRegion
    score: ScoreSets
    batch: int
    noise: Callable[[Mapping[int, int]], float]
    shown: Callable[[SearchStep], object]
    trained: dict[int, float] = field(default_factory=dict)
    steps: list[SearchStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._n = self.costs.n_features
        self._grid = QueryGrid.of(self.region, self.costs)
        self._answers = np.zeros(len(self._grid.budgets), dtype=np.int64)
        self._levels = np.full(len(self._grid.budgets), -np.inf)
        self._pool = SetPool(self.costs, self.region, self._grid)
        self._process: SetProcess | None = None
        self._n_learned, self._renewed_at, self._turn = 0, 0, 0

    def run(self, known: Mapping[int, float]) -> None:
        """Train until it is done, or `score` raises `Spent`."""
        self.trained.update(known)
        self._train([mask for mask in dict.fromkeys((0, (1 << self._n) - 1)) if mask not in known])
        while True:
            self.learn_new()
            if self._process is None or not len(self._pool.masks):
                return
            guesses, levels = self._process.guesses(), self._pool.levels(self._levels)
            gains = self._pool.gains(guesses, self._levels)
            step = self._step(guesses, levels, float(gains.max()))
            self.steps.append(step)
            self.shown(step)
            singles = np.flatnonzero(np.bitwise_count(self._pool.masks) == 1)
            done = _is_done(step, guesses.scale.unit)
            if done and not len(singles):
                if self._pool.is_whole or self._renewed_at == len(self.trained):
                    return
                self._renew()  # of a large lattice, other sets may matter by now
                continue
            self._turn += 1
            rows = singles if len(singles) and (done or self._turn % 2) else np.arange(len(gains))
            self._train(self._chosen(rows, gains, guesses))

    def _chosen(self, rows: Masks, gains: Floats, guesses: Guesses) -> list[int]:
        """Return up to a batch of sets: each with most to gain if those before it score as guessed."""
        levels, expected, chosen = self._levels, guesses.at(0.0), []
        while True:
            row = int(rows[gains[rows].argmax()])
            chosen.append(int(self._pool.masks[row]))
            rows = rows[rows != row]
            if len(chosen) == self.batch or not len(rows):
                return chosen
            levels = np.where(self._pool.fits[:, row], np.maximum(levels, expected[row]), levels)
            gains = self._pool.gains(guesses, levels)

    def _train(self, masks: Sequence[int]) -> None:
        for start in range(0, len(masks), self.batch):
            part = list(masks[start : start + self.batch])
            self.trained.update(zip(part, ask(self.score, part, 1.0), strict=True))

    def learn_new(self) -> None:
        """Take over the scores of the sets that were trained last."""
        new = list(self.trained)[self._n_learned :]
        fits = self._grid.fits(weights_of(self.costs, np.array(new, dtype=np.int64)))
        for column, mask in enumerate(new):
            better = (fits[:, column] | (mask == 0)) & (self._levels < self.trained[mask])
            self._levels[better], self._answers[better] = self.trained[mask], mask
        earlier = self._process
        self._process = earlier.after(self.trained) if earlier else SetProcess(self.trained, self._n)
        if self._process is earlier and (self._pool.is_whole or len(self.trained) < self._renewed_at + RENEW):
            self._process.keep(self._pool.leave_out(new))
        else:
            self._renew()
        self._n_learned = len(self.trained)

    def _renew(self) -> None:
        assert self._process is not None
        self._pool.renew(self.trained, self._answers)
        self._process.watch(self._pool.masks)
        self._renewed_at = len(self.trained)

    def _step(self, guesses: Guesses, levels: Floats, gain: float) -> SearchStep:
        noise = self.noise(self._rivals())
        worth = max(LITTLE * guesses.scale.unit, OF_NOISE * noise)
        return SearchStep(len(self.trained), gain, possible_loss(guesses, levels), noise, worth)

    def _rivals(self) -> dict[int, int]:
        """Return for each trained set that fits the one that answers where it fits and least is left over."""
        masks = list(self.trained)
        fits: Bools = self._grid.fits(weights_of(self.costs, np.array(masks, dtype=np.int64)))
        where = [np.flatnonzero(column) for column in fits.T]
        lowest = {mask: at[self._levels[at].argmin()] for mask, at in zip(masks, where, strict=True) if len(at)}
        rivals = {mask: int(self._answers[place]) for mask, place in lowest.items()}
        return {mask: rival for mask, rival in rivals.items() if mask != rival}

    def found(self, is_spent: bool) -> Gained:
        """Return the result so far."""
        assert self._process is not None
        guessed = self._pool.masks, self._process.guesses(), self._process.shape, self._pool.is_whole
        return Gained(self.trained, self.steps, *guessed, is_spent, self.noise(self._rivals()))


def _is_done(step: SearchStep, unit: float) -> bool:
    return step.gain <= step.worth and step.possible <= max(MISSED * unit, step.noise)


def possible_loss(guesses: Guesses, levels: Floats) -> float:
    """Return the least amount >= 0 such that the probabilities that sets exceed their levels by more add up to 5 %."""
    low, high = 0.0, guesses.scale.unit
    near = guesses.above(levels) > 1e-6
    guesses, levels = guesses.take(near), levels[near]
    if guesses.above(levels).sum() <= CHANCE:
        return 0.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if guesses.above(levels + middle).sum() > CHANCE else (low, middle)
    return high
