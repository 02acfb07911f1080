"""Risk against coverage at each deadline: held-out answers of the models that answer there."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polydom_builder.simulation.recorded import N_TYPICAL
from polydom_builder.simulation.simulate import simulate
from polydom_builder.simulation.trials import Trials
from polydom_builder.training.trainer import Trainer
from polydom_runtime.arrays import Bools, Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.confidence import Confidence, Risk, RiskPoint
from polydom_runtime.describing.outlook_table import in_range, times_of_regimes

from .calibration import HALF_ANSWER, HeldOut, calibrate, calibration_error, crossed
from .export import ExportedModel

COVERAGES = np.arange(1.0, 0.04, -0.05)
FEWEST_ANSWERS = 30
"""The fewest given answers at a threshold: fewer cannot show a risk."""


def calibrated(bundle: Bundle, exported: Sequence[ExportedModel], trainer: Trainer) -> Bundle:
    """Return the bundle with the calibration of each model, and the share of the prior's class."""
    fits = [calibrate(found.scores, found.hits, found.weights) for found in held_out_of(bundle, exported)]
    models = tuple(entry._replace(calibration=fit) for entry, fit in zip(bundle.models, fits, strict=True))
    is_prior = _is_prior(bundle, trainer)
    return replace(bundle, models=models, confidence=Confidence(float(np.average(is_prior, weights=trainer.weights))))


def _is_prior(bundle: Bundle, trainer: Trainer) -> Bools:
    """Return which items have the label of the prior, or the most frequent one if the prior is to abstain."""
    targets, number = trainer.table.targets, bundle.prior.number
    if number == len(bundle.space.classes):
        number = int(np.bincount(targets, trainer.weights).argmax())
    found: Bools = targets == number
    return found


def held_out_of(bundle: Bundle, exported: Sequence[ExportedModel]) -> list[HeldOut]:
    """Return the held-out answers of the models of a bundle, in their order."""
    found = {(model.order, hashlib.sha256(model.onnx_bytes).digest()): model.held_out for model in exported}
    return [held_out for entry in bundle.models if (held_out := found[entry.order, entry.sha256]) is not None]


def with_risks(bundle: Bundle, exported: Sequence[ExportedModel], trainer: Trainer, sizes: Sequence[float]) -> Bundle:
    """Return a calibrated bundle with its risks; any other one as it is.

    Each held-out item is answered as an item of its size would be at the deadline, if all takes its typical time. Its
    confidence is by a calibration on other folds. `sizes`: the size of each item of the training; others, which are
    expected on the node, are spread over the items.
    """
    if bundle.confidence is None:
        return bundle
    models = held_out_of(bundle, exported)
    n_items = len(trainer.table.targets)
    if len(sizes) != n_items:
        sizes = np.resize(np.random.default_rng(0).permutation(sizes), n_items).tolist()
    within = np.clip(sizes, *bundle.promise.sizes)
    answers = _Answers(bundle, models, [crossed(model) for model in models], trainer, within)
    risks = (
        answers.risk(regime, outlook.deadline)
        for regime, times in times_of_regimes(bundle).items()
        for outlook in in_range(times.outlook, bundle.promise)
    )
    return replace(bundle, confidence=bundle.confidence._replace(risks=tuple(risks)))


class _Answers:
    """The held-out answers of all models, and who answers at which size."""

    def __init__(
        self, bundle: Bundle, models: Sequence[HeldOut], confidences: Sequence[Floats], trainer: Trainer, sizes: Floats
    ) -> None:
        self._bundle, self._sizes = bundle, sizes
        n_items = len(sizes)
        every = np.ones(n_items) if trainer.weights is None else trainer.weights
        # The row of the prior is the last one.
        self._hits, self._sure, self._said = np.zeros((3, len(models) + 1, n_items))
        self._hits[-1] = _is_prior(bundle, trainer)
        self._said[-1] = bundle.prior.number < len(bundle.space.classes)
        self._sure[-1] = bundle.confidence.prior if bundle.confidence else 0.0
        for row, (model, sure) in enumerate(zip(models, confidences, strict=True)):
            # An item that was held out several times counts with its last answer.
            for known, values in ((self._hits, model.hits), (self._sure, sure), (self._said, model.said)):
                known[row, model.items] = values
        self._items = np.unique(models[0].items) if models else np.flatnonzero(every)
        self._weights = every[self._items]

    def risk(self, regime: Regime, deadline: float) -> Risk:
        """Return the risk at one deadline."""
        rows = self._who_answers(regime, deadline)
        sure = self._sure[rows, self._items]
        hits, said = (known[rows, self._items] > 0.0 for known in (self._hits, self._said))
        error = calibration_error(sure, hits, self._weights)
        return Risk(regime, deadline, error, risk_points(sure, hits, self._weights, said))

    def _who_answers(self, regime: Regime, deadline: float) -> NDArray[np.intp]:
        """Return the row of the model that answers each item."""
        bundle, sizes = self._bundle, self._sizes[self._items]
        typical = np.unique(np.quantile(sizes, np.linspace(0.0, 1.0, N_TYPICAL), method="nearest"))
        trials = Trials.typical(bundle.at(deadline, regime), typical.tolist())
        answers = simulate(bundle, trials, deadline, regime=regime, adapt=False).answers
        known = {(c.features, c.accuracy): k for k, c in enumerate(map(bundle.candidate, range(len(bundle.models))))}
        rows = np.array([known.get((a.features, a.accuracy), -1) for a in answers])
        found: NDArray[np.intp] = rows[np.searchsorted(typical, sizes)]
        return found


def risk_points(confidences: Floats, hits: Bools, weights: Floats, said: Bools | None = None) -> tuple[RiskPoint, ...]:
    """Return a point for each threshold; they answer about 100, 95, 90 ... 5 % of the items, and the first one is 0.

    A risk counts half a wrong and half a right answer more, as confidences do: few right answers are no proof. Without
    those `said`, all are; the others are not answered at any threshold.
    """
    surest = np.argsort(-confidences, kind="stable")
    sure, every = confidences[surest], weights[surest] / weights.mean()
    given = np.ones(len(sure)) if said is None else said[surest].astype(np.float64)
    mass, wrong = np.cumsum(every * given), np.cumsum(every * given * ~hits[surest])
    ends = np.flatnonzero(np.append(sure[1:] < sure[:-1], True))  # all answers of equal confidence are given or none
    ends = ends[(np.cumsum(given)[ends] >= FEWEST_ANSWERS) | (ends == len(sure) - 1)]
    coverage, risk = np.minimum(mass / np.cumsum(every)[-1], 1.0), (wrong + HALF_ANSWER) / (mass + 2 * HALF_ANSWER)
    chosen = sorted({int(np.abs(coverage[ends] - wanted).argmin()) for wanted in COVERAGES}, reverse=True)
    points = [RiskPoint(float(sure[k]), float(coverage[k]), float(risk[k])) for k in ends[chosen]]
    return points[0]._replace(threshold=0.0), *points[1:]
