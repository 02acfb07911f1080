"""Recorded answers to replay, and the upper bound of the share of late ones.

Late answers are rare and recorded ones few, so a count of them jumps from none to more than is promised. So each
recorded answer stands for items of like size, too: all its times go there together, each in proportion to the typical
one, and what slowed several of its units still does. The share of late ones is smooth then. It tells no more than the
recorded answers do, so its bound goes by their number, and by that of the items if all answers to one are late.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from polydom_builder.exceptions import FitError
from polydom_runtime.arrays import Bools, Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.measuring.cost_samples import AROUND, MODEL_QUANTILE, CostSamples, ItemSamples, Pauses

from .simulate import Simulated
from .trials import Trials, items_of

N_TYPICAL = 200
"""The number of items that take typical times."""

N_TRIALS = 3000
"""About so many answers are replayed. Of more recorded ones, whole rounds are left out."""

LIKE_SIZE = 12
"""Of all items by size, those of like size are this part, around the one that was measured."""

CONFIDENCE = 0.5
"""The chance that the true share is below its bound. The node has a margin of its own, by which it keeps the promise;
a higher bound here would waste a part of the promise, more of it the fewer answers there are."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Recorded answers to replay."""

    trials: Trials
    sources: NDArray[np.intp]
    """Shape (n_trials,). The number of the item, or round, that the times of each trial are from."""
    n_answers: int
    """The number of recorded answers that the trials are made from; 0 if they take typical times."""
    pauses: Pauses = field(default_factory=Pauses)
    """The pauses of the machine, which are in none of the times."""

    @classmethod
    def of(cls, bundle: Bundle, samples: CostSamples, regime: Regime = "hot") -> "Recorded":
        """Return the answers that tables of deadlines rest on, the same ones for the same bundle and samples.

        `bundle`: has the typical times of units, and the times that models state. Answers to items as they come are
        taken, or whole rounds where no items were measured so. `FitError` if the samples lack a unit of the bundle, or
        the regime.
        """
        needed = [*(step.name for step in bundle.times.worst.steps), *bundle.names, *AROUND]
        if missing := [unit for unit in needed if unit not in samples.units]:
            raise FitError(
                f"The costs must be of the bundle's features. Missing: {', '.join(missing)}. Measure its feature space."
            )
        samples.check()
        has_items = regime in samples.items or regime != "hot"
        return cls.to_items(bundle, samples, regime) if has_items else cls.of_rounds(bundle, samples)

    @classmethod
    def typical(cls, bundle: Bundle, sizes: Sequence[float]) -> "Recorded":
        """Return items of sizes like these whose units take their typical times: for times that cannot be replayed."""
        spread = np.quantile(np.clip(sizes, *bundle.promise.sizes), np.linspace(0.0, 1.0, N_TYPICAL), method="nearest")
        return cls(Trials.typical(bundle, spread.tolist()), np.arange(N_TYPICAL), 0)

    @classmethod
    def to_items(cls, bundle: Bundle, samples: CostSamples, regime: Regime, seed: int = 0) -> "Recorded":
        """Return answers that were recorded in a regime, each equally often, at sizes like that of its item."""
        items = _some(items_of(samples, regime))
        sizes, n_items, n_answers = items.sizes, len(items.sizes), int(items.seconds[0].size)
        count = n_answers * max(round(N_TRIALS / n_answers), 1)
        own = Trials.as_they_came(replace(samples, items={regime: items}), count, regime)
        sources = np.arange(len(own)) % n_items
        by_size, far = np.argsort(sizes, kind="stable"), n_items // (2 * LIKE_SIZE)
        moved = np.random.default_rng(seed).integers(-far, far, len(own), endpoint=True)
        places = np.clip(np.argsort(by_size)[sources] + moved, 0, n_items - 1)
        trials = _moved(own, sizes[by_size[places]], bundle.at(1.0, regime))
        return cls(trials, sources, n_answers, samples.pauses)

    @classmethod
    def of_rounds(cls, bundle: Bundle, samples: CostSamples, seed: int = 0) -> "Recorded":
        """Return items of the bundle's sizes, spread on the log scale, with the times of whole rounds."""
        low, high = np.log(np.maximum(bundle.promise.sizes, 1e-9))
        drawn = np.exp(np.random.default_rng(seed).uniform(low, high, N_TRIALS))
        in_order = np.arange(N_TRIALS) * samples.n_rounds // N_TRIALS  # as the rounds are in `Trials.drawn`
        return cls(Trials.drawn(samples, drawn.tolist(), seed), in_order, samples.n_rounds, samples.pauses)

    def in_time(self, met: Bools, seconds: Floats, deadline: float) -> Floats:
        """Return the probability that each answer is in time on the machine with its pauses, shape ``(n_trials,)``.

        `met`, `seconds`: whether it is without pauses, and how long it works.
        """
        probabilities: Floats = met * (1.0 - self.pauses.late_shares(seconds, deadline))
        return probabilities

    def slowed(self, factor: float) -> "Recorded":
        """Return the same answers with all times multiplied by a factor, but for pauses."""
        return replace(self, trials=self.trials.slowed(factor))

    def late_bound(self, outcome: Simulated) -> float:
        """Return the bound of the share of late answers that a replay of these had."""
        late = np.array([not answer.deadline_met for answer in outcome.answers], dtype=np.float64)
        return upper_bound(late, self.sources, self.n_answers)


