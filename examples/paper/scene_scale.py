"""The scale of the experiments on photographs."""

from dataclasses import dataclass, field

from . import scene_lattice
from .scene_lattice import Plan


@dataclass(frozen=True, slots=True)
class Scale:
    """The amount of work in the experiments.

    Parameters
    ----------
    plan : Plan
        The photos and features of the lattice.
    rounds, seconds
        The greatest number of samples and the longest time to measure costs.
    alphas, tolerances : tuple of float
        α and e.
    budgets, queries, timed, drawn : int
        Numbers of budgets at each size, of queries to test the promise with, of lookups to time, of sets to compare.
    """

    plan: Plan = field(default_factory=Plan)
    rounds: int = 400
    seconds: float = 60.0
    alphas: tuple[float, ...] = (1.0, 1.02, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5)
    tolerances: tuple[float, ...] = (0.0, 0.005, 0.01, 0.02, 0.05, 0.075)
    budgets: int = 40
    queries: int = 10_000
    timed: int = 300
    drawn: int = 1_000


QUICK = Scale(scene_lattice.QUICK, 12, 3.0, (1.0, 1.1, 1.2, 1.3), (0.0, 0.05), 10, 400, 40, 16)
