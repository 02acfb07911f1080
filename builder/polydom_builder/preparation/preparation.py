"""The first steps of every search: the costs of the target device, the features of the items, the trainer."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.costs.host_measurement import measure_here
from polydom_builder.costs.model_timers import ModelTimer, model_timer
from polydom_builder.costs.sample_checks import check_coverage, warn_if_busy
from polydom_builder.costs.target import Target
from polydom_builder.exceptions import TrainingError
from polydom_builder.preselection import BlockSelector
from polydom_builder.sets.region import QueryRegion
from polydom_builder.training.conversion import converted_models
from polydom_builder.training.copies import telling_digests, warn_of_copies
from polydom_builder.training.families import Family, named
from polydom_builder.training.fingerprints import data_fingerprint
from polydom_builder.training.onnx import OnnxVersions
from polydom_builder.training.table import Table, extract_table
from polydom_builder.training.trainer import Trainer
from polydom_runtime.bundles.number_types import common_type
from polydom_runtime.bundles.references import MAX_ITEMS, RELATIVE, References, Stored, restored, stored
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.causes import shown
from polydom_runtime.costs import CostFunction, format_seconds
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.features import FeatureSpace, ItemKind
from polydom_runtime.items.digests import kept_digests
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.policy.deadline import too_short_for

from .doubts import typed_items, unsteady_features
from .inputs import Inputs, checked_inputs
from .progress import progress_bar
from .settings import NamedSettings
from .short_run import tried_out

MODEL_MARGIN = 1.2
"""This factor times the measured time of the full set's model bounds the time of every model during the search."""


N_REFERENCES = 3
"""More find hardly more, and a node computes all of them when it starts."""

LONG_DEADLINE, IDLE_FACTOR = 1.0, 100.0
"""A deadline over `LONG_DEADLINE` seconds, and `IDLE_FACTOR` times as long as all features, looks like milliseconds."""


@dataclass(frozen=True)
class Prepared:
    """The results of the preparation, from which a search starts; see its attributes in `PolyDomSearch`."""

    space: FeatureSpace
    dropped: dict[str, str]
    region: QueryRegion
    sizes: list[float]
    """The sizes that are expected on the node."""
    samples: CostSamples | None
    target: Target
    families: tuple[Family, ...]
    """One family for each estimator, in the order in which they were given. The times of their models follow from that
    of the full set: only this one can be timed before the search."""
    timer: ModelTimer
    references: References
    item_kind: ItemKind | None
    data: str
    """SHA-256 of items and labels, in hexadecimal."""


def prepare(
    search: NamedSettings, items: Sequence[Any], labels: Sequence[Any], groups: Any, costs: Any, sample_weight: Any
) -> Prepared:
    """Check the parameters, measure costs, extract features, pre-select, and try an export before the long training.

    `items`, `labels`, `groups`, `costs`, `sample_weight`, and errors: as in `PolyDomSearch.fit`.
    """
    labels = [*labels] if isinstance(labels, Iterator) else labels  # they are read again, for the digest of the data
    given = checked_inputs(search, items, labels, groups, sample_weight)
    sure, region = search.settings.answers.is_sure, given.region
    most, mismatches = search.settings.limits.max_features, search.settings.limits.max_mismatches
    # Given costs are checked at once; before a measurement all features are tried on all items.
    here = costs is None or isinstance(costs, DeviceProfile)
    known = None if here else _target(search, given, costs)
    with progress_bar(search.verbose, "features", len(given.items)) as bar:
        table = extract_table(
            given.space, given.items, given.targets, n_jobs=search.n_jobs, memory=given.memory, progress=bar.update
        )
    trainers, tried = given.trainers(table), OnnxVersions()
    digests = telling_digests(given.items)
    warn_of_copies(digests, table.rows, given.targets, next(iter(trainers.values())).splits)
    if known is None:
        trainers = tried_out(trainers, tried, mismatches, sure, most)
    target, samples = known or _target(search, given, costs)
    space, target, table, dropped = _preselected(search.space, most, target, table, region)
    if known or dropped or target.versions != tried:
        trainers = {name: replace(trainer, table=table, names=space.names) for name, trainer in trainers.items()}
        trainers = tried_out(trainers, target.versions, mismatches, sure)
    first, seed = next(iter(trainers.values())), search.random_state or 0
    timer = model_timer(target, space, given.items, first, seed, region.typical_size, sure)
    target, families = _timed(trainers, target, timer, region.typical_size, mismatches)
    model_seconds = min(family.seconds for family in families)
    _check_reachable(region, target, model_seconds)
    _warn_of_milliseconds(region, target, model_seconds)
    references = references_of(space, given.items, given.sizes, table.rows)._replace(seen=kept_digests(digests))
    return Prepared(
        *(space, dropped, region, given.expected, samples, target, families, timer, references, given.kind),
        data_fingerprint(given.items, labels),
    )


