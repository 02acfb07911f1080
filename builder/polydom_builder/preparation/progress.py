"""Progress bars of a search."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from polydom_builder.training.trainer import Trainer


@contextmanager
def progress_bar(verbose: int, what: str, total: int | None, unit: str = "") -> Iterator[Any]:
    """Show progress if `verbose` and standard error is a terminal.

    Parameters
    ----------
    verbose : int
        0 shows nothing.
    what : str
        The words before the bar.
    total : int or None
        The count at the end, if it is known.
    unit : str
        The unit of the count.
    """
    with tqdm(desc=f"{what:>20}", total=total, unit=unit, disable=None if verbose else True) as bar:
        yield bar


@contextmanager
def counted_scores(
    trainer: Trainer, verbose: int
) -> Iterator[tuple[Callable[[list[int]], list[float]], Callable[[float], None]]]:
    """Provide the scores of sets, counted on a progress bar if `verbose`; and what shows there what may be missing."""
    with progress_bar(verbose, "feature sets trained", None) as bar:

        def score(masks: list[int]) -> list[float]:
            scores = trainer.scores(masks)
            bar.update(len(masks))
            return scores

        yield score, lambda loss: bar.set_postfix_str(f"the best may be better by {loss:.3f}", refresh=False)
