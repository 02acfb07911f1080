"""What each feature, step and model takes alone, beside the costs of whole sets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .costs import CostFunction

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class UnitTimes:
    """Times of every unit at one quantile.

    A bundle has them three times: what is typical, by which a slow-down is told; what is expected, which the any-time
    policy plans with; and what each unit alone seldom exceeds, which it leaves time for before it starts one. The
    bundle's own costs are the worst case of sums.

    Parameters
    ----------
    features : tuple of CostFunction
        Without their steps.
    steps : tuple of CostFunction
    dispatch : CostFunction
    model : float
        A model's time divided by the worst case that its entry states.
    """

    features: tuple[CostFunction, ...]
    steps: tuple[CostFunction, ...]
    dispatch: CostFunction
    model: float = 1.0

    def part(self, features: Sequence[int], steps: Sequence[int]) -> "UnitTimes":
        """Return the times of some features and steps, in these orders."""
        chosen = tuple(self.features[i] for i in features), tuple(self.steps[i] for i in steps)
        return UnitTimes(*chosen, self.dispatch, self.model)


class SetTimes:
    """The times of sets, from those of their units: sums of weights, for many sets at once.

    Parameters
    ----------
    times : UnitTimes
    users : sequence of int
        For each step the mask of the features that use it.
    """

    def __init__(self, times: UnitTimes, users: tuple[int, ...]) -> None:
        self._features = _matrix(times.features)
        self._steps = _matrix(times.steps)
        self._users = np.array(users, dtype=np.int64)
        self._bits = np.int64(1) << np.arange(len(times.features), dtype=np.int64)
        self.dispatch = np.array(times.dispatch.weights)
        self.model = times.model

    def added(self, done: int | NDArray[np.int64], masks: NDArray[np.int64]) -> Weights:
        """Return what the features of each set cost beyond those in `done`, shape ``(n_sets, 6)``; without a model."""
        done = np.broadcast_to(np.asarray(done, dtype=np.int64), masks.shape)[:, None]
        wanted = (masks[:, None] & ~done & self._bits) != 0
        due = ((masks[:, None] & self._users) != 0) & ((self._users & done) == 0)
        weights: Weights = wanted @ self._features + due @ self._steps
        return weights


def _matrix(costs: tuple[CostFunction, ...]) -> Weights:
    return np.array([cost.weights for cost in costs]).reshape(len(costs), 6)
