"""Raw time samples of a machine, with the facts about the machine."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.codec.marks import In, Size
from polydom_runtime.costs import CostFunction, format_seconds
from polydom_runtime.device.calibration import NUMPY_REFERENCES, REFERENCE_MODEL, REFERENCES
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.tables import TextTable

MIN_SECONDS, MAX_SECONDS, MAX_SIZE = 1e-12, 1e6, 1e15
"""Limits of the seconds of a call and of the size of an item; beyond them, fits lose numerical precision."""

MAX_PAUSES = 10_000

BUSY_SHARE = 0.8
"""A machine on which a measurement got less of a processor than this was busy. Three programs on two processors get two
thirds each."""

BEFORE, WAKING, AFTER = AROUND = "(before)", "(waking)", "(after)"
"""The units that come around features and models, as in `UnitTimes.around`: clock, size and first decision; what the
first feature after a sleep takes longer; and the end of the answer."""

MODEL_QUANTILE, LEAST_SHARE = 0.9, 0.75
"""A model states this quantile of its times, and takes at least this share of it."""

ENOUGH_ANSWERS, BAND_ANSWERS = 200, 50
"""With ENOUGH_ANSWERS answers, unit times come from answers alone, since calls at the measured sizes, timed at random
after others, find colder caches. Bands of items hold at least BAND_ANSWERS."""


@dataclass(frozen=True, slots=True)
class ItemSamples:
    """Times of every unit on many items, in one regime: those of one item and round are those of one answer."""

    sizes: Floats
    """Shape (n_items,), not sorted."""
    seconds: Floats
    """Shape (n_units, n_items, n_rounds). Times in the order of the units of `CostSamples`, without pauses."""
    models: Mapping[str, Floats]
    """Shape (n_items, n_rounds). Seconds of each reference model after the features."""
    asleep: float = 0.0
    """The seconds of sleep before each answer; 0 in the regime ``hot``."""

    def part(self, items: Sequence[int] | NDArray[np.intp] | slice) -> "ItemSamples":
        """Return the samples of some of the items, by their positions."""
        models = {name: times[items] for name, times in self.models.items()}
        return replace(self, sizes=self.sizes[items], seconds=self.seconds[:, items], models=models)

    def halves(self) -> tuple["ItemSamples", "ItemSamples"]:
        """Return two halves of the items, each of all sizes, to check on one what was made from the other."""
        by_size = np.argsort(self.sizes, kind="stable")
        return self.part(by_size[::2]), self.part(by_size[1::2])

    @property
    def are_enough(self) -> bool:
        """Whether these answers alone can tell the times of units."""
        return int(self.seconds[0].size) >= ENOUGH_ANSWERS

    @property
    def reference_runs(self) -> Floats:
        """The seconds of the reference model in answers, shape ``(n_items, n_rounds)``, without its quick runs.

        It runs after all features, which leave the caches in very different states: its median can be a third of its
        0.9 quantile. A model of an answer runs after few features, and takes nearly the time that it states.
        """
        times = self.models[REFERENCE_MODEL]
        return np.maximum(times, LEAST_SHARE * np.quantile(times, MODEL_QUANTILE))

    def costs_at(self, cost: CostFunction) -> Floats:
        """Return a cost at the size of each item, in seconds, shape ``(n_items, 1)``."""
        return np.array([[cost(n)] for n in self.sizes.tolist()])

    def bands(self, most: int) -> list[NDArray[np.intp]]:
        """Return the positions of items of like size, about equally many in each of at most `most` bands."""
        rising = np.argsort(self.sizes, kind="stable")
        return np.array_split(rising, max(1, min(most, self.seconds[0].size // BAND_ANSWERS)))

    def check(self, n_units: int) -> None:
        """Raise `MeasurementError` if a time or size is not positive and possible, or a unit lacks its times."""
        shape = self.seconds.shape
        times = [self.seconds, *self.models.values()]
        is_sound = (
            len(shape) == 3
            and shape[:2] == (n_units, len(self.sizes))
            and all(t.shape == shape[1:] for t in self.models.values())
            and all(t.size and (t >= MIN_SECONDS).all() and (t <= MAX_SECONDS).all() for t in times)
            and bool((self.sizes > 0.0).all() and (self.sizes <= MAX_SIZE).all())
            and 0.0 <= self.asleep <= MAX_SECONDS
        )
        if not is_sound:
            raise MeasurementError("Times and sizes of items must be positive and finite. Some are not. Measure again.")


@dataclass(frozen=True, slots=True)
class Pauses:
    """Times in which the measurement did not have the processor: other programs, or the system, had it."""

    watched: Annotated[float, In(0.0, MAX_SECONDS)] = 0.0
    """The seconds that were watched, pauses excluded."""
    lengths: Annotated[tuple[float, ...], Size(0, MAX_PAUSES), In(math.ulp(0.0), MAX_SECONDS)] = ()
    """Seconds of the pauses, the longest first; at most `MAX_PAUSES` of them."""
    timed: Annotated[float, In(0.0, MAX_SECONDS)] = 0.0
    """The seconds of timed calls, pauses excluded."""
    in_calls: Annotated[tuple[float, ...], Size(0, MAX_PAUSES), In(math.ulp(0.0), MAX_SECONDS)] = ()
    """Seconds of the pauses within timed calls, the longest first; at most `MAX_PAUSES` of them. The system likes to
    pause a process in system calls. The stopwatch makes some between calls; an answer makes none."""

    @classmethod
    def of(
        cls, watched: float, lengths: Iterable[float], timed: float = 0.0, in_calls: Iterable[float] = ()
    ) -> "Pauses":
        """Return pauses of any number in any order; only the longest are kept."""
        longest = (tuple(sorted(those, reverse=True)[:MAX_PAUSES]) for those in (lengths, in_calls))
        return cls(watched, next(longest), timed, next(longest))

    def plus(self, more: "Pauses") -> "Pauses":
        """Return these and other pauses together."""
        return Pauses.of(
            self.watched + more.watched,
            [*self.lengths, *more.lengths],
            self.timed + more.timed,
            [*self.in_calls, *more.in_calls],
        )

    @property
    def processor_share(self) -> float:
        """The share of a processor that the measurement got, from 0 to 1."""
        paused = sum(self.lengths)
        return self.watched / (self.watched + paused) if paused else 1.0

    @property
    def is_busy(self) -> bool:
        """Whether other work had so much of the processor that times and promises are those of a busy machine."""
        return self.processor_share < BUSY_SHARE

    def late_shares(self, worked: Floats, deadline: float) -> Floats:
        """Return for answers that work for some seconds the probability that a pause makes each late.

        After a pause a node plans with the time that is left. So a pause makes an answer late only if it begins where
        less time than its length is left until the deadline, and the answer is still at work there.

        Only pauses within calls count, the parts of measured answers. O((pauses + answers) log pauses).

        >>> Pauses.of(1.0, [], timed=1.0, in_calls=[0.003]).late_shares(np.array([0.001, 0.002]), 0.004).round(4)
        array([0.   , 0.001])
        """
        if not self.in_calls or not self.timed:
            return np.zeros(len(worked))
        lengths, work = np.sort(self.in_calls), np.minimum(worked, deadline)
        sums, unused = np.concatenate([[0.0], np.cumsum(lengths)]), deadline - work
        some, whole = np.searchsorted(lengths, unused), np.searchsorted(lengths, deadline)
        exposed = (len(lengths) - whole) * work + sums[whole] - sums[some] - (whole - some) * unused
        shares: Floats = -np.expm1(-exposed / self.timed)
        return shares


@dataclass(frozen=True, slots=True, repr=False)
class CostSamples:
    """Raw times of every unit: shared steps, features (without their step), and `AROUND`."""

    units: tuple[str, ...]
    sizes: Floats
    """Shape (n_sizes,). Sizes of the measured items, rising."""
    seconds: Floats
    """Shape (n_units, n_sizes, n_rounds). Times of calls timed one by one, without pauses."""
    loops: NDArray[np.int64]
    """Shape (n_units, n_sizes). The number of calls in a block: more than 1 where a call is too short for the timer."""
    blocks: Floats
    """Shape (n_units, n_sizes, n_rounds). Time of a block divided by its calls; NaN where `loops` is 1."""
    kernels: Mapping[str, Floats] = field(default_factory=dict)
    """Shape (n_rounds,). Seconds of the timer, an empty call, and each run of a reference model or kernel."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the machine and its state; see `polydom_runtime.measuring.conditions`."""
    fingerprint: str = ""
    """Hash of the source of the features."""
    stopped: str = ""
    """Why the measurement ended."""
    items: Mapping[Regime, ItemSamples] = field(default_factory=dict)
    """Times on many items as they come."""
    pauses: Pauses = field(default_factory=Pauses)

    def __repr__(self) -> str:
        n_units, n_sizes, n_rounds = self.seconds.shape
        device = self.machine.get("device", "an unknown device")
        return f"<CostSamples of {n_units} units at {n_sizes} sizes in {n_rounds} rounds, from {device}>"

    def _repr_html_(self) -> str:
        shown = sorted({0, len(self.sizes) // 2, len(self.sizes) - 1})
        rows = [
            (unit, *(format_seconds(float(np.median(times[k]))) for k in shown))
            for unit, times in zip(self.units, self.seconds, strict=True)
        ]
        return TextTable(repr(self)[1:-1], ["median", *(f"size {self.sizes[k]:g}" for k in shown)], rows).to_html()

    @property
    def n_rounds(self) -> int:
        """How often each unit was timed at each size."""
        return int(self.seconds.shape[2])

    @property
    def warnings(self) -> tuple[str, ...]:
        """The reasons, in the state of the machine, why these times may be wrong."""
        return tuple(self.machine.get("warnings", ()))

    def of(self, unit: str) -> Floats:
        """Return the seconds of one unit, shape ``(n_sizes, n_rounds)``."""
        samples: Floats = self.seconds[self.units.index(unit)]
        return samples

    def typical_of(self, unit: str) -> Floats:
        """Return the samples of typical times, ``(n_sizes, n_rounds)``: of blocks if calls are short."""
        row = self.units.index(unit)
        samples: Floats = np.where(self.loops[row, :, None] > 1, self.blocks[row], self.seconds[row])
        return samples

    def in_answers(self, unit: str, regime: Regime = "hot") -> Floats:
        """Return the seconds of one unit in answers in a regime that was measured, shape ``(n_items, n_rounds)``."""
        samples: Floats = self.items[regime].seconds[self.units.index(unit)]
        return samples

    def answers(self, regime: Regime) -> list[ItemSamples]:
        """Return all whole answers in a regime: to items as they come, and if these are few, at the sizes too."""
        items = [self.items[regime]] if regime in self.items else []
        if regime == "hot" and not (items and items[0].are_enough):
            model = np.broadcast_to(self.kernels[REFERENCE_MODEL], self.seconds.shape[1:])
            items.append(ItemSamples(self.sizes, self.seconds, {REFERENCE_MODEL: model}))
        return items

    def reference_time(self, name: str, quantile: float) -> float:
        """Return the seconds of a reference model at a quantile: after whole answers if these were measured."""
        items = self.items.get("hot")
        times = self.kernels[name] if items is None or name not in items.models else items.models[name]
        if items is not None and name == REFERENCE_MODEL:
            times = items.reference_runs
        return float(np.quantile(times, quantile))

    @property
    def reference_times(self) -> dict[str, float]:
        """The seconds that the reference models state."""
        known = (name for name in (*REFERENCES, *NUMPY_REFERENCES) if name in self.kernels)
        return {name: self.reference_time(name, MODEL_QUANTILE) for name in known}

    def rounds(self, chosen: slice) -> "CostSamples":
        """Return the samples of some rounds."""
        kernels = {name: times[chosen] for name, times in self.kernels.items()}
        return replace(self, seconds=self.seconds[:, :, chosen], blocks=self.blocks[:, :, chosen], kernels=kernels)

    def check(self) -> None:
        """Raise `MeasurementError` unless every time is positive and finite and the sizes rise."""
        for name, times in {**dict(zip(self.units, self.seconds, strict=True)), **self.kernels}.items():
            if times.size == 0 or not (times >= MIN_SECONDS).all() or not (times <= MAX_SECONDS).all():
                worst = times.min() if times.size else "no sample"
                raise MeasurementError(
                    f"Cost samples must be positive, finite times. Those of {name} hold {worst}. Measure again, with a "
                    "clock that does not run backwards or stand still: `polydom-node doctor` looks at it."
                )
        blocks = self.blocks[self.loops > 1]
        if not ((blocks >= MIN_SECONDS).all() and (blocks <= MAX_SECONDS).all()):
            raise MeasurementError("The times of blocks of calls must be positive and finite. Measure again.")
        sizes = self.sizes
        if len(sizes) == 0 or not (0.0 < sizes[0] <= sizes[-1] <= MAX_SIZE and (np.diff(sizes) > 0.0).all()):
            raise MeasurementError(f"The measured sizes must be positive and rise. Got {sizes}. Measure again.")
        for answers in self.items.values():
            answers.check(len(self.units))


def units_of(space: FeatureSpace) -> tuple[str, ...]:
    """Return the units whose times make up the costs of a space, in the order of `CostSamples`."""
    return (*(s.name for s in space.steps), *space.names, *AROUND)
