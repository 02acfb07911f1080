"""Bounds on the fewest trainings that settle every feature set, all scores known: a yardstick for the searches."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, ask, check_parameters, weights_of
from polydom_builder.sets.region import QueryRegion, costs_at_sizes
from polydom_runtime.arrays import Bools, Floats

Rows = NDArray[np.intp]

MAX_FEATURES = 13
"""There are three tables of all pairs of sets: 67 MB each at 13 features."""

GLANCES = 5
"""Number of sizes at which costs are compared first: most pairs that do not cover are excluded there."""


@dataclass(frozen=True, slots=True)
class Fewest:
    """Bounds on the trainings that settle every set."""

    at_least: int
    """A lower bound: no smaller number of trainings settles every set."""
    enough: tuple[int, ...]
    """Masks of sets that settle every set once they are trained, by rising mask: their number is an upper bound."""


def fewest_trainings(
    scores: Floats, costs: CostsOfSets, region: QueryRegion, *, alpha: float = 1.0, tolerance: float = 0.0
) -> Fewest:
    """Bound from both sides how many sets must be trained to settle all that fit in the region.

    A set S is settled when it is trained, or when α·a(R) >= a(T) + e for a trained set R that covers S, its lower
    witness, and a trained strict superset T, its upper witness. So each S gives two choices, and of each at least one
    set must be trained: {S} ∪ {R: such a T exists} and {S} ∪ {T: such an R exists}.

    The bound from below: choices without a common set need a training each, so such choices are collected, small ones
    first, and counted. The bound from above: witnesses are picked greedily, each time the one that serves most of the
    sets that still lack one. Lower witnesses are picked before upper ones, then upper before lower ones. From both
    results the sets that are not needed are dropped, and the smaller result is returned.

    `scores` (shape (2 ** n_features,)): score of every set, by mask.

    Raises `LatticeError` if there are more than 13 features, or a score is missing or not finite.

    O(4^F) time and memory, three bytes for each pair of sets. *covers* is tested by `Costs`, as in the searches.

    Examples
    --------
    Three features cost 1, 2 and 4 times the item size. Every set with feature 0 scores .8, all others .5. No other set
    covers the empty set, and the full set has no superset, so both must be trained. So must {0}: only the empty set
    covers it, and .5 · 1.2 < .8. These three settle all others:

    >>> from polydom_runtime.costs import CostFunction
    >>> from polydom_builder.sets.set_costs import SetCosts
    >>> costs = SetCosts([CostFunction.of(linear=w) for w in (1, 2, 4)])
    >>> scores = np.where(np.arange(8) & 1, 0.8, 0.5)
    >>> fewest_trainings(scores, costs, QueryRegion((1, 500)), alpha=1.2)
    Fewest(at_least=3, enough=(0, 1, 7))
    """
    check_parameters(costs.n_features, alpha, tolerance)
    _check_scores(scores, costs.n_features, alpha)
    pairs = _Pairs(scores, costs, region, alpha, tolerance)
    # Each choice assumes the best bound on its other side, so it leaves out no set that could help.
    lower, upper = pairs.lower_choices(pairs.least_upper), pairs.upper_choices(pairs.greatest_lower)
    at_least = _disjoint(np.concatenate([lower, upper]))
    by_lower, by_upper = _pick(lower), _pick(upper)
    ways = (
        _pick(pairs.upper_choices(pairs.bounds(by_lower)[0]), by_lower),
        _pick(pairs.lower_choices(pairs.bounds(by_upper)[1]), by_upper),
    )
    enough = min((pairs.drop_needless(picked) for picked in ways), key=len)
    return Fewest(at_least, tuple(sorted(enough.tolist())))


class _Pairs:
    """The possible witnesses: tables with a row for each set S that fits and a column for every set.

    `greatest_lower` and `least_upper` are the bounds on the score of S if all other sets were trained: the best that
    any choice of trainings can give.
    """

    def __init__(self, scores: Floats, costs: CostsOfSets, region: QueryRegion, alpha: float, tolerance: float) -> None:
        self.scores, self.alpha, self.tolerance = scores, alpha, tolerance
        prepared = Costs(weights_of(costs, np.arange(len(scores))), region)
        self.sets = np.flatnonzero(np.isfinite(prepared.far))
        self.rows = np.arange(len(self.sets))
        self.covers = _covers(prepared, self.sets, costs.n_features)
        self.covers[self.rows, self.sets] = False
        self.greatest_lower, self.least_upper = self.bounds(np.arange(len(scores)))

    def lower_choices(self, upper: Floats) -> Bools:
        """Return S and the lower witnesses that settle it, given the bound `upper` from its upper witness."""
        choices: Bools = self.alpha * self.scores >= upper[:, None]
        choices &= self.covers
        choices[self.rows, self.sets] = True
        return choices

    def upper_choices(self, lower: Floats) -> Bools:
        """Return S and the upper witnesses that settle it, given the score `lower` of its lower witness."""
        choices: Bools = self.scores + self.tolerance <= self.alpha * lower[:, None]
        choices &= _inside(self.sets, np.arange(len(self.scores)))
        choices[self.rows, self.sets] = True
        return choices

    def bounds(self, trained: Rows, rows: Rows | None = None) -> tuple[Floats, Floats]:
        """Return the lower and the upper bound that trained sets give to all sets, or to those in `rows`."""
        rows = self.rows if rows is None else rows
        # In order of their scores, the first set that is a witness gives the best bound.
        rising = trained[np.argsort(self.scores[trained], kind="stable")]
        upper = _first(_inside(self.sets[rows], rising), self.scores[rising], np.inf)
        falling = rising[::-1]
        lower = _first(self.covers[np.ix_(rows, falling)], self.scores[falling], -np.inf)
        return lower, upper + self.tolerance

    def drop_needless(self, trained: Rows) -> Rows:
        """Drop the trained sets one after another, except those without which some set is not settled."""
        lower, upper = self.bounds(trained)
        for mask in trained.tolist():
            if (self.alpha * lower < upper)[self.sets == mask].any():
                continue
            score, inside = self.scores[mask], _inside(self.sets, np.array([mask]))[:, 0]
            # Only the sets that have a bound from this set, and the set itself, can lose by dropping it.
            bounded = self.covers[:, mask] & (score >= lower) | inside & (score + self.tolerance <= upper)
            rows, others = np.flatnonzero(bounded | (self.sets == mask)), trained[trained != mask]
            low, high = self.bounds(others, rows)
            if ((self.alpha * low >= high) | np.isin(self.sets[rows], others)).all():
                trained, lower[rows], upper[rows] = others, low, high
        return trained


def _inside(sets: Rows, masks: Rows) -> Bools:
    """Return which sets are strict subsets of which masks, shape ``(len(sets), len(masks))``."""
    small, large = sets.astype(np.int16)[:, None], masks.astype(np.int16)
    result: Bools = (small & ~large) == 0
    result &= small != large
    return result


def _first(table: Bools, values: Floats, missing: float) -> Floats:
    """Return the value of the first column that is true in each row; `missing` for a row without one."""
    if not values.size:
        return np.full(len(table), missing)
    result: Floats = np.where(table.any(axis=1), values[table.argmax(axis=1)], missing)
    return result


def _covers(prepared: Costs, sets: Rows, n_features: int) -> Bools:
    """Return which sets cover each of `sets`, shape ``(len(sets), n_sets)``.

    It goes from the full set down: a set covers every set that its supersets cover, so few pairs remain to be tested.
    """
    covers = np.zeros((len(prepared.weights), len(sets)), dtype=np.bool_)
    glances = _glances(prepared)
    theirs, seen = prepared.take(sets), glances[sets]
    for mask in reversed(range(len(covers))):
        for i in range(n_features):
            if not mask >> i & 1:
                covers[mask] |= covers[mask | 1 << i]
        left = np.flatnonzero(~covers[mask])
        left = left[(glances[mask] <= seen[left]).all(axis=1)]
        covers[mask, left] = theirs.take(left).covered_by(prepared, mask)
    return np.ascontiguousarray(covers.T)


def _glances(prepared: Costs) -> Floats:
    """Return numbers for a first comparison, a row for each set: if R covers S, none of R's exceeds that of S."""
    low, high = prepared.region.budgets
    if low == high:
        return -prepared.far[:, None]
    near, far = prepared.region.sizes
    sizes = np.clip(np.expm1(np.linspace(math.log1p(near), math.log1p(far), GLANCES)), near, far)
    costs = np.stack([costs_at_sizes(prepared.weights, np.full(len(prepared.weights), n)) for n in sizes], axis=1)
    result: Floats = np.where(costs > high, np.inf, np.maximum(costs, low))
    return result


