"""The models in memory: for every set of computed features, the best model that reads no others."""

import copy
import math
import warnings
from bisect import insort
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats, Masks, bit_counts
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.confidence import Calibration
from polydom_runtime.bundles.engines import ENGINES, Engine, InputRow, engine_of, load_model
from polydom_runtime.bundles.model_entry import UNCLEAR, ModelEntry
from polydom_runtime.causes import shown
from polydom_runtime.exceptions import BundleMismatchError
from polydom_runtime.features import members
from polydom_runtime.stages import seems_finite

Run = Callable[[], int | float]
"""Runs one model: returns a class number, or a regressor's number."""

RunOf = Callable[[int], Run]
"""Takes the number of a model and returns the function that runs it."""

NUMBER_PRECISION = 1e-4
"""The numbers of a regressor may differ by this share from those that it gave when it was built."""

INSTEAD = (
    "Models that are meant for onnxruntime are run by numpy, since onnxruntime is missing: their times are others, and "
    "their answers may be others where rounding decides. Install onnxruntime, or build for a device without it."
)

NO_NUMBER = -1

UNTIMED = -2
"""In place of the number of a model that ran before the end of an answer, so that its time is not among the marks."""

before_opening: ContextVar[Callable[[int], object]] = ContextVar("before_opening", default=lambda _: None)
"""Called with the bytes of a model's file before the model is opened, which holds up other threads."""


class LoadedModel:
    """One model over the row of all features.

    `features`: its features in the order of its columns. `accuracy`: its expected score. `model_ns`: worst case of one
    run. `mask`: the features as a bit mask. `gather`: the row of all features, the columns of it that the model reads,
    and the model's inputs, into which they are copied before each run. `stop`: the least confidence at which its answer
    may stand although time is left; above 1 it never may. `confidence`: returns the probability that the answer of the
    last run is right; the score itself without a calibration, and 0 if the model has none. `number`: its number in the
    bundle.
    """

    __slots__ = (
        *("_columns", "_inputs", "_ones", "_run", "_values", "accuracy", "confidence", "estimator"),
        *("features", "mask", "model_ns", "number", "stop"),
    )

    def __init__(
        self,
        features: tuple[str, ...],
        accuracy: float,
        model_ns: int,
        mask: int,
        run: Run,
        gather: tuple[NDArray[np.float32], NDArray[np.intp], NDArray[np.float32]],
        stop: float = math.inf,
        calibration: Calibration | None = None,
    ) -> None:
        self.stop = stop
        self.number = NO_NUMBER
        self.estimator: str | None = None
        self.confidence = _confidence_of(run, calibration)
        self.features = features
        self.accuracy = accuracy
        self.model_ns = model_ns
        self.mask = mask
        self._run = run
        self._values, self._columns, self._inputs = gather
        self._ones = np.ones(len(self._columns), dtype=np.float32)

    def run(self) -> int | float:
        """Return the number of a class, or a regressor's, for the row of features; FloatingPointError if not finite."""
        inputs = self._inputs
        self._values.take(self._columns, None, inputs, "clip")  # the other modes buffer
        if not seems_finite(inputs, self._ones) and not np.isfinite(inputs).all():
            raise FloatingPointError
        return self._run()