def upper_bound(late: Floats, sources: NDArray[np.intp], n_answers: int) -> float:
    """Return the bound of the share of late answers; those from the same source may be late together.

    `late`: 1 for a late answer, 0 for another; shape ``(n_trials,)``. `sources`: numbers of the same shape.
    `n_answers`: the number of answers that the trials are made from.

    >>> from polydom_builder.simulation.recorded import upper_bound
    >>> one_late = np.arange(300) == 7
    >>> round(upper_bound(one_late.astype(float), np.arange(300), 300), 4)
    0.0056
    """
    counts, sums = np.bincount(sources), np.bincount(sources, late)
    share, n = float(late.mean()), float(np.count_nonzero(counts))
    spread = float(np.square(sums - share * counts).sum()) / len(late) ** 2
    if spread > 0.0:
        n = min(max(share * (1.0 - share) / spread, n), n_answers)
    return float(beta.ppf(CONFIDENCE, share * n + 1.0, (1.0 - share) * n)) if share < 1.0 else 1.0


def _some(items: ItemSamples) -> ItemSamples:
    """Return the samples of some items and rounds, spread over all, if there are more than can be replayed."""
    n_items, n_rounds = items.seconds.shape[1:]
    part = items.part(slice(None, None, math.ceil(n_items / N_TRIALS)))
    rounds = slice(None, None, math.ceil(n_rounds / max(N_TRIALS // n_items, 1)))
    models = {name: times[:, rounds] for name, times in part.models.items()}
    return replace(part, seconds=part.seconds[:, :, rounds], models=models)


def _moved(trials: Trials, sizes: Floats, bundle: Bundle) -> Trials:
    """Return trials at other sizes, with the time of each unit in proportion to its typical one.

    A model takes what it states as often as it should. After a sleep, the reference model alone would make it longer,
    since it runs after all features.
    """
    here, there = (Trials.typical(bundle, n.tolist()) for n in (trials.sizes, sizes))
    known = here.seconds > 0.0
    ratios = np.divide(there.seconds, here.seconds, out=np.ones_like(here.seconds), where=known)
    seconds = ratios * [trials.of(unit) for unit in here.units]
    stated, usual = bundle.times.reference_seconds, np.quantile(trials.model_seconds, MODEL_QUANTILE)
    return Trials(here.units, sizes, seconds, trials.model_seconds * (stated / usual if stated else 1.0))
