"""The allowance: time added once to each answer, so that whole answers keep the promise.

A worst case of a set is made from a moderate quantile of each unit and the allowance. A high quantile of each unit
would be too careful: a pause of the machine happens once in an answer, and every feature would have to leave time for
it, so that almost no feature would fit a short deadline.

The allowance is found from sums. Each round of a measurement times all units within a short time, so the sum over the
units of a set in one round is a sample of a whole answer, with the pauses and the slow spells that its units share. At
a high quantile of these sums (see `polydom_runtime.measuring.tails`), the excess over the sum of the units' times is
bounded by a constant plus a share of that sum. So the worst case of a set is a sum over its units again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog

from polydom_builder.exceptions import FitError
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import CostFunction
from polydom_runtime.measuring.tails import pooled_quantile

GROUPS = 24
"""Answers are grouped by their planned time. Only in a large group of equally long answers can a rare pause be counted
at its true rate."""

TINY = 1e-12
"""Seconds; avoids a division by zero."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The time added to the planned time t of any set: ``constant + share * t``, in seconds."""

    constant: float
    share: float

    def worst_cases(self, times: UnitTimes) -> UnitTimes:
        """Return the times of units as parts of worst cases, with the allowance in their sums.

        These are not a quantile of single units, and each model states its own time.
        """
        longer = times.scaled(1.0 + self.share)
        after = longer.after + CostFunction.of(self.constant)  # so it is kept until the end, whatever takes its time
        return replace(longer, after=after, model=None, quantile=0.0)


def find_allowance(
    planned: Floats,
    times: Floats,
    users: Sequence[int | None],
    features: Sequence[int],
    quantile: float,
    *,
    n_stated: int = 0,
) -> Allowance:
    """Return the least allowance with which the sums of a round exceed their planned time as rarely as promised.

    The sets tried are the empty set, each single feature, the k cheapest features and the k dearest, for every k.

    `planned` (shape (n_units, n_sizes)): the planned time of each unit. `times` (shape (n_units, n_sizes, n_rounds)):
    the samples of these times. `users`: the bit mask of the features that need each unit; None if every answer does,
    even one without features. `features`: the number of the unit of each feature. `quantile`: the promised share of
    answers in time, from 0 to 1. `n_stated`: the number of units at the end that state their own time: the share is not
    taken of theirs.

    Raises `FitError` if the solver finds no allowance.
    """
    beyond, shared = times - planned[:, :, None], len(planned) - n_stated
    seconds, excess = [], []
    for chosen in _sets([float(np.median(planned[unit])) for unit in features]):
        units = [unit for unit, mask in enumerate(users) if mask is None or mask & chosen]
        seconds.append(planned[[unit for unit in units if unit < shared]].sum(axis=0))
        excess.append(beyond[units].sum(axis=0))
    t, e = np.concatenate(seconds), np.concatenate(excess)
    # Equally long answers are dealt out at random, alike on every processor: a group of one set counts only its pauses.
    groups = np.array_split(np.lexsort((np.random.default_rng(0).permutation(len(t)), t)), min(GROUPS, len(t)))
    middle = np.array([np.median(t[group]) for group in groups])
    needed = np.array([pooled_quantile(e[group], quantile) for group in groups])
    cover = _cover(middle, np.maximum(needed, 0.0))
    # In a group, sets without an unsteady feature may outnumber those with it. So each set must keep the promise too.
    shares = [
        np.quantile(mine / np.maximum(cover.constant + cover.share * time, TINY)[:, None], quantile)
        for time, mine in zip(seconds, excess, strict=True)
    ]
    scale = float(max(1.0, *shares)) if cover.constant + cover.share > 0.0 else 1.0
    return Allowance(scale * cover.constant, scale * cover.share)


def _cover(t: Floats, needed: Floats) -> Allowance:
    """Return the allowance with constant + share * t >= needed and the least excess, relative to t + needed, summed."""
    scale = t.max()
    rows = np.stack([np.ones_like(t), t / scale], axis=1)
    solution = linprog(
        (rows * (scale / (t + needed))[:, None]).sum(axis=0),
        A_ub=-rows,
        b_ub=-needed / scale,
        bounds=(0.0, None),
        method="highs",
    )
    if not solution.success or solution.x is None:
        raise FitError(f"The allowance must have a solution. The solver said: {solution.message}. Measure again.")
    constant, share = solution.x * [scale, 1.0]
    return Allowance(float(constant), float(share))


def _sets(seconds: Sequence[float]) -> Iterator[int]:
    """Yield the empty set, single features, and growing sets from either end of the features' order by time."""
    rising = sorted(range(len(seconds)), key=seconds.__getitem__)
    yield 0
    yield from (1 << f for f in rising)
    for order in (rising, rising[::-1]):
        for k in range(2, len(rising) + 1):
            yield sum(1 << f for f in order[:k])
