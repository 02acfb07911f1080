"""Measurements on this machine. They are cached, so that a build that was killed does not repeat them."""

import warnings
from typing import Any

from joblib import Memory
from joblib import hash as content_hash

from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.answering import MAX_ITEMS
from polydom_runtime.measuring.conditions import identity
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.disturbances import BUSY
from polydom_runtime.measuring.fingerprint import source_fingerprint
from polydom_runtime.measuring.item_sizes import chosen_items, drawn_items
from polydom_runtime.measuring.measure import measure

N_SIZES, SECONDS = 12, 20.0


def measure_here(
    space: FeatureSpace, items: list[Any], quantile: float, seed: int, memory: Memory, bar: Any
) -> CostSamples:
    """Time the features on this machine, on items of all sizes and on some as they come; warn if it was busy meanwhile.

    Parameters
    ----------
    space : FeatureSpace
    items : list
    quantile : float
        The quantile that must be known well before the measurement may end early, from 0 to 1.
    seed : int
        The seed of the order in which units are timed.
    memory : Memory
        The cache.
    bar : tqdm
        A progress bar with a total of 100.

    Raises
    ------
    MeasurementError
        If the items or the times do not allow a measurement.
    """
    of_sizes, as_they_come = chosen_items(space, items, N_SIZES), drawn_items(space, items, MAX_ITEMS, seed)
    chosen = [items[i] for i in sorted({*of_sizes, *as_they_come})]
    # The cache writes down what is in its key; to write many items can take so long that joblib warns.
    cached = memory.cache(_measure, ignore=["space", "items", "bar"])
    key = source_fingerprint(space), identity(), content_hash(chosen)
    samples: CostSamples = cached(space, *key, chosen, quantile, seed, bar)
    for warning in samples.warnings:
        if warning.startswith(BUSY):
            warnings.warn(warning, stacklevel=2)
    return samples


def _measure(
    space: FeatureSpace,
    source: str,
    machine: dict[str, Any],
    content: str,
    items: list[Any],
    quantile: float,
    seed: int,
    bar: Any,
) -> CostSamples:
    """Measure. The key of the cache is what the times depend on: `source`, `machine` and the `content` of the items."""
    return measure(
        space,
        items,
        n_sizes=N_SIZES,
        seconds=SECONDS,
        quantile=quantile,
        seed=seed,
        progress=lambda done: bar.update(round(100 * done) - bar.n),
    )
