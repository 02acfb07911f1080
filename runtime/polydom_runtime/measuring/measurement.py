"""A measurement so far: its rounds at the sizes, its answers to many items, and what disturbed it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.regimes import REGIMES, Regime

from .cost_samples import CostSamples, ItemSamples
from .disturbances import Disturbances
from .stamps import IDENTITY


@dataclass(frozen=True, slots=True)
class SamplesHeader:
    """The fixed facts of a measurement, known before the first round."""

    units: tuple[str, ...]
    sizes: tuple[float, ...]
    loops: tuple[int, ...]
    kernels: tuple[str, ...]
    fingerprint: str
    machine: Mapping[str, Any]
    """As in `CostSamples`, in plain tuples; of `kernels` only the names. `loops` is flat: all sizes of the first unit,
    then those of the second, and so on."""
    models: tuple[str, ...] = ()
    """The names of the reference models that are timed in whole answers."""
    asleep: float = 0.0
    """The seconds of sleep before each answer, unless it is hot."""

    @property
    def n_columns(self) -> int:
        """How many numbers a round has: single calls, blocks, kernels."""
        return 2 * len(self.units) * len(self.sizes) + len(self.kernels)

    @property
    def n_answer_columns(self) -> int:
        """How many numbers an answer has: position and size of the item, units, models."""
        return 2 + len(self.units) + len(self.models)

    def samples(self, rounds: Floats, machine: Mapping[str, Any], stopped: str) -> CostSamples:
        """Return rounds as samples.

        `rounds` (shape (n_rounds, n_columns)): seconds. `machine`: facts that are known only at the end; they are added
        to those of the header. `stopped`: why the measurement ended.
        """
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
        """Return answers in one regime as samples; answers of a round that is not complete are left out.

        `answers` (shape (n_answers, n_answer_columns)): the same items in the same order in every round.
        """
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
class Measurement:
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
    """Those about the machine."""

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


def same_measurement(old: SamplesHeader, new: SamplesHeader) -> Sequence[str]:
    """Return the names of the facts that differ between two headers; if there are any, rounds must not be mixed."""
    stamps = (*IDENTITY, "pinned_cpu")
    names = {"units": "units", "sizes": "sizes", "kernels": "kernels", "fingerprint": "fingerprint", "asleep": "period"}
    differ = [name for field, name in names.items() if getattr(old, field) != getattr(new, field)]
    return differ + [name for name in stamps if old.machine.get(name) != new.machine.get(name)]
