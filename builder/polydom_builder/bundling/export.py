"""From chosen feature sets to exported models: the order of their features, the conversion, and the scores after it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from joblib import delayed
from numpy.typing import NDArray

from polydom_builder.training.conversion import checked_model
from polydom_builder.training.families import Family
from polydom_builder.training.onnx import OnnxModel, OnnxVersions, to_onnx
from polydom_builder.training.trainer import Trainer
from polydom_builder.training.workers import in_order
from polydom_runtime.bundles.model_entry import Estimate
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.features import members

from .calibration import HeldOut, held_out

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """An exported model and its held-out score, measured with models in exported form."""

    order: Order
    onnx_bytes: bytes
    accuracy: float
    """The held-out score: the corrected one if there is an `estimate`, which has the measured one."""
    estimate: Estimate | None = None
    estimator: str = ""
    held_out: HeldOut | None = None
    """The answers on held-out items, if they were asked for."""


def plan_order(mask: int, times: UnitTimes, size: float) -> Order:
    """Return the features of a set in the order in which the node computes them: cheapest first at `size`.

    If the time ends early, most features of the set are then computed already. It also makes sets share prefixes. The
    cost of a step counts for the first feature that uses it.
    """
    left, done = set(members(mask)), 0
    order: list[int] = []
    while left:
        due = [step for step in times.steps if not step.users & done]
        costs = {i: times.features[i](size) + sum(s.cost(size) for s in due if s.users >> i & 1) for i in left}
        first = min(left, key=lambda i: (costs[i], i))
        done |= 1 << first
        left.remove(first)
        order.append(first)
    return tuple(order)


def with_prefixes(orders: Sequence[Order]) -> list[Order]:
    """Return all non-empty prefixes of the orders, each once, shorter before longer.

    >>> with_prefixes([(0, 2), (0, 1, 2)])
    [(0,), (0, 1), (0, 2), (0, 1, 2)]
    """
    return sorted({order[:k] for order in orders for k in range(1, len(order) + 1)}, key=lambda o: (len(o), o))


def models_to_export(chosen: Sequence[tuple[Order, str]], quickest: str) -> list[tuple[Order, str]]:
    """Return the orders and the estimators of the models of a bundle: those chosen, and the quickest for each prefix.

    So an answer is never far away. The empty set needs no model.

    >>> models_to_export([((0, 1), "trees")], "lines")
    [((0,), 'lines'), ((0, 1), 'lines'), ((0, 1), 'trees')]
    """
    quick = [(order, quickest) for order in with_prefixes([order for order, _ in chosen])]
    return sorted(dict.fromkeys([*quick, *filter(itemgetter(0), chosen)]), key=lambda model: (len(model[0]), model[0]))


def export_models(
    family: Family,
    orders: Sequence[Order],
    names: Sequence[str],
    versions: OnnxVersions,
    max_mismatches: int,
    progress: Callable[[int], None],
    sure: bool = False,
) -> list[ExportedModel]:
    """Train, convert, check and score a model for each order, in parallel and cached.

    `names`: the names of all features, for messages. `versions`: the newest ONNX versions that the device loads.
    `max_mismatches`: see `SearchLimits`. `progress`: called with 1 after each model. `sure`: whether to keep the
    answers on held-out items, with their scores.
    """
    trainer = family.trainer
    export = trainer.memory.cache(_export_one, ignore=["trainer", "name"])
    lean, key = trainer.lean, trainer.key
    tasks = (
        delayed(export)(lean, key, order, "+".join(names[i] for i in order), versions, max_mismatches, sure)
        for order in orders
    )
    models = []
    for order, (data, accuracy, answers) in zip(orders, in_order(tasks, trainer.n_jobs), strict=True):
        answered = HeldOut(*answers) if sure else None
        models.append(ExportedModel(order, data, accuracy, estimator=family.name, held_out=answered))
        progress(1)
    return models


def _export_one(
    trainer: Trainer, key: str, order: Order, name: str, versions: OnnxVersions, max_mismatches: int, sure: bool
) -> tuple[bytes, float, list[NDArray[Any]]]:
    data = checked_model(trainer, key, order, versions, max_mismatches)
    width, classes = trainer.table.rows_of(order).shape[1], trainer.seen_classes
    folds: list[OnnxModel] = []

    def converted(fold: Any) -> OnnxModel:
        folds.append(OnnxModel(to_onnx(fold, width, versions, classes), len(classes) > 0))
        return folds[-1]

    accuracy = trainer.score(order, converted)
    return data, accuracy, held_out(trainer, order, folds) if sure else []