def _target(search: NamedSettings, given: Inputs, costs: Any) -> tuple[Target, CostSamples | None]:
    if isinstance(costs, UnitTimes):
        return Target.given(search.space, costs), None
    if not (costs is None or isinstance(costs, CostSamples | DeviceProfile)):
        raise TrainingError(
            f"costs must be CostSamples, a DeviceProfile, or UnitTimes. Got {shown(costs)}. Write load_costs(file) for "
            "a costs file, DeviceProfile.named(name) for a profile."
        )
    if isinstance(costs, CostSamples):
        samples = costs
        warn_if_busy(samples)
    else:
        with progress_bar(search.verbose, "costs measured", 100, unit="%") as bar:
            samples = measure_here(
                search.space, given.items, search.quantile, search.random_state or 0, given.memory, bar
            )
    check_coverage(samples, given.sizes, given.region.sizes)
    if isinstance(costs, DeviceProfile):
        return Target.estimated(search.space, samples, costs, search.quantile), samples
    return Target.measured(search.space, samples, search.quantile), samples


def _preselected(
    space: FeatureSpace, most: int | None, target: Target, table: Table, region: QueryRegion
) -> tuple[FeatureSpace, Target, Table, dict[str, str]]:
    """Return the features of the lattice, their costs and table, and the reason for each feature that was dropped."""
    if most is None or most >= len(space):
        return space, target, table, {}
    prices = [_price(target.worst, i)(region.typical_size) for i in range(len(space))]
    selector = BlockSelector(
        space.column_slices(), most, prices, task="classification" if len(table.classes) else "regression"
    ).fit(table.rows, table.targets)
    chosen = sorted(selector.support_blocks_.tolist())
    if not chosen:
        raise TrainingError("The pre-selection must find at least one informative feature. It found none.")
    columns = np.concatenate([table.columns[i] for i in chosen])
    part = space.part([space.names[i] for i in chosen])
    rows = np.ascontiguousarray(table.rows[:, columns])
    table = Table(rows, table.classes, table.targets, tuple(np.arange(s.start, s.stop) for s in part.column_slices()))
    dropped = {space.names[i]: reason for i, reason in selector.dropped_.items()}
    return part, target.part(chosen), table, dropped


def _price(times: UnitTimes, feature: int) -> CostFunction:
    """Return the cost of one feature by itself, with its steps."""
    return sum((s.cost for s in times.steps if s.users >> feature & 1), times.features[feature])


def _timed(
    trainers: dict[str, Trainer], target: Target, timer: ModelTimer, size: float, max_mismatches: int
) -> tuple[Target, tuple[Family, ...]]:
    """Return the families; and the target, with times after a sleep of models of the first one."""
    families: list[Family] = []
    for name, trainer in trainers.items():
        with named(name):
            timed, seconds = _with_model_times(trainer, target, timer, size, max_mismatches)
        target = target if families else timed
        families.append(Family(name, trainer, seconds))
    return target, tuple(families)


