"""A tune: times that were measured on the device itself with a finished bundle, and the bundle that plans by them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import MAX_SECONDS, BundleTimes, Regime, RegimeTimes
from polydom_runtime.bundles.engines import Engine
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.codec.marks import AnyText, In, Size, Text
from polydom_runtime.costs import CostFunction

MAX_TUNE_CHARS = 500
TuneText = Annotated[str, Text(MAX_TUNE_CHARS, cleaned=True)]


class RegimeTune(NamedTuple):
    """What was measured in one regime."""

    dispatch: Annotated[tuple[float, float], In(0.0, MAX_SECONDS)]
    """Seconds of dispatch: the median and the 0.9 quantile."""
    models: Annotated[tuple[float, ...], In(0.0, MAX_SECONDS)]
    """The 0.9 quantile of the seconds of each model of the bundle."""
    added: Annotated[tuple[float, ...], In(0.0, MAX_SECONDS)]
    """How much longer than in the regime ``hot`` each feature and step of the bundle takes, in seconds."""
    asleep: Annotated[float, In(0.0, MAX_SECONDS)]
    """Seconds of sleep before each answer."""


@dataclass(frozen=True, slots=True)
class Tune:
    """Times of a bundle on one machine."""

    bundle_sha256: str
    """The digest of the bundle's index, in hexadecimal."""
    machine: Mapping[str, AnyText]
    """The facts that must be equal for the times to hold; see `polydom_runtime.device.tune_file.this_machine`."""
    began: TuneText
    warnings: Annotated[tuple[TuneText, ...], Size(0, 20)]
    engines: tuple[Engine, ...]
    """The quickest engine for each model of the bundle."""
    regimes: Mapping[Regime, RegimeTune]
    """The regime ``hot`` is always among them."""

    @property
    def note(self) -> str:
        """What a bundle says about it."""
        return "; ".join([f"tuned on {self.machine['device']}, {self.began[:10]}", *self.warnings])


def tuned(bundle: Bundle, tune: Tune) -> Bundle:
    """Return the bundle with the model times, the engines and the dispatch of its tune, in every regime.

    Dispatch moves at all quantiles as its median does, and is at least as measured. A regime that was never measured
    for the bundle gets the hot times and the constants of the tune. The bundle loses its outlook, which does not hold
    any more.
    """
    size = math.sqrt(bundle.promise.sizes[0] * bundle.promise.sizes[1])
    origin = bundle.times.origin._replace(notes=(*bundle.times.origin.notes, tune.note))
    known = {} if origin.estimated else bundle.regimes

    def times_in(regime: Regime, there: RegimeTune) -> BundleTimes:
        if regime == "hot":
            times = bundle.times
        elif regime in known:
            times = known[regime].times
        else:
            times = _each(bundle.times, lambda units: _longer(units, there.added))
        median, high = there.dispatch
        moved = median - times.typical.dispatch(size)
        changed = _each(times, lambda units: _dispatched(units, moved, high))
        return changed._replace(typical=_dispatched(times.typical, moved, median), origin=origin, outlook=())

    times = {regime: times_in(regime, there) for regime, there in tune.regimes.items()}
    hot = tune.regimes["hot"]
    models = tuple(map(_timed, bundle.models, hot.models, tune.engines))
    asleep: dict[Regime, RegimeTimes] = {
        regime: RegimeTimes(times[regime], there.models, there.asleep)
        for regime, there in tune.regimes.items()
        if regime != "hot"
    }
    return replace(bundle, times=times["hot"], models=models, regimes={**bundle.regimes, **asleep})


def _each(times: BundleTimes, change: Callable[[UnitTimes], UnitTimes]) -> BundleTimes:
    return times._replace(
        worst=change(times.worst),
        planned=change(times.planned),
        guarded=change(times.guarded),
        typical=change(times.typical),
        choices=tuple(c._replace(planned=change(c.planned), guarded=change(c.guarded)) for c in times.choices),
    )


def _longer(units: UnitTimes, added: tuple[float, ...]) -> UnitTimes:
    terms = tuple(term + CostFunction.of(more) for term, more in zip(units.terms, added, strict=True))
    return replace(units, terms=terms)


def _dispatched(units: UnitTimes, moved: float, least: float) -> UnitTimes:
    return replace(units, dispatch=_moved(units.dispatch, moved, least))


def _moved(cost: CostFunction, by: float, least: float) -> CostFunction:
    """Return a cost with its constant moved by some seconds, to at least `least`."""
    constant, b, c, d, e, f = cost.weights
    return CostFunction((max(constant + by, least), b, c, d, e, f))


def _timed(entry: ModelEntry, seconds: float, engine: Engine) -> ModelEntry:
    """Return the entry of a model that takes other seconds; the cost of a whole answer changes with it."""
    cost = None if entry.cost is None else _moved(entry.cost, seconds - entry.seconds, seconds)
    return entry._replace(seconds=seconds, cost=cost, engine=engine)