class LoadedModels:
    """The models of a bundle over one row of all features; each is loaded when it is first asked for.

    `values` (shape (sum of widths,)): the row of all features, in the order of the bundle. `run_of`, `engine`,
    `around`: see `polydom_runtime.predictor.Seams`. `places`: the columns of each feature in `values`. `masks`,
    `accuracies`, `seconds`: arrays of shape (n_models,). `out`: the numbers of models that must not answer; shared with
    the result of `timed`. `prior`: the model without features.
    """

    def __init__(
        self,
        bundle: Bundle,
        values: NDArray[np.float32] | None = None,
        run_of: RunOf | None = None,
        early_stop: bool = False,
        engine: Engine | None = None,
        around: Callable[[RunOf], RunOf] | None = None,
    ) -> None:
        if engine is not None and engine not in ENGINES:
            from polydom_runtime.codec.near_names import one_of  # only here: it is about an error

            raise BundleMismatchError(one_of("The engine", ENGINES, engine))
        self._bundle, self._engine = bundle, engine
        self._early_stop = early_stop and bundle.stops_early
        ends = np.cumsum((0, *bundle.space.widths))
        self.places = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.values = np.zeros(int(ends[-1]), dtype=np.float32) if values is None else values
        self._row = InputRow(len(self.values))
        # Not `_exported` itself: an object that holds a method of its own is let go by the garbage collector only.
        self._run_of = run_of if around is None else around(run_of or self._exported)
        self._runs: dict[int, Run] = {}
        self._loaded: dict[int, LoadedModel] = {}
        self._ranked: list[LoadedModel] = []  # the most accurate first, for when time is short
        self.masks = np.array([model.mask for model in bundle.models], dtype=np.int64)
        self.accuracies = np.array([model.accuracy for model in bundle.models])
        self.seconds = np.array([model.seconds for model in bundle.models])
        names = [model.estimator for model in bundle.models]
        self._estimators = [np.array([n == each for n in names], dtype=bool) for each in dict.fromkeys(names or [""])]
        self._best_first = np.lexsort((bit_counts(self.masks), -self.accuracies))
        self.out: set[int] = set()
        nothing = np.zeros(0, dtype=np.float32)
        number, score = bundle.prior
        self.prior = LoadedModel((), score, 0, 0, lambda: number, (self.values, nothing.astype(np.intp), nothing))
        if (sure := bundle.confidence) is not None:
            self.prior.confidence = lambda: sure.prior

    def timed(self, bundle: Bundle) -> "LoadedModels":
        """Return the models with the times of the same bundle in another regime; each is in memory once for both."""
        other = copy.copy(self)
        other._bundle, other._loaded, other._ranked = bundle, {}, []
        other.seconds = np.array([model.seconds for model in bundle.models])
        return other

    @property
    def best_first(self) -> NDArray[np.intp]:
        """The numbers of the models that are not out, by falling accuracy; if equal, the shortest first."""
        stays = np.ones(len(self._best_first), dtype=bool)
        stays[list(self.out)] = False
        return self._best_first[stays[self._best_first]]

    def best(self, masks: Masks) -> list[LoadedModel]:
        """Return for each set the most accurate model that reads no other features; the prior if none is better.

        O(sets · models). If two are as good, the one with fewer features; BundleFormatError if it cannot be run.
        """
        numbers = self._best_of(masks, self.best_first).tolist()
        return [self.prior if number < 0 else self.load(number) for number in numbers]

    def answers(self, masks: Masks) -> NDArray[np.intp]:
        """Return the numbers of the models that may answer for each set, shape ``(n_sets, n_numbers)``; the rest is -1.

        The best of each estimator that reads no other features, and with several estimators the one of the very set,
        which may be a target: by falling accuracy, each quicker than those before it. O(sets · models).
        """
        best = self.best_first
        of_each = [best[of_it[best]] for of_it in self._estimators]
        found = [self._best_of(masks, models) for models in of_each]
        if len(found) == 1:
            return found[0][:, None]
        found += [self._best_of(masks, models, exactly=True) for models in of_each]
        return _quicker(np.stack(found, axis=1), self.accuracies, self.seconds)

    def _best_of(self, masks: Masks, best: NDArray[np.intp], exactly: bool = False) -> NDArray[np.intp]:
        candidates = best[self.accuracies[best] >= self.prior.accuracy]
        of_each, each = self.masks[candidates], masks[:, None]
        fits = of_each == each if exactly else (of_each & ~each) == 0
        always = np.ones((len(masks), 1), dtype=bool)
        numbers: NDArray[np.intp] = np.append(candidates, -1)[np.hstack([fits, always]).argmax(axis=1)]
        return numbers

    def load(self, number: int) -> LoadedModel:
        """Return a model by its number; from the bundle when it is first asked for, then from memory.

        Raises `BundleFormatError` if the model cannot be run.
        """
        if number not in self._loaded:
            entry = self._bundle.models[number]
            columns = np.array(self._columns(entry), dtype=np.intp)
            loaded = self._loaded[number] = LoadedModel(
                tuple(self._bundle.names[i] for i in entry.order),
                entry.accuracy,
                math.ceil(entry.seconds * 1e9),
                entry.mask,
                self._run(number),
                (self.values, columns, self._row.values[: len(columns)]),
                self._stop_of(entry),
                entry.calibration,
            )
            loaded.number, loaded.estimator = number, entry.estimator or None
            if loaded.accuracy >= self.prior.accuracy:
                insort(self._ranked, loaded, key=lambda model: -model.accuracy)
        return self._loaded[number]

    def has_opened(self, number: int) -> bool:
        """Tell whether a model was opened, for whatever plan."""
        return number in self._runs

    def load_only(self, numbers: Iterable[int]) -> None:
        """Load some models, by their numbers, and let go of the content of all files."""
        for number in numbers:
            self.load(number)
        self._bundle = replace(self._bundle, contents=())

    def best_loaded(self, mask: int, left_ns: float = math.inf) -> LoadedModel:
        """Return the most accurate model in memory that reads only features of a mask and is in time; or the prior."""
        others, out = ~mask, self.out
        fitting = (a for a in self._ranked if not a.mask & others and a.model_ns <= left_ns and a.number not in out)
        return next(fitting, self.prior)

    def only_of(self, numbers: Collection[int]) -> set[int]:
        """Return the masks of the sets that have no other models than these."""
        others = set(range(len(self.masks))).difference(numbers)
        return {int(self.masks[n]) for n in numbers} - {int(self.masks[n]) for n in others}

    def not_finite(self, mask: int) -> int:
        """Return which features of a set hold a number that is not finite, as a bit mask."""
        broken = (i for i in members(mask) if not np.isfinite(self.values[self.places[i]]).all())
        return sum(1 << i for i in broken)

    @property
    def loaded(self) -> tuple[int, ...]:
        """The numbers of the models in memory."""
        return tuple(self._loaded)

    def _run(self, number: int) -> Run:
        if number not in self._runs:
            self._runs[number] = (self._run_of or self._exported)(number)
        return self._runs[number]

    def _exported(self, number: int) -> Run:
        entry = self._bundle.models[number]
        space, sure = self._bundle.space, entry.calibration is not None or self._stop_of(entry) <= 1.0
        width = sum(space.widths[i] for i in entry.order)
        before_opening.get()(entry.size_bytes)
        data, engine = self._bundle.model_bytes(number), self._engine or entry.engine
        run = load_model(engine, data, self._row, width, len(space.classes), sure)
        if entry.answers:
            self._compare(run, entry)
        if engine == "onnxruntime" and engine_of(run) == "numpy":
            warnings.warn(INSTEAD, stacklevel=2)
        return run

    def _compare(self, run: Run, entry: ModelEntry) -> None:
        """Check that a model answers the reference rows as when it was built; BundleMismatchError if it does not."""
        columns, classes = self._columns(entry), self._bundle.space.classes
        inputs = self._row.values[: len(columns)]
        for row, wanted in zip(self._bundle.references.rows, entry.answers, strict=True):
            if wanted == UNCLEAR:
                continue
            inputs[:], got = [row[k] for k in columns], math.nan
            with suppress(Exception):  # an engine that fails gives no answer
                got = run()
            if not abs(got - wanted) <= (0.0 if classes else NUMBER_PRECISION * abs(wanted)):
                there, here = (classes[int(x)] if classes and x < len(classes) else x for x in (wanted, got))
                raise BundleMismatchError(
                    f"A model must give the answers that it gave when it was built. That of "
                    f"{entry.name(self._bundle.names)} gave {shown(there)} to a reference item, and {shown(here)} "
                    f"here, by {engine_of(run)}. Install another version of it, or build again."
                )
        inputs[:] = 0.0

    def _columns(self, entry: ModelEntry) -> list[int]:
        return [k for i in entry.features for k in range(self.places[i].start, self.places[i].stop)]

    def _stop_of(self, entry: ModelEntry) -> float:
        return entry.stop if self._early_stop and entry.stop is not None else math.inf