def _disjoint(choices: Bools) -> int:
    """Count rows without a common column, picked greedily, those with the fewest columns first."""
    used, count = np.zeros(choices.shape[1], dtype=np.bool_), 0
    for row in np.argsort(np.count_nonzero(choices, axis=1), kind="stable").tolist():
        if not (used & choices[row]).any():
            used |= choices[row]
            count += 1
    return count


def _pick(choices: Bools, picked: Rows | None = None) -> Rows:
    """Pick columns until each row has one of them; each time the column that most of the remaining rows have."""
    columns: list[int] = [] if picked is None else picked.tolist()
    left = ~choices[:, columns].any(axis=1)
    gains = np.count_nonzero(choices[left], axis=0)
    while left.any():
        columns.append(int(gains.argmax()))
        rows = left & choices[:, columns[-1]]
        gains -= np.count_nonzero(choices[rows], axis=0)
        left &= ~rows
    return np.array(columns, dtype=np.intp)


def _check_scores(scores: Floats, n_features: int, alpha: float) -> None:
    if n_features > MAX_FEATURES:
        raise LatticeError(
            f"The fewest trainings can be bounded for at most {MAX_FEATURES} features. Got {n_features}. "
            "Give scores of fewer features."
        )
    ask(lambda _: scores, range(1 << n_features), alpha)
