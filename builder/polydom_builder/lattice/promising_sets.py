"""The feature sets in doubt, and the next one to train: it is expected to shrink the gaps in their bounds most."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, weights_of
from polydom_builder.sets.region import QueryRegion, costs_at_sizes
from polydom_runtime.arrays import Floats, Masks
from polydom_runtime.costs import basis_terms

from .set_process import SetProcess

FIRST_ROUND = 512, 128
SECOND_ROUND = 64, 1024
"""`FIRST_ROUND`, `SECOND_ROUND`: number of choices, and number of sets in doubt on which each is weighed: first many
roughly, then the best of them on a larger sample, so that the time does not grow with the lattice."""

GUESS_POINTS = (-1.3, 0.0, 1.3)
GUESS_SHARES = (0.25, 0.5, 0.25)
"""A guess consists of three points: `GUESS_POINTS`, in standard deviations from its mean, with the probabilities
`GUESS_SHARES`."""

MOST_LEARNED = 1000
"""The most trained sets that guesses are made from: their time and memory grow with the square."""


class OpenSets:
    """Sets that fit, one row each, with bounds from the trained sets.

    `lower` is the highest score of a trained set that covers the set, `upper` the lowest score of a trained strict
    superset plus the tolerance. The set is settled, and never trained, when alpha * lower >= upper; until then it is
    in doubt. `floor`, the highest score of a trained subset, only helps to guess the score of the set.

    The empty set scores .5, the full set .58. At alpha = 1.2 every set is settled, as .5 · 1.2 >= .58; at alpha = 1.1
    the single features are in doubt:

    >>> from polydom_builder.sets.region import QueryRegion
    >>> weights = np.eye(6)[[2, 2, 2, 2]] * [[0], [1], [2], [3]]
    >>> costs = Costs(weights, QueryRegion((1, 9)))
    >>> for alpha in (1.2, 1.1):
    ...     open_sets = OpenSets(np.arange(4), costs, alpha, tolerance=0.0)
    ...     open_sets.learn(0, 0.5, costs.take(np.array([0])))
    ...     open_sets.learn(3, 0.58, costs.take(np.array([3])))
    ...     print(open_sets.masks[open_sets.in_doubt()])
    []
    [1 2]
    """

    def __init__(self, masks: NDArray[np.int64], costs: Costs, alpha: float, tolerance: float) -> None:
        self.masks = masks
        self.costs = costs
        self.alpha = alpha
        self.tolerance = tolerance
        self.lower = np.full(len(masks), -np.inf)
        self.upper = np.full(len(masks), np.inf)
        self.floor = np.full(len(masks), -np.inf)

    def learn(self, mask: int, score: float, cost: Costs) -> None:
        """Tighten the bounds by the score of a trained set; `cost` is its one row of costs. O(n_sets)."""
        inside = (self.masks & ~mask) == 0
        np.minimum(self.upper, score + self.tolerance, out=self.upper, where=inside)
        np.maximum(self.floor, score, out=self.floor, where=(mask & ~self.masks) == 0)
        # Tests of *covers* are expensive: make them only where the score can raise a bound that matters.
        weaker = np.flatnonzero((self.lower < score) & self.in_doubt())
        covered = self.costs.take(weaker).covered_by(cost, 0)
        self.lower[weaker[covered]] = score
        self.upper[self.masks == mask] = -np.inf  # trained, so no longer in doubt

    def in_doubt(self) -> NDArray[np.bool_]:
        """Return which sets are not settled."""
        result: NDArray[np.bool_] = self.alpha * self.lower < self.upper
        return result

    def compact(self) -> None:
        """Remove the settled sets once they are a fifth of all: each removal copies the others. O(n_sets)."""
        keep = self.in_doubt()
        if np.count_nonzero(keep) <= 0.8 * len(keep):
            self.masks, self.floor = self.masks[keep], self.floor[keep]
            self.lower, self.upper = self.lower[keep], self.upper[keep]
            self.costs = self.costs.take(keep)


@dataclass(frozen=True, slots=True)
class _Choices:
    """Untrained sets to choose from."""

    masks: Masks
    """Shape (n_sets,)."""
    keys: Floats
    """Shape (n_sets, n_keys). Numbers that *covers* is judged by: R seems to cover S if none of its keys exceeds that
    of S."""
    scores: Floats
    """Shape (3, n_sets). Three guesses of each score, with the probabilities `GUESS_SHARES`."""

    def take(self, rows: NDArray[np.intp]) -> "_Choices":
        """Return the sets in some rows."""
        return _Choices(self.masks[rows], self.keys[rows], self.scores[:, rows])


class PromisingSets:
    """Choose the sets to train next: those that are expected to shrink the gaps of the sets in doubt most.

    A set in doubt has the gap upper - alpha * lower. A newly trained set raises `lower` of the sets that it covers,
    and lowers `upper` of its subsets. Its promise is the expected fall of the mean square root of the gaps. (Counting
    the settled sets would give no credit for a gap that shrinks but does not close; adding up the gaps would shrink
    large gaps and leave small ones open.)

    The choice is among sets in doubt and some large sets, the full set without its best or its most expensive
    features: these are rarely needed as an answer, but lower `upper` of many subsets, most of all if they score low.
    Scores are guessed by three points, gaps are those of a random sample, and *covers* is judged at five sizes. These
    shortcuts may lead to a worse choice, never to a wrong bound: `OpenSets.learn` uses the sound test.
    """

    def __init__(self, costs: CostsOfSets, region: QueryRegion) -> None:
        self._costs = costs
        self._region = region
        low, high = np.log1p(region.sizes)
        self._terms = basis_terms(np.expm1(np.linspace(low, high, 5))).T
        self._rng = np.random.default_rng(0)
        self._process: SetProcess | None = None
        self._singles = 1 << np.arange(costs.n_features, dtype=np.int64)
        self._prices = costs_at_sizes(
            weights_of(costs, self._singles), np.full(costs.n_features, 0.5 * sum(region.sizes))
        )

    def choose(self, open_sets: OpenSets, trained: Mapping[int, float], batch: int) -> list[int]:
        """Return up to `batch` sets, best first, none a subset of another; O(512 · 128 + 64 · 1024 + n_sets)."""
        rows = np.flatnonzero(open_sets.in_doubt())
        choices = self._choices(open_sets, self._sample(rows, FIRST_ROUND[0]), trained)
        gains = self._gains(choices, open_sets, self._sample(rows, FIRST_ROUND[1]))
        best = np.argsort(-gains, kind="stable")[: SECOND_ROUND[0]]
        choices = choices.take(best)
        gains = self._gains(choices, open_sets, self._sample(rows, SECOND_ROUND[1]))
        return _incomparable(choices.masks[np.argsort(-gains, kind="stable")].tolist(), batch)

    def _sample(self, rows: NDArray[np.intp], size: int) -> NDArray[np.intp]:
        if len(rows) <= size:
            return rows
        return rows[np.unique(self._rng.integers(len(rows), size=size))]

    def _choices(self, open_sets: OpenSets, rows: NDArray[np.intp], trained: Mapping[int, float]) -> _Choices:
        known = np.fromiter(trained, dtype=np.int64, count=len(trained))
        scores = np.fromiter(trained.values(), dtype=np.float64, count=len(trained))
        learned = dict(islice(trained.items(), 0, None, math.ceil(len(trained) / MOST_LEARNED)))
        process = self._process.after(learned) if self._process else SetProcess(learned, self._costs.n_features)
        self._process = process
        process.watch(self._singles)
        doubtful = open_sets.masks[rows]
        chains = {*_chain(process.guesses().means), *_chain(self._prices)} - trained.keys() - set(doubtful.tolist())
        witnesses = np.array(sorted(chains), dtype=np.int64)
        masks = np.concatenate([doubtful, witnesses])
        # Scores that are monotone lie between those of trained subsets and supersets, so guesses are clipped to that.
        # For the sets in doubt, `open_sets` has these limits already.
        below = (known & ~witnesses[:, None]) == 0
        above = (witnesses[:, None] & ~known) == 0
        floor = np.concatenate([open_sets.floor[rows], np.where(below, scores, -np.inf).max(axis=1)])
        ceiling = np.where(above, scores, np.inf).min(axis=1) + open_sets.tolerance
        ceiling = np.concatenate([open_sets.upper[rows], ceiling])
        prepared = Costs(weights_of(self._costs, witnesses), self._region)
        keys = np.concatenate([self._keys(open_sets.costs.take(rows)), self._keys(prepared)])
        process.watch(masks)
        guesses = np.stack([process.guesses().at(place) for place in GUESS_POINTS])
        return _Choices(masks, keys, np.clip(guesses, floor - open_sets.tolerance, ceiling))

    def _keys(self, costs: Costs) -> Floats:
        """Return the keys of each set, shape ``(n_sets, n_keys)``; see `_Choices`.

        With one fixed budget the only key is -n*. Otherwise the keys are costs at five sizes. There all costs up to
        the least budget are alike, as they fit every query, and so are all costs above the greatest, as they fit none.
        """
        low, high = self._region.budgets
        if low == high:
            return -costs.far[:, None]
        at_sizes = costs.weights @ self._terms
        return np.where(at_sizes > high, np.inf, np.maximum(at_sizes, low))

    def _gains(self, choices: _Choices, open_sets: OpenSets, rows: NDArray[np.intp]) -> Floats:
        """Return the expected fall of the mean root of the gaps, shape ``(n_choices,)``."""
        alpha, lower, upper = open_sets.alpha, open_sets.lower[rows], open_sets.upper[rows]
        covers = np.ones((len(choices.masks), len(rows)), dtype=np.bool_)
        for mine, theirs in zip(choices.keys.T, self._keys(open_sets.costs.take(rows)).T, strict=True):
            covers &= mine[:, None] <= theirs
        contains = (open_sets.masks[rows] & ~choices.masks[:, None]) == 0
        after = np.zeros(len(choices.masks))
        for scores, share in zip(choices.scores[:, :, None], GUESS_SHARES, strict=True):
            raised = np.where(covers, np.maximum(lower, scores), lower)
            lowered = np.where(contains, np.minimum(upper, scores + open_sets.tolerance), upper)
            after += share * np.sqrt(np.maximum(lowered - alpha * raised, 0.0)).mean(axis=1)
        result: Floats = np.sqrt(upper - alpha * lower).mean() - after
        return result


def _chain(values: Floats) -> list[int]:
    """Return the full set without its highest feature by value, without its highest two, ..., down to one feature."""
    masks, mask = [], (1 << len(values)) - 1
    for i in np.argsort(-values, kind="stable")[:-1].tolist():
        mask &= ~(1 << i)
        masks.append(mask)
    return masks


def _incomparable(masks: list[int], batch: int) -> list[int]:
    """Return the first masks, at most `batch`, of which none contains another: the score of a set may settle those."""
    picked: list[int] = []
    for mask in masks:
        if all(mask & ~other and other & ~mask for other in picked):
            picked.append(mask)
        if len(picked) == batch:
            break
    return picked
