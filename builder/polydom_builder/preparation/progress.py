"""Progress bars of a search."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tqdm import tqdm

from polydom_builder.lattice.by_gain import Step
from polydom_builder.training.trainer import Trainer

from .remaining import trainings_left


@contextmanager
def progress_bar(verbose: int, what: str, total: int | None, unit: str = "") -> Iterator[Any]:
    """Show progress if `verbose` and standard error is a terminal.

    `verbose`: 0 shows nothing. `what`: the words before the bar. `total`: the count at the end, if it is known. `unit`:
    the unit of the count.
    """
    with tqdm(desc=f"{what:>20}", total=total, unit=unit, disable=None if verbose else True) as bar:
        yield bar


@dataclass
class SearchProgress:
    """What a search has found so far, and how long it may take.

    Examples
    --------
    >>> progress = SearchProgress(max_trainings=40, clock=iter([0.0, 60.0]).__next__)
    >>> progress.add([0.81, 0.9])
    >>> progress.steps.append(Step(2, gain=0.01, possible=0.034, noise=0.01, worth=0.001))
    >>> print(progress)
    best score 0.900, a set may score 0.034 more, at most 19 min left
    """

    max_trainings: int | None = None
    max_seconds: float | None = None
    """The limits of the search."""
    clock: Callable[[], float] = time.monotonic
    """Returns the time in seconds."""
    steps: list[Step] = field(default_factory=list)

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


@contextmanager
def counted_scores(
    trainer: Trainer, verbose: int, max_trainings: int | None = None, max_seconds: float | None = None
) -> Iterator[tuple[Callable[[list[int]], list[float]], Callable[[Step], None]]]:
    """Provide the scores of sets, counted on a progress bar if `verbose`; and what is told each step of a search."""
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
