"""What a node learned of its own times: how each unit changed in each regime, and the bundle with these changes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

from polydom_runtime.bundles.bundle import MAX_MODELS, Bundle
from polydom_runtime.bundles.bundle_times import MAX_SECONDS, MIN_SECONDS, REGIMES, Regime
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.codec.marks import In
from polydom_runtime.costs import CostFunction
from polydom_runtime.features import members
from polydom_runtime.policy.loaded_models import NO_NUMBER, UNTIMED

from .unit_history import AS_SHIPPED, QUICK, TINY_NS, WINDOW, Change, UnitHistory

FRESH = 200
"""A unit that was not observed in so many answers follows what all units share; and what is known of it counts half
after each such number of answers, so that one that was slow once is planned again some day."""

SHARING = 16
"""The units that were observed in so many answers tell what all units share."""

MOVED, SURE, MATTERS = 0.4, 9.0, 0.005
"""A unit has moved if its time has by a factor of 1.5, by nine times the error of its mean, and by half a percent of
the time for an answer. Less would be chance or a slow spell, which shipped times hold already, or change no choice.
Half of it is enough on the way back to shorter times: those of a plan that was made in a slow spell."""

BEFORE, AFTER, WAKING, PRIOR = "(before)", "(after)", "(waking)", NO_NUMBER

Unit = str | int
"""The name of a feature, a step, or of one of the above; or the number of a model, whose time includes the end of the
answer; `PRIOR` is the end of an answer without a model."""

Key = tuple[Regime, Unit]
Changes = Mapping[Unit, Change]


MOST_CHANGED = 1e4
"""The largest factor of a change that is kept; the smallest one is its inverse."""


class LearnedRow(NamedTuple):
    """How a unit of a bundle differs in one regime from what was shipped."""

    regime: Regime
    unit: Annotated[Unit, In(PRIOR, MAX_MODELS)]
    factor: Annotated[float, In(1.0 / MOST_CHANGED, MOST_CHANGED)]
    offset: Annotated[float, In(-MAX_SECONDS, MAX_SECONDS)]
    """Seconds; see `Change`."""
    observed: Annotated[int, In(0, 1 << 60)]
    """How many observations there were."""
    seconds: Annotated[float, In(MIN_SECONDS, MAX_SECONDS)]
    """The typical time as it was learned, for an item of the size `LearnedTimes.middle`."""


class Seen(NamedTuple):
    """An answer in which nothing failed."""

    regime: Regime
    size: float
    features: Sequence[int]
    marks: Sequence[int]
    """`features`, `marks`: as in `Trace`."""
    model: int
    """The number of the model that answered, or `NO_NUMBER` or `UNTIMED`."""
    asked: Sequence[int]
    """Nanoseconds after each feature in which a model was asked in vain whether it is sure; empty if none ever is."""


class LearnedTimes:
    """Learns the times of the units of a bundle. The times that it ships for a budget of seconds are where it begins.

    `budget`: these seconds. `answers`: how many it has learned from. `histories`: the observations of each unit that
    has any.
    """

    by_worker = False
    """Whether a worker process answers: then a hand-over to it is a part of answers."""

    def __init__(self, bundle: Bundle, budget: float) -> None:
        self._bundle, self.budget = bundle, budget
        self._shipped: dict[Regime, Bundle] = {}
        self._shared: dict[tuple[Regime, bool], float] = {}
        self._step_of = {f: step.name for step in bundle.times.worst.steps for f in members(step.users)}
        self._settled: dict[Regime, set[Unit]] = {regime: set() for regime in REGIMES}
        self._reviewed: dict[Regime, int] = dict.fromkeys(REGIMES, 0)
        self.histories: dict[Key, UnitHistory] = {}
        self.answers = 0

    def shipped(self, regime: Regime) -> Bundle:
        """Return the bundle with the shipped times of one regime."""
        if regime not in self._shipped:
            self._shipped[regime] = self._bundle.at(self.budget, regime)
        return self._shipped[regime]

    def observe(self, seen: Seen) -> None:
        """Learn from an answer. One to an item that is larger than all measured ones tells nothing."""
        regime, size, features, marks, model, asked = seen
        if not 0.0 < size <= self._bundle.promise.sizes[1]:
            return
        self.answers += 1
        before, *took = [end - start for start, end in pairwise(marks)]
        ratios = [self._add([(regime, BEFORE)], size, before)]
        done: set[str] = set()
        first_ns = 0.0
        for k, feature in enumerate(features):
            keys = self._keys(regime, feature, done)
            took[k] -= asked[k] if k < len(asked) else 0
            if k == 0 and regime != "hot":
                first_ns = sum(self.expected_ns(key, size) for key in keys)
            else:
                ratios.append(self._add(keys, size, took[k]))
        if model != UNTIMED:
            ratios.append(self._add([(regime, model)], size, took[-1]))
        if features and regime != "hot":
            # The first feature is slowed as most others, here and now; what it takes beyond that is due to waking up.
            shared = sorted(ratios)[(len(ratios) - 1) // 2]
            self._note((regime, WAKING), size, took[0], shared * first_ns)

    def tried(self, feature: int, size: float, took_ns: float) -> float:
        """Learn from a feature that was computed with its step outside of answers, hot; return how much longer it took.

        That is a factor on what was expected.
        """
        return self._add(self._keys("hot", feature, set()), size, took_ns)

    def tried_model(self, model: int, size: float, took_ns: float) -> float:
        """Learn, and return, the same of a model that ran outside of answers, hot: without the end of an answer."""
        end = _changed(self.shipped("hot").times.typical.after, self.change_of(("hot", AFTER)))
        return self._add([("hot", model)], size, took_ns + 1e9 * end(size))

    def trial_ns(self, unit: Unit, size: float) -> float:
        """Return how long it takes to try a unit: to run it twice, and the features of a model."""
        features = members(self._bundle.models[unit].mask) if isinstance(unit, int) else ()
        keys: list[Key] = [("hot", unit), ("hot", unit)]
        for feature in features:
            keys += self._keys("hot", feature, set())
        return sum(self.expected_ns(key, size) for key in keys)

    def _keys(self, regime: Regime, feature: int, done: set[str]) -> list[Key]:
        """Return the keys of a feature and of its step, if that is not done; then it is."""
        keys: list[Key] = [(regime, self._bundle.names[feature])]
        if (step := self._step_of.get(feature)) is not None and step not in done:
            done.add(step)
            keys.append((regime, step))
        return keys

    def _add(self, keys: Sequence[Key], size: float, took_ns: float) -> float:
        """Add the time that units took together; return it as a factor on what was expected.

        Each unit gets the share that was expected of it.
        """
        expected = [self.expected_ns(key, size) for key in keys]
        ratio = (took_ns + 1.0) / (sum(expected) + 1.0)
        for key, each in zip(keys, expected, strict=True):
            self._note(key, size, took_ns if len(keys) == 1 else each * ratio)
        return ratio

    def _note(self, key: Key, size: float, took_ns: float, others_ns: float = 0.0) -> None:
        """Add an observation to the history of a unit; `others_ns`: what is expected of others in the same time."""
        shipped = self._shipped_ns(key, size) + others_ns
        shared, history = self._shared_of(key), self.histories.get(key)
        if history is None or not self._is_fresh(history):
            constant = key[1] == WAKING
            change = AS_SHIPPED if constant else self.change_of(key)
            history = self.histories[key] = UnitHistory(shipped, change, shared, constant)
        if history.add(shipped, took_ns, self.answers, shared):
            self._shared.clear()
            for regime in REGIMES if key[0] == "hot" else (key[0],):  # what is learned hot counts where nothing else is
                self._settled[regime].update({key[1]} - {PRIOR})

    def _is_fresh(self, history: UnitHistory) -> bool:
        return history.newest > self.answers - FRESH

    def expected_ns(self, key: Key, size: float) -> float:
        """Return the typical time of a unit as it was learned, in nanoseconds."""
        return _ns(self.change_of(key), self._shipped_ns(key, size))

    def _shipped_ns(self, key: Key, size: float) -> float:
        regime, unit = key
        there = self.shipped(regime)
        times = there.times.typical
        if isinstance(unit, int):
            model = there.models[unit].seconds * times.model_ratio if unit >= 0 else 0.0
            return 1e9 * (model + times.after(size))
        cost = {BEFORE: times.before, AFTER: times.after, WAKING: times.waking}.get(unit)
        return 1e9 * (cost or times.terms[times.names.index(unit)])(size)

    def change_of(self, key: Key) -> Change:
        """Return how a unit changed. One that was not observed lately follows what all share."""
        regime, unit = key
        own = self.histories.get(key)
        if own is not None and self._is_fresh(own) and own.observed >= QUICK:
            return own.change
        known = {r: h for r in REGIMES if (h := self.histories.get((r, unit))) is not None}
        shared = self._shared_of(key)
        if not known or (unit == WAKING and own is None):
            return Change(math.exp(shared))
        where = regime if own is not None else max(known, key=lambda r: known[r].newest)
        last = known[where]
        then = self._shared_of((where, unit)) if where != regime and self._is_fresh(last) else last.shared
        remembered = 0.5 ** max((self.answers - last.newest) / FRESH - 1.0, 0.0)
        factor = math.exp(shared + remembered * (math.log(max(last.change.factor, 1e-9)) - then))
        return Change(factor, remembered * last.change.offset * math.exp(shared - then))

    def _shared_of(self, key: Key) -> float:
        """Return the logarithm of the factor that most units of a regime have in common; of a model, most models."""
        regime, unit = key
        is_end = isinstance(unit, int) or unit == AFTER
        if (regime, is_end) not in self._shared:
            here = {u: h for (r, u), h in self.histories.items() if r == regime and h.newest > self.answers - SHARING}
            ends = [h for u, h in here.items() if isinstance(u, int)] if is_end else []
            fresh = ends or [h for u, h in here.items() if u != WAKING and h.usual_ns > TINY_NS]
            self._shared[regime, is_end] = shared = _median([_log(h) for h in fresh])
            for u, history in here.items():  # so that none follows a change twice: by its own and by what all share
                if isinstance(u, int) == is_end and history.observed >= QUICK and history.newest > self.answers - QUICK:
                    history.shared = shared
        return self._shared[regime, is_end]

    def newest(self, unit: Unit) -> int:
        """Return the number of the answer in which a unit was observed last, in any regime; 0 if it never was."""
        return max((h.newest for r in REGIMES if (h := self.histories.get((r, unit))) is not None), default=0)

    def changes(self, regime: Regime) -> Changes:
        """Return how all units and models changed in a regime."""
        units = *self._bundle.times.worst.names, BEFORE, AFTER, WAKING, *range(len(self._bundle.models))
        return {unit: self.change_of((regime, unit)) for unit in units}

    def moved(self, regime: Regime, planned: Changes) -> list[Unit]:
        """Return the units that differ by now from what the plan of a regime was made with."""
        settled = self._settled[regime]
        if self.answers >= self._reviewed[regime] + FRESH:
            self._reviewed[regime] = self.answers
            settled.update(unit for (r, unit), h in self.histories.items() if r == regime and not self._is_fresh(h))
            settled.discard(PRIOR)
        settled.intersection_update([unit for unit in settled if self._has_moved((regime, unit), planned)])
        return list(settled)

    def _has_moved(self, key: Key, planned: Changes) -> bool:
        history = self.histories.get(key) or self.histories["hot", key[1]]
        usual = history.usual_ns
        now, before = (_ns(change, usual) for change in (self.change_of(key), planned.get(key[1], AS_SHIPPED)))
        if abs(now - before) < max(MATTERS * 1e9 * self.budget, SURE * history.noise_ns / math.sqrt(WINDOW)):
            return False
        is_back = now < before and before > usual
        return abs(math.log((now + TINY_NS) / (before + TINY_NS))) > (MOVED / 2 if is_back else MOVED)

    @property
    def middle(self) -> float:
        """The geometric mean of the smallest and the largest size that the bundle is for."""
        low, high = self._bundle.promise.sizes
        return math.sqrt(low * high)

    def rows(self) -> tuple[LearnedRow, ...]:
        """Return what was learned of each unit, and of the end of an answer in each regime with answers."""
        enough = {key: h.observed for key, h in self.histories.items() if h.observed >= QUICK}
        ends: dict[Key, int] = {(regime, AFTER): 0 for regime, _ in enough}
        return tuple(self._row(key, observed) for key, observed in {**ends, **enough}.items())

    def moved_rows(self) -> tuple[LearnedRow, ...]:
        """Return the rows of the units that take another time than was shipped."""
        return tuple(self._row(key, h.observed) for key, h in self.histories.items() if self._has_moved(key, {}))

    def _row(self, key: Key, observed: int) -> LearnedRow:
        factor, offset = self.change_of(key)
        seconds = 1e-9 * self.expected_ns(key, self.middle)
        return LearnedRow(
            *key,
            min(max(factor, 1.0 / MOST_CHANGED), MOST_CHANGED),
            min(max(offset, -MAX_SECONDS), MAX_SECONDS),
            observed,
            min(max(seconds, MIN_SECONDS), MAX_SECONDS),
        )

    def recall(self, rows: Iterable[LearnedRow], answers: int = 0, elsewhere: float | None = None) -> None:
        """Begin with what was learned from some answers before.

        `elsewhere`: the size for which the rows state seconds, if they are of another bundle. Then the units of the
        same names take these seconds, whatever was shipped for either bundle, and models and the number of answers do
        not count.
        """
        is_own, size = elsewhere is None, self.middle if elsewhere is None else elsewhere
        self.answers = answers if is_own else 0
        for row in rows:
            if not self._is_known(row.unit, is_own):
                continue
            key = row.regime, row.unit
            shipped = self._shipped_ns(key, size)
            change = Change(row.factor, row.offset) if is_own else _change(shipped, 1e9 * row.seconds)
            self.histories[key] = history = UnitHistory(shipped, change, constant=row.unit == WAKING)
            history.observed, history.newest = max(row.observed, QUICK), self.answers
        self._shared.clear()
        for key, history in self.histories.items():
            history.shared = self._shared_of(key)

    def _is_known(self, unit: Unit, is_own: bool) -> bool:
        """Tell whether a row of this bundle, or of another one, says something; here models know the end best."""
        if isinstance(unit, int):
            return is_own and PRIOR <= unit < len(self._bundle.models)
        return unit in (*self._bundle.times.worst.names, BEFORE, WAKING) or (unit == AFTER and not is_own)

    def bundle(self, regime: Regime, changes: Changes) -> Bundle:
        """Return the bundle with the times of one regime, changed.

        An allowance for pauses, which is in the worst case of the end of an answer, stays as long as it is.
        """
        shipped = self.shipped(regime)
        times, typical = shipped.times, shipped.times.typical
        end = _changed(typical.after, changes[AFTER])

        def changed(unit: Unit, time: CostFunction, usual: CostFunction) -> CostFunction:
            change = changes[unit]
            if regime == "hot" or change.factor <= 1.0:
                return _changed(time, change)
            # On a slower machine times vary as much more; colder code takes longer and varies no more. This is halfway.
            spread = math.sqrt(change.factor)
            return _moved(time * spread, usual * spread, _changed(usual, change))

        def learned(units: UnitTimes) -> UnitTimes:
            return replace(
                units,
                terms=tuple(map(changed, units.names, units.terms, typical.terms)),
                before=changed(BEFORE, units.before, typical.before),
                waking=_changed(units.waking, changes[WAKING]),
                after=_moved(units.after, typical.after, end),
            )

        here: dict[str, Any] = {
            name: learned(getattr(times, name)) for name in ("worst", "planned", "guarded", "typical")
        }
        models = (
            shipped.with_times(model, max(model.seconds * change.factor + change.offset, 0.0), here["worst"])
            for number, model in enumerate(shipped.models)
            for change in [changes[number]]
        )
        return replace(shipped, times=times._replace(**here), models=tuple(models))


def _change(shipped_ns: float, learned_ns: float) -> Change:
    """Return the change from a shipped time to a learned one."""
    if shipped_ns < TINY_NS:
        return Change(1.0, 1e-9 * (learned_ns - shipped_ns))
    return Change(learned_ns / shipped_ns)


def _ns(change: Change, shipped_ns: float) -> float:
    return max(change.factor * shipped_ns + 1e9 * change.offset, 0.0)


def _log(history: UnitHistory) -> float:
    usual = history.usual_ns
    return math.log((_ns(history.change, usual) + TINY_NS) / (usual + TINY_NS))


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


def _changed(cost: CostFunction, change: Change) -> CostFunction:
    constant, *growing = (cost * change.factor).weights
    return _cost([constant + change.offset, *growing])


def _moved(cost: CostFunction, before: CostFunction, now: CostFunction) -> CostFunction:
    return _cost(w + a - b for w, a, b in zip(cost.weights, now.weights, before.weights, strict=True))


def _cost(weights: Iterable[float]) -> CostFunction:
    a, b, c, d, e, f = (max(weight, 0.0) for weight in weights)
    return CostFunction((a, b, c, d, e, f))
