"""Timing features on this machine as the predictor runs them; the raw samples are kept."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from .bundle import Bundle, StepEntry, step_users
from .clock import Clock, hardware_clock
from .costs import ZERO
from .exceptions import ItemError
from .features import FeatureSpace, read_only
from .pauses import collector_off, memory_kept
from .predictor import Predictor
from .stages import Stage

DISPATCH = "(dispatch)"
"""The unit that stands for an answer without any feature: clock, size, staircase, constant, answer."""


@dataclass(frozen=True, slots=True)
class CostSamples:
    """Raw times of every unit: shared steps, features (without their step), and `DISPATCH`.

    Parameters
    ----------
    units : tuple of str
    sizes : float array of shape (n_sizes,)
        Sizes of the items that were used, rising.
    seconds : float array of shape (n_units, n_sizes, n_rounds)
    """

    units: tuple[str, ...]
    sizes: NDArray[np.float64]
    seconds: NDArray[np.float64]

    def of(self, unit: str) -> NDArray[np.float64]:
        """Return the samples of one unit, shape ``(n_sizes, n_rounds)``."""
        samples: NDArray[np.float64] = self.seconds[self.units.index(unit)]
        return samples

    def save(self, file: str | Path) -> None:
        """Write the samples, to carry them from the node to the host."""
        with open(file, "wb") as stream:
            np.savez_compressed(stream, units=np.array(self.units), sizes=self.sizes, seconds=self.seconds)

    @classmethod
    def load(cls, file: str | Path) -> "CostSamples":
        """Read what `save` wrote; nothing is unpickled.

        Raises
        ------
        ItemError
            If the file is not one of cost samples.
        """
        try:
            with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as saved:
                units, sizes, seconds = saved["units"].tolist(), saved["sizes"], saved["seconds"]
        except (OSError, ValueError, KeyError, EOFError, AttributeError, BadZipFile) as e:
            raise ItemError(f"{file} must be a file of cost samples. Measure again. {e!r:.80}") from e
        if seconds.ndim != 3 or seconds.shape[:2] != (len(units), len(sizes)) or seconds.dtype.kind != "f":
            raise ItemError(f"{file} must hold times of units x sizes x rounds. Got shape {seconds.shape}.")
        return cls(tuple(units), sizes, seconds)


def measure(
    space: FeatureSpace,
    items: Sequence[Any],
    *,
    n_sizes: int = 12,
    rounds: int = 200,
    seconds: float = 20.0,
    seed: int = 0,
    clock: Clock = hardware_clock,
    progress: Callable[[float], None] = lambda fraction: None,
) -> CostSamples:
    """Time every shared step and feature at sizes spread over the items' range.

    Each round times every (unit, item) once, in an order drawn anew, so that heat and load hit all alike; a first
    round warms up and is not kept.

    Parameters
    ----------
    space : FeatureSpace
    items : sequence
    n_sizes : int
        How many sizes, evenly spread over log n between the smallest and the largest item.
    rounds : int
        Samples a unit and size.
    seconds : float
        Stop earlier when so much time is spent, but not before 10 rounds.
    seed : int
    clock : Clock
    progress : callable
        Told the fraction done.

    Raises
    ------
    ItemError
        If there are no items or one has an impossible size.
    FeatureError
        If a feature fails on one of the chosen items.
    """
    chosen = spread_by_size([checked_size(space, item) for item in items], n_sizes)
    sizes = np.array([float(space.size(items[i])) for i in chosen])
    jobs: list[tuple[int, int, Callable[[], object]]] = []
    for column, i in enumerate(chosen):
        jobs += [(unit, column, job) for unit, job in enumerate(_jobs(space, items[i], clock))]
    units = (*(s.name for s in space.steps), *space.names, DISPATCH)
    samples = np.full((rounds, len(units), len(sizes)), np.nan)
    rng = np.random.default_rng(seed)
    with collector_off(), memory_kept():
        began, done = clock(), 0
        for _, _, job in jobs:
            job()
        for k in range(rounds):
            for j in rng.permutation(len(jobs)):
                unit, column, job = jobs[j]
                start = clock()
                job()
                samples[k, unit, column] = (clock() - start) * 1e-9
            done = k + 1
            spent = (clock() - began) * 1e-9
            progress(max(done / rounds, min(spent / seconds, 1.0)))
            if spent > seconds and done >= 10:
                break
    return CostSamples(units, sizes, np.ascontiguousarray(samples[:done].transpose(1, 2, 0)))


def checked_size(space: FeatureSpace, item: Any) -> float:
    """Return the size of an item; ItemError unless it is a positive, finite number."""
    try:
        n = float(space.size(item))
    except Exception as e:
        raise ItemError(f"The space's size function must work on every item. It raised {e!r}.") from e
    if not 0.0 < n < math.inf:
        raise ItemError(f"The size of an item must be a positive, finite number. Got {n}. Drop empty items first.")
    return n


def spread_by_size(sizes: Sequence[float], count: int) -> list[int]:
    """Return positions of up to `count` items of different sizes, evenly spread over log n, smallest first.

    >>> spread_by_size([100.0, 1.0, 90.0, 10.0], 3)
    [1, 3, 0]
    """
    if not sizes:
        raise ItemError("There must be at least one item. Got none.")
    logs = np.log(sizes)
    targets = np.linspace(logs.min(), logs.max(), count)
    nearest = [int(np.abs(logs - t).argmin()) for t in targets]
    return list({sizes[i]: i for i in nearest}.values())


def _jobs(space: FeatureSpace, item: Any, clock: Clock) -> list[Callable[[], object]]:
    """Return what times each unit on one item, in the order of the units."""
    space.extract_all(item)  # says which feature fails, if one does
    item = read_only(item)
    values = [step.compute(item) for step in space.steps]
    row = np.zeros(max(space.widths), dtype=np.float32)
    slots = [-1 if f.step is None else space.steps.index(f.step) for f in space.features]
    stages = [Stage(f, slot, False, row, 0) for f, slot in zip(space.features, slots, strict=True)]
    nothing = Predictor(_without_models(space), space, clock=clock, keep_memory=False)
    return [
        *(partial(step.compute, item) for step in space.steps),
        *(partial(stage.run, item, values) for stage in stages),
        partial(nothing.predict_one, item),
    ]


def _without_models(space: FeatureSpace) -> Bundle:
    return Bundle(
        names=space.names,
        widths=space.widths,
        classes=(0, 1),
        sizes=(0.0, math.inf),
        budgets=(1.0, 1.0),
        alpha=1.0,
        tolerance=0.0,
        costs=(ZERO,) * len(space),
        steps=tuple(StepEntry(name, users, ZERO) for name, users in step_users(space)),
        dispatch=ZERO,
        prior=(0, 0.5),
    )
