"""The mean score of a bundle that ships some of its models, by the definition."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from polydom_runtime.bundles.bundle import Bundle


def mean_score_of(
    bundle: Bundle, sizes: Sequence[float], deadlines: Sequence[float]
) -> Callable[[Iterable[int]], float]:
    """Return a function of the numbers of some models: the mean score of the best of them that fits, or of none."""
    found = [bundle.candidate(number) for number in range(len(bundle.models))]
    times = np.array([[c.cost(size) for size in sizes] for c in found])
    fits = times[:, :, None] <= np.array(deadlines)
    scores = np.where(fits, np.array([c.accuracy for c in found])[:, None, None], bundle.prior.accuracy)

    def mean_score(numbers: Iterable[int]) -> float:
        return float(scores[list(numbers)].max(axis=0, initial=bundle.prior.accuracy).mean())

    return mean_score