def _with_model_times(
    trainer: Trainer, target: Target, timer: ModelTimer, size: float, max_mismatches: int
) -> tuple[Target, float]:
    """Time two models; return the target with times of models after a sleep, and a bound for all models.

    The bound follows from the model of all features. After a sleep the one of the quickest feature is timed: the more
    features run before a model, the more of its code they make warm.
    """
    if target.worst.model is not None:
        return target, target.worst.model
    everything = tuple(range(len(trainer.table.columns)))
    quickest = min(everything, key=lambda feature: _price(target.worst, feature)(size))
    orders = everything, (quickest,)
    models = [*zip(orders, converted_models(trainer, orders, target.versions, max_mismatches), strict=True)]
    time, after_one = timer(models)
    sleeps = {name: regime.asleep for name, regime in target.regimes.items()}
    added = timer.after_sleep((*models[1], after_one.engine), sleeps)
    regimes = {name: target.regimes[name].with_model_added(constant) for name, constant in added.items()}
    return replace(target, regimes={**target.regimes, **regimes}), MODEL_MARGIN * time.seconds


def _warn_of_milliseconds(region: QueryRegion, target: Target, model_seconds: float) -> None:
    """Warn if a deadline of more than a second leaves nothing to choose: it may be meant in milliseconds."""
    longest = region.budgets[1]
    everything = target.worst.of_set((1 << target.worst.n_features) - 1)(region.sizes[1]) + model_seconds
    if max(LONG_DEADLINE, IDLE_FACTOR * everything) < longest < np.inf:
        warnings.warn(
            f"Deadlines are in seconds: 0.002 is 2 ms. The deadline of {longest:g} s is more than {IDLE_FACTOR:g} "
            f"times the time of all features, {format_seconds(everything)}.",
            stacklevel=4,
        )


def _check_reachable(region: QueryRegion, target: Target, model_seconds: float) -> None:
    longest, size = region.budgets[1], region.sizes[0]
    worst = target.worst.dispatch(size) + model_seconds
    if longest <= worst:
        median = min(target.planned.items(), default=(0.0, target.worst))[1]
        typical = median.dispatch(size) + median.model_ratio * model_seconds
        what, other = "dispatch and one model run", "a quicker estimator"
        raise DeadlineError(too_short_for(what, longest, typical=typical, worst=worst, or_else=other))


def references_of(
    space: FeatureSpace, items: Sequence[Any], sizes: Sequence[float], rows: NDArray[np.float32]
) -> References:
    """Return reference items, the smallest ones that differ in all features, and those that show types of numbers.

    There are none if items cannot be stored. `rows` (shape (n_items, sum of widths)): their features.
    """
    spreads = rows.std(axis=0, dtype=np.float64)
    unsteady = unsteady_features(space, items, sizes, spreads)
    limits = RELATIVE * spreads + np.finfo(np.float32).tiny
    for name, columns in zip(space.names, space.column_slices(), strict=True):
        if name in unsteady:
            limits[columns] = np.inf
    chosen: dict[tuple[float, ...], Stored] = {}
    telling = typed_items(space, items, rows, limits)[: MAX_ITEMS - N_REFERENCES]
    for k in [*telling, *np.argsort(sizes, kind="stable").tolist()]:
        if len(chosen) == N_REFERENCES + len(telling):
            break
        if (item := stored(items[k])) is not None:
            chosen.setdefault(tuple(rows[k].tolist()), item)
    for row, item in chosen.items():
        again = np.abs(space.extract_all(restored(item)) - row)
        limits[again > limits + RELATIVE * np.abs(row)] = np.inf  # it depends on more than the numbers of the item
    found = tuple(chosen.values()), tuple(chosen), tuple(limits.tolist())
    return References(*found, number_type=common_type(items), unsteady=unsteady)
