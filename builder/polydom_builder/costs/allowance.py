"""What an answer needs beyond the costs of its parts, so that the answer as a whole keeps its promise.

Each unit is planned at a moderate quantile. Were each planned at a high one, a pause of the machine, which hits an
answer once, would be paid for by every feature of a set, and short deadlines would hold almost none. Every round of a
measurement timed all units within moments, so the sums over a set's units in one round are samples of whole answers,
with the pauses and the slow spells that units share. Their high quantile (see `polydom_runtime.measuring.tails`)
is covered by a constant and a share of the planned time, which is again a sum over units.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from polydom_builder.exceptions import FitError
from polydom_runtime.arrays import Floats
from polydom_runtime.costs import CostFunction
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples
from polydom_runtime.measuring.tails import tail_quantile
from polydom_runtime.unit_times import UnitTimes

from .fit_times import REFERENCE_MODEL, reference_times

GROUPS = 24
"""Sets and sizes are grouped by their planned time: a rare pause must be counted among all answers that are as long."""

TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is added to the planned time t of any set: ``constant + share * t``, in seconds."""

    constant: float
    share: float

    def added_to(self, times: UnitTimes) -> UnitTimes:
        """Return the times of units whose sums hold the allowance."""
        return times.scaled(1.0 + self.share).plus_dispatch(CostFunction.of(self.constant))


def allowance_of(space: FeatureSpace, samples: CostSamples, planned: UnitTimes, quantile: float) -> Allowance:
    """Find the allowance for whole answers, each with a run of the reference model if it has features.

    Parameters
    ----------
    space : FeatureSpace
    samples : CostSamples
    planned : UnitTimes
        The times of single units that are planned.
    quantile : float
        The promised share of answers that take no longer than planned.
    """
    seconds = dict(zip(samples.units, samples.seconds, strict=True))
    model = np.broadcast_to(samples.kernels[REFERENCE_MODEL], samples.seconds.shape[1:])
    stated = CostFunction.of(reference_times(samples.kernels)[REFERENCE_MODEL])
    costs = [*planned.terms, planned.dispatch, stated]
    return find_allowance(
        np.array([[cost(n) for n in samples.sizes] for cost in costs]),
        np.stack([*(seconds[name] for name in (*planned.names, DISPATCH)), model]),
        [*(1 << f for f in range(len(space))), *planned.users, None, (1 << len(space)) - 1],
        range(len(space)),
        quantile,
    )


def find_allowance(
    planned: Floats, times: Floats, users: Sequence[int | None], features: Sequence[int], quantile: float
) -> Allowance:
    """Return the least allowance with which sums of a round exceed the plan as rarely as promised.

    Sets tried are all features cheapest first and dearest first, cut off anywhere, and each feature alone.

    Parameters
    ----------
    planned : float array of shape (n_units, n_sizes)
        The planned time of each unit.
    times : float array of shape (n_units, n_sizes, n_rounds)
        Their samples.
    users : sequence of int or None
        For each unit the bit mask of the features that need it; None if every answer does, also that without features.
    features : sequence of int
        The unit of each feature.
    quantile : float
        One minus the promised rate.
    """
    beyond = times - planned[:, :, None]
    seconds, excess = [], []
    for chosen in _sets([float(np.median(planned[unit])) for unit in features]):
        units = [unit for unit, mask in enumerate(users) if mask is None or mask & chosen]
        seconds.append(planned[units].sum(axis=0))
        excess.append(beyond[units].sum(axis=0))
    t, e = np.concatenate(seconds), np.concatenate(excess)
    groups = np.array_split(np.argsort(t), min(GROUPS, len(t)))
    middle = np.array([np.median(t[group]) for group in groups])
    needed = np.array([tail_quantile(e[group].reshape(1, -1), quantile)[0] for group in groups])
    cover = _cover(middle, np.maximum(needed, 0.0))
    # A group may hide one unsteady feature among sets without it, so each set must keep the promise over its sizes too.
    shares = [
        np.quantile(mine / np.maximum(cover.constant + cover.share * time, TINY)[:, None], quantile)
        for time, mine in zip(seconds, excess, strict=True)
    ]
    scale = float(max(1.0, *shares)) if cover.constant + cover.share > 0.0 else 1.0
    return Allowance(scale * cover.constant, scale * cover.share)


def _cover(t: Floats, needed: Floats) -> Allowance:
    """Minimise the summed slack, as a share of the whole time needed, subject to constant + share * t >= needed."""
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
