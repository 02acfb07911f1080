"""Measurements on this machine. They are cached, so that a build that was killed does not repeat them."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from joblib import hash as content_hash

from polydom_builder.exceptions import BusyMachineWarning
from polydom_builder.training.cache import Cache, file_of, make_folder
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.measuring.conditions import identity
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.measuring.fingerprint import source_fingerprint
from polydom_runtime.measuring.item_sizes import chosen_items, drawn_items
from polydom_runtime.measuring.journal import FileJournal
from polydom_runtime.measuring.measure import measure
from polydom_runtime.measuring.session import MAX_ITEMS

from .sample_checks import warn_if_busy

MEASURED_SIZES, SECONDS = 12, 20.0


def measure_here(
    space: FeatureSpace, items: list[Any], quantile: float, seed: int, memory: Cache, bar: Any
) -> CostSamples:
    """Time the features on this machine, on items of all sizes and on some as they come; warn if it was busy meanwhile.

    `quantile`: the quantile that must be known well before the measurement may end early, from 0 to 1. `seed`: the seed
    of the order in which units are timed. `bar`: a progress bar with a total of 100.

    Raises `MeasurementError` if the items or the times do not allow a measurement.
    """
    of_sizes, as_they_come = chosen_items(space, items, MEASURED_SIZES), drawn_items(space, items, MAX_ITEMS, seed)
    chosen = [items[i] for i in sorted({*of_sizes, *as_they_come})]
    options: dict[str, Any] = {
        "n_sizes": MEASURED_SIZES,
        "seconds": SECONDS,
        "quantile": quantile,
        "seed": seed,
        "progress": lambda done: bar.update(round(100 * done) - bar.n),
    }
    if memory.folder is None:
        samples = measure(space, chosen, **options)
        warn_if_busy(samples)
        return samples
    key = source_fingerprint(space), identity(), content_hash(chosen), quantile, seed, MEASURED_SIZES, SECONDS
    file = file_of(memory.folder, "costs", key).with_suffix(".costs")
    samples = _kept(file, space, chosen, options)
    try:
        warn_if_busy(samples)
    except BusyMachineWarning:  # it is an error for the caller, who is going to measure again
        file.unlink(missing_ok=True)
        raise
    return samples


def _kept(file: Path, space: FeatureSpace, items: list[Any], options: dict[str, Any]) -> CostSamples:
    """Return the samples of a costs file, or measure and write it if there is none."""
    with suppress(MeasurementError):  # it is damaged
        if file.is_file() and set(space.names) <= set((found := load_costs(file)).units):
            return found
    make_folder(file.parent)
    with TemporaryDirectory(dir=file.parent) as folder:  # another build may measure at the same time
        written = Path(folder) / file.name
        samples = measure(space, items, journal=FileJournal(written), **options)
        written.replace(file)
    return samples
