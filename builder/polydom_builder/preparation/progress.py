"""Progress bars of a search."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm import tqdm

from polydom_builder.lattice.by_gain import SearchStep
from polydom_builder.training.trainer import Trainer

FEWEST = 6
"""The fewest steps from which an estimate is made."""


@contextmanager
def progress_bar(verbose: int, what: str, total: int | None, unit: str = "") -> Iterator[Any]:
    """Show progress towards a total, with these words before it, if `verbose` and standard error is a terminal."""
    with tqdm(desc=f"{what:>20}", total=total, unit=unit, disable=None if verbose else True) as bar:
        yield bar


@dataclass
class SearchProgress:
    """What a search has found so far, and how long it may take.

    Examples
    --------
    >>> progress = SearchProgress(max_trainings=40, clock=iter([0.0, 60.0]).__next__)
    >>> progress.add([0.81, 0.9])
    >>> progress.steps.append(SearchStep(2, gain=0.01, possible=0.034, noise=0.01, worth=0.001))
    >>> print(progress)
    best score 0.900, a set may score 0.034 more, at most 19 min left
    """

    max_trainings: int | None = None
    max_seconds: float | None = None
    """`max_trainings`, `max_seconds`: the limits of the search."""
    clock: Callable[[], float] = time.monotonic
    """Returns the time in seconds."""
    steps: list[SearchStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began, self._best, self._n = self.clock(), -math.inf, 0

    def add(self, scores: list[float]) -> None:
        """Count sets that were trained, with these scores."""
        self._best, self._n = max(self._best, *scores), self._n + len(scores)

    def __str__(self) -> str:
        parts = [f"best score {self._best:.3f}"] if self._n else []
        if self.steps:
            parts.append(f"a set may score {self.steps[-1].possible:.3f} more")
        return ", ".join([*parts, *filter(None, [self._time_left()])])

    def _time_left(self) -> str:
        spent = self.clock() - self._began
        guessed = trainings_left(self.steps)
        limits = [] if self.max_seconds is None else [self.max_seconds - spent]
        if self._n:
            each = spent / self._n
            limits += [] if self.max_trainings is None else [(self.max_trainings - self._n) * each]
            if guessed is not None and guessed * each <= min(limits, default=math.inf):
                return f"about {_rounded(guessed * each)} left"
        return f"at most {_rounded(max(min(limits), 0.0))} left" if limits else ""


def trainings_left(steps: Sequence[SearchStep]) -> int | None:
    """Return about how many trainings a search still needs until no gain is worth one; None if that is not foreseeable.

    Gains fall by about the same factor with each training, in the mean over many. The factor is that of the later half
    of the steps, by least squares. It is a guess for people: gains jump, and the true number is often half or twice it.

    Examples
    --------
    Each training halves the gain; from 2⁻⁸ on it is not worth one, after two more trainings:

    >>> trainings_left([SearchStep(k, 0.5**k, 0.1, 0.01, worth=2**-8) for k in range(7)])
    2
    >>> trainings_left([SearchStep(k, 0.1, 0.1, 0.01, worth=2**-8) for k in range(7)]) is None
    True
    """
    later = steps[len(steps) // 2 :]
    if len(steps) < FEWEST or min(step.worth for step in later) <= 0.0:
        return None
    counts = np.array([step.n_trained for step in later], dtype=np.float64)
    # A gain of 0 would be minus infinity; what is below the worth needs no more trainings in any case.
    above = np.array([math.log(max(step.gain / step.worth, 0.5)) for step in later])
    slope, start = np.polyfit(counts, above, 1)
    if slope >= -1e-6:
        return None
    return max(math.ceil(round(float(-start / slope - counts[-1]), 9)), 1)


@contextmanager
def counted_scores(
    trainer: Trainer, verbose: int, max_trainings: int | None = None, max_seconds: float | None = None
) -> Iterator[tuple[Callable[[list[int]], list[float]], Callable[[SearchStep], None]]]:
    """Yield a function that scores sets, counted on a progress bar if `verbose`, and one to call with each step."""
    progress = SearchProgress(max_trainings, max_seconds)
    with progress_bar(verbose, "feature sets trained", None) as bar:

        def score(masks: list[int]) -> list[float]:
            scores = trainer.scores(masks)
            if scores:
                progress.add(scores)
            bar.set_postfix_str(str(progress), refresh=False)
            bar.update(len(masks))
            return scores

        yield score, progress.steps.append


def _rounded(seconds: float) -> str:
    """Return a duration as people say it.

    >>> [_rounded(seconds) for seconds in (0.4, 42.0, 600.0, 9000.0)]
    ['1 s', '42 s', '10 min', '2.5 h']
    """
    if seconds < 90.0:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60.0)} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"
