"""Costs from what nodes learned: samples that were measured once, scaled to the times of the nodes' own answers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from polydom_builder.exceptions import FitError
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.causes import uncontrolled
from polydom_runtime.device.calibration import NUMPY_REFERENCES, REFERENCES
from polydom_runtime.device.device_profile import Calibrated, DeviceProfile, Quantity, UncertainQuantity
from polydom_runtime.exceptions import ProfileError
from polydom_runtime.learning.learned_file import LearnedFile, Recalled
from polydom_runtime.learning.learned_times import LearnedTimes, Unit
from polydom_runtime.measuring.cost_samples import AROUND, MIN_SECONDS, WAKING, CostSamples, ItemSamples
from polydom_runtime.measuring.own_profile import own_profile

MOST_NOTES, MOST_CHARS = 8, 500

KIND = ("device", "cpu")
"""The facts that all nodes must have in common."""


def learned_costs(samples: CostSamples, nodes: Sequence[LearnedFile], bundle: Bundle) -> CostSamples:
    """Return samples whose typical times are the medians, over nodes, of those that they learned with a bundle.

    How times spread around the typical ones stays as it was measured. Models of the samples, which are those of no
    bundle, change as those of the bundle do, and calibration kernels as most units do. The facts about the machine say
    how it came about, and which nodes had their clocks lowered.

    Raises `FitError` if the samples are of other units, a node learned with other features, or nodes are of several
    kinds.
    """
    times = _times_of(nodes, bundle)
    if {*samples.units} != {*bundle.times.worst.names, *AROUND}:
        raise FitError(
            f"The costs must be of the units of the bundle, {bundle.times.worst.names}. Got {samples.units}. Take the "
            "costs file that it was built from."
        )
    changes = _Changes(LearnedTimes(bundle, bundle.promise.budgets[0]), times)
    seconds, blocks = samples.seconds.copy(), samples.blocks.copy()
    growth: list[float] = []
    for k, unit in enumerate(samples.units):
        change = changes.of(unit, "hot", samples.sizes, samples.seconds[k])
        seconds[k], blocks[k] = change.of(seconds[k]), change.of(blocks[k])
        growth += [] if unit in AROUND else [float(np.median(change.factors))]
    usual, of_models = float(np.median(growth)), changes.of_models("hot")
    kernels = {
        name: times * (of_models if name in (*REFERENCES, *NUMPY_REFERENCES) else usual)
        for name, times in samples.kernels.items()
    }
    items = {regime: changes.of_answers(samples.units, regime, there) for regime, there in samples.items.items()}
    machine = {**samples.machine, **_kind(nodes[0]), "warnings": [*_notes(nodes), *samples.warnings][:20]}
    return replace(
        samples, seconds=seconds, blocks=blocks, kernels=kernels, items=items, machine=machine, stopped=_found(nodes)
    )


def learned_profile(samples: CostSamples, nodes: Sequence[LearnedFile], measured_on: str) -> DeviceProfile:
    """Return the profile that follows from learned costs; its figures are derived, and its name says if not soundly.

    `measured_on`: the device of the samples before. `ProfileError` is raised if the nodes are of another kind: then
    cores, memory and limits would be those of the other machine.
    """
    device = _kind(nodes[0])["device"]
    if device != measured_on:
        raise ProfileError(
            f"A profile needs costs that were measured on a device of the same kind, {device}. Got {measured_on}. "
            "Run `polydom-node measure` on one device."
        )
    profile, how = own_profile(samples), "; ".join(_notes(nodes))
    name = profile.name if all(node.circumstances.is_sound for node in nodes) else f"{profile.name} (not sound)"
    kernels = {kernel: _derived(quantity, how) for kernel, quantity in profile.calibration.items()}
    cold = None if profile.cold_seconds is None else _derived(profile.cold_seconds, how)
    return replace(profile, name=name, calibration=kernels, cold_seconds=cold)


Q = TypeVar("Q", Calibrated, UncertainQuantity[float], Quantity[float])


def _derived(quantity: Q, how: str) -> Q:
    return replace(quantity, provenance="derived", source=f"{quantity.source}; {how}")


class _Change(NamedTuple):
    """How times change at each item or size: ``factors * time + more``, in seconds."""

    factors: Floats
    more: Floats

    def of(self, times: Floats) -> Floats:
        """Return the times of one unit, shape ``(n_sizes, n_rounds)``, changed."""
        changed: Floats = np.maximum(times * self.factors[:, None] + self.more[:, None], MIN_SECONDS)
        return changed


class _Changes:
    """Finds how measured times change into those that nodes learned."""

    def __init__(self, shipped: LearnedTimes, nodes: Sequence[LearnedTimes]) -> None:
        self._shipped, self._nodes = shipped, nodes

    def of(self, unit: Unit, regime: Regime, sizes: Floats, measured: Floats) -> _Change:
        """Return the change of one unit; `measured`: its seconds, shape ``(n_sizes, n_rounds)``."""
        learned, typical = self._at(unit, regime, sizes, self._nodes), np.median(measured, axis=1)
        shipped = self._at(unit, regime, sizes, [self._shipped])
        if unit == WAKING or shipped.min() <= 0.0:
            return _Change(np.ones(len(sizes)), learned - typical)
        return _Change(learned / shipped * (shipped.sum() / typical.sum()), np.zeros(len(sizes)))

    def of_models(self, regime: Regime) -> float:
        """Return the factor of models in the median, over models that nodes ran; of most units if they ran none."""
        ran = {unit for node in self._nodes for r, unit in node.histories if r == regime and isinstance(unit, int)}
        middle = np.array([self._shipped.middle])
        pairs = [
            [self._at(unit, regime, middle, times)[0] for times in (self._nodes, [self._shipped])]
            for unit in sorted(ran - {-1}) or [0]
        ]
        return float(np.median([learned / shipped for learned, shipped in pairs if shipped > 0.0] or [1.0]))

    def of_answers(self, units: Sequence[str], regime: Regime, there: ItemSamples) -> ItemSamples:
        """Return answers in one regime with changed times."""
        seconds = [
            self.of(unit, regime, there.sizes, there.seconds[k]).of(there.seconds[k]) for k, unit in enumerate(units)
        ]
        factor = self.of_models(regime)
        models = {name: np.maximum(times * factor, MIN_SECONDS) for name, times in there.models.items()}
        return replace(there, seconds=np.array(seconds), models=models)

    def _at(self, unit: Unit, regime: Regime, sizes: Floats, nodes: Sequence[LearnedTimes]) -> Floats:
        """Return the seconds of a unit at some sizes, in the median over nodes."""
        found = [[1e-9 * times.expected_ns((regime, unit), size) for size in sizes.tolist()] for times in nodes]
        medians: Floats = np.median(found, axis=0)
        return medians


def _times_of(nodes: Sequence[LearnedFile], bundle: Bundle) -> list[LearnedTimes]:
    kinds = {tuple(node.machine[name] for name in KIND) for node in nodes}
    if len(kinds) != 1:
        raise FitError(f"All nodes must be of one kind. Got {sorted(kinds)}. Give the files of one kind only.")
    found = [Recalled(node.learned, bundle, LearnedTimes(bundle, bundle.promise.budgets[0])).times for node in nodes]
    if strange := [k for k, times in enumerate(found) if not times.histories]:
        raise FitError(
            f"Each node must have learned with this bundle, or with one of the same features. The file number "
            f"{strange[0] + 1} has not, or nothing yet. Give the bundle that it ran with."
        )
    return found


def _notes(nodes: Sequence[LearnedFile]) -> list[str]:
    """Return how the times came about, those of nodes whose clocks were lowered first."""
    notes = [
        f"{'learned, not measured' if node.circumstances.is_sound else 'NOT SOUND'}: {node.note}"[:MOST_CHARS]
        for node in sorted(nodes, key=lambda node: node.circumstances.is_sound)
    ]
    more = len(notes) - MOST_NOTES
    return notes if more <= 0 else [*notes[:MOST_NOTES], f"and of {more} more nodes"]


def _kind(node: LearnedFile) -> dict[str, str]:
    return {name: uncontrolled(text) for name, text in node.machine.items()}


def _found(nodes: Sequence[LearnedFile]) -> str:
    answers = sum(node.learned.answers for node in nodes)
    return f"scaled to what {len(nodes)} node{'s' * (len(nodes) > 1)} learned from {answers} answers"