def _confidence_of(run: Run, calibration: Calibration | None) -> Callable[[], float]:
    score: Callable[[], float] | None = getattr(run, "confidence", None)
    if score is None:
        return lambda: 0.0
    return score if calibration is None else lambda: calibration(score())


def _quicker(numbers: NDArray[np.intp], accuracies: Floats, seconds: Floats) -> NDArray[np.intp]:
    """Return those of each set's models that are the best with some time left, by falling accuracy; then `NO_NUMBER`.

    `numbers` (shape (n_sets, n_numbers)): models, or `NO_NUMBER`. Each that is kept is quicker than the one before.
    """
    exists = numbers >= 0
    score, time = np.where(exists, accuracies[numbers], -np.inf), np.where(exists, seconds[numbers], np.inf)
    rank = np.lexsort((time, -score), axis=1)
    time = np.take_along_axis(time, rank, axis=1)
    before = np.minimum.accumulate(np.pad(time, ((0, 0), (1, 0)), constant_values=np.inf), axis=1)[:, :-1]
    kept = np.where(time < before, np.take_along_axis(numbers, rank, axis=1), NO_NUMBER)
    found: NDArray[np.intp] = np.take_along_axis(kept, np.argsort(kept < 0, axis=1, kind="stable"), axis=1)
    return found
