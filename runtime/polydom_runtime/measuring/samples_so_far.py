"""The samples of a measurement so far: rounds at the sizes, answers to many items, and what disturbed them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle_times import REGIMES, Regime
from polydom_runtime.codec.marks import In, Size, Text, Unsound

from .cost_samples import MAX_SECONDS, CostSamples, ItemSamples
from .stopwatch import Disturbances

MAX_TEXT_CHARS, MAX_WARNINGS, MAX_NUMBER = 500, 20, 1 << 62

Names = Annotated[tuple[str, ...], Size(1, 1000)]


@dataclass(frozen=True, slots=True)
class SamplesHeader:
    """The fixed facts of a measurement, known before the first round: as in `CostSamples`, in plain tuples."""

    units: Names
    sizes: Annotated[tuple[float, ...], Size(1, 10_000), In(-math.inf, math.inf)]
    loops: Annotated[tuple[int, ...], Size(1, 1 << 20), In(1, 1_000_000)]
    """Loops at all sizes of the first unit, then those of the second, and so on."""
    kernels: Names
    """The names of the kernels."""
    fingerprint: Annotated[str, Text(least=0)]
    machine: Mapping[str, Any]
    models: Annotated[tuple[str, ...], Size(0, 1000)] = ()
    """The names of the reference models that are timed in whole answers."""
    asleep: Annotated[float, In(0.0, MAX_SECONDS)] = 0.0
    """The seconds of sleep before each answer, unless it is hot."""

    def _check(self) -> None:
        if any(len({*names}) != len(names) for names in (self.units, self.kernels, self.models)):
            raise Unsound("have different names of units, kernels and models", (self.units, self.kernels, self.models))
        if len(self.loops) != len(self.units) * len(self.sizes):
            raise Unsound("hold a number of calls for each unit and size", len(self.loops))

    @property
    def n_columns(self) -> int:
        """How many numbers a round has: single calls, blocks, kernels."""
        return 2 * len(self.units) * len(self.sizes) + len(self.kernels)

    @property
    def n_answer_columns(self) -> int:
        """How many numbers an answer has: position and size of the item, units, models."""
        return 2 + len(self.units) + len(self.models)

    def samples(self, rounds: Floats, machine: Mapping[str, Any], stopped: str) -> CostSamples:
        """Return rounds, shape (n_rounds, n_columns), as samples, with facts that are known only at the end."""
        shape = len(self.units), len(self.sizes)
        cells = math.prod(shape)
        columns = np.ascontiguousarray(rounds.T)
        return CostSamples(
            self.units,
            np.array(self.sizes),
            columns[:cells].reshape(*shape, -1),
            np.array(self.loops, dtype=np.int64).reshape(shape),
            columns[cells : 2 * cells].reshape(*shape, -1),
            dict(zip(self.kernels, columns[2 * cells :], strict=True)),
            {**self.machine, **machine},
            self.fingerprint,
            stopped,
        )

    def item_samples(self, regime: Regime, answers: Floats) -> ItemSamples:
        """Return answers in a regime, shape (n_answers, n_answer_columns), as samples of the complete rounds."""
        n_items = len(set(answers[:, 0].tolist()))
        n_rounds = len(answers) // n_items
        table = answers[: n_items * n_rounds].reshape(n_rounds, n_items, -1).T
        n_units = 2 + len(self.units)
        return ItemSamples(
            table[1, :, 0].copy(),
            np.ascontiguousarray(table[2:n_units]),
            dict(zip(self.models, np.ascontiguousarray(table[n_units:]), strict=True)),
            0.0 if regime == "hot" else self.asleep,
        )


@dataclass(slots=True)
class SamplesSoFar:
    """A measurement that goes on, or an unfinished one that is continued."""

    header: SamplesHeader
    rounds: list[Floats] = field(default_factory=list)
    """Shape (n_rounds, n_columns). Parts of the rounds."""
    enough: str = ""
    """Why there are enough rounds; empty while there are not."""
    answers: dict[Regime, list[Floats]] = field(default_factory=lambda: {regime: [] for regime in REGIMES})
    """Shape (n_answers, n_answer_columns). Parts of the answers in each regime."""
    seen: Disturbances = field(default_factory=Disturbances)
    warnings: tuple[str, ...] = ()

    def answers_in(self, regime: Regime) -> Floats:
        """Return the answers in one regime so far, shape ``(n_answers, n_answer_columns)``."""
        return np.concatenate([np.empty((0, self.header.n_answer_columns)), *self.answers[regime]])

    def samples(self, machine: Mapping[str, Any], stopped: str) -> CostSamples:
        """Return all samples; see `SamplesHeader.samples`."""
        of_sizes = self.header.samples(np.concatenate(self.rounds), machine, stopped)
        items = {
            regime: self.header.item_samples(regime, self.answers_in(regime))
            for regime, parts in self.answers.items()
            if parts
        }
        return replace(of_sizes, items=items, pauses=self.seen.pauses)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT_CHARS and value.isprintable()


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_NUMBER


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_WARNINGS and all(map(_is_text, value))


def _are_limits(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return all(_is_text(v) if k == "failed" else _is_count(v) for k, v in value.items())


def _are_variables(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(v, str) for v in (*value, *value.values()))


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_NUMBER


MACHINE_CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("device", "cpu", "machine", "kernel", "python", "numpy", "onnxruntime", "began"), _is_text),
    **dict.fromkeys(
        ("cores", "timer_tick_ns", "timer_reading_ns", "involuntary_switches", "throttled_periods"), _is_count
    ),
    **dict.fromkeys(("processor_share", "stolen_seconds"), _is_amount),
    **dict.fromkeys(("memory_bytes", "available_bytes"), lambda value: value is None or _is_count(value)),
    **dict.fromkeys(("governors", "warnings"), _is_texts),
    "onnx": _are_limits,
    "threads": _are_variables,
}


def stamp_fault(machine: Mapping[str, Any]) -> str | None:
    """Return the first fact about a machine with an impossible value; None if all are possible. Some may be missing."""
    for name, is_sound in MACHINE_CHECKS.items():
        if name in machine and not is_sound(machine[name]):
            return f"{name} = {machine[name]!r:.80}"
    return None
