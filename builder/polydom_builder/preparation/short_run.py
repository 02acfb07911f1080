"""A short run of all that comes after the measurement, so that an error appears now and not after hours of training."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from polydom_builder.bundling.export import Order
from polydom_builder.exceptions import ExportError, TrainingError
from polydom_builder.training.conversion import converted_models
from polydom_builder.training.families import named
from polydom_builder.training.onnx import OnnxVersions, check_parity, to_onnx
from polydom_builder.training.trainer import Trainer
from polydom_runtime.bundles.engines import InputRow, ModelRunner
from polydom_runtime.exceptions import BundleFormatError

FEW_ITEMS = 20
"""Items of each class; for a regression twice as many items."""

MOST_COMPARED, MOST_MISMATCHES = 1000, 0.1
"""Items that are compared, and the share of them on which an exported model may differ here: trained on few items, it
may find classes equally likely. A conversion that loses the labels differs on more."""

FAIR_SPREADS = 1e-15, 1e15
"""The squares of differences of features, and of their inverses, are within float32, with room for sums."""

POWERS = np.geomspace(0.25, 8.0, 41).round(3)
"""The powers that are tried, 1 among them: from those for much too sure probabilities to much too unsure ones."""


def tried_out(
    trainers: Mapping[str, Trainer],
    versions: OnnxVersions,
    max_mismatches: int,
    sure: bool = False,
    most: int | None = None,
) -> dict[str, Trainer]:
    """Train models of the widest and the narrowest set of each estimator, convert and load them, and compare answers.

    This is done on a few items first, and where models are exported later: in a worker if there are workers. The
    estimators then see the labels as given, or class numbers if they train on these only, as XGBoost does. With costs
    of errors it is known how sharp probabilities must be.

    `max_mismatches`: see `SearchLimits`. `sure`: whether the node will ask models for their scores. `most`: the number
    of features that a pre-selection is going to leave.
    """
    found = {}
    for name, trainer in trainers.items():
        with named(name):
            found[name] = _tried_out(trainer, versions, max_mismatches, sure, most)
    return found


def _tried_out(trainer: Trainer, versions: OnnxVersions, max_mismatches: int, sure: bool, most: int | None) -> Trainer:
    widths = [len(columns) for columns in trainer.table.columns]
    narrowest = min(range(len(widths)), key=widths.__getitem__)
    orders: list[Order] = [tuple(range(len(widths))[:most]), (narrowest,)]
    trainer = _with_labels_that_fit(trainer, orders[0])
    try:
        Parallel(n_jobs=trainer.n_jobs)(delayed(_run)(trainer.lean, order, versions, sure) for order in orders)
    except ExportError as e:
        if effective_n_jobs(trainer.n_jobs) > 1:
            for order in orders:
                _run(trainer.lean, order, versions, sure)
            raise ExportError(
                f"Models must be converted in worker processes, too. It works here, and not there: {e} Call "
                "update_registered_converter in the module of the estimator, which workers import, or set n_jobs=1."
            ) from e
        raise
    if trainer.errors is not None:
        trainer = replace(trainer, sharpness=sharpness_of(trainer, orders[0]))
    converted_models(trainer, orders, versions, max_mismatches)
    return trainer


def _run(trainer: Trainer, order: Order, versions: OnnxVersions, sure: bool) -> None:
    classes, name = trainer.seen_classes, trainer.name_of(order)
    rows = trainer.table.rows_of(order)[:: max(len(trainer.table.rows) // MOST_COMPARED, 1)]
    model = trainer.fit(order, _few(trainer))
    if sure and not classes:
        raise TrainingError("confidence and early_stop must be left out for a regressor, which is never sure.")
    if sure and not (hasattr(model, "predict_proba") or hasattr(model, "decision_function")):
        raise TrainingError(
            "confidence and early_stop need an estimator with probabilities or decision values. "
            f"{type(model).__name__} has none. Choose another, or leave them out."
        )
    if trainer.errors is not None and not hasattr(model.model, "predict_proba"):
        raise TrainingError(
            f"costs_of_errors needs an estimator with probabilities. {type(model.model).__name__} has none. Wrap it in "
            "CalibratedClassifierCV, or choose another."
        )
    data = to_onnx(model, rows.shape[1], versions, classes)
    most = int(MOST_MISMATCHES * len(rows))
    try:
        ModelRunner(data, InputRow(rows.shape[1]), rows.shape[1], len(classes), sure)
        check_parity(name, trainer.codes(model, rows), data, rows, most, classifies=len(classes) > 0)
    except BundleFormatError as e:
        why = _beyond_float32(trainer, order, rows)
        if "finite numbers" in str(e) and not why:
            why = " Float32 cannot hold a number of the fitted estimator. Look at its parameters, such as class_weight."
        raise ExportError(f"The node must be able to run the exported model of {name}. {e}{why}") from e
    except ExportError as e:
        raise ExportError(f"{e}{_beyond_float32(trainer, order, rows)}") from e


def _beyond_float32(trainer: Trainer, order: Order, rows: NDArray[np.float32]) -> str:
    """Return what to do about features that float32 cannot scale or square, empty if there are none."""
    low, high = FAIR_SPREADS
    found: dict[str, float] = {}
    for feature, place in trainer.table.places_of(order).items():
        for spread in np.ptp(rows[:, place].astype(np.float64), axis=0).tolist():
            if spread and not low <= spread <= high:
                found[trainer.name_of([feature])] = spread
    each = ", ".join(f"by {spread:.0e} in {name}" for name, spread in found.items())
    return f" Items differ {each}: float32 cannot hold the square or the inverse. Multiply that." if found else ""


def _with_labels_that_fit(trainer: Trainer, order: Order) -> Trainer:
    few, classes = _few(trainer), trainer.table.classes.tolist()
    try:
        trainer.fit(order, few)
    except TrainingError as e:
        if classes in ([], list(range(len(classes)))) or _names_labels(trainer.estimator, classes):
            raise
        trainer = replace(trainer, by_number=True)
        try:
            trainer.fit(order, few)
        except TrainingError:
            raise e from None
    return trainer


def _few(trainer: Trainer) -> NDArray[np.intp]:
    table, weights = trainer.table, trainer.weights
    counting: NDArray[np.intp] = np.arange(len(table.rows)) if weights is None else np.flatnonzero(weights)
    targets = table.targets[counting]
    if len(table.classes):
        return np.concatenate([counting[targets == c][:FEW_ITEMS] for c in range(len(table.classes))])
    # The lowest, the highest and some numbers between: some models cannot fit equal numbers.
    spread = np.linspace(0, len(counting) - 1, min(len(counting), 2 * FEW_ITEMS)).astype(np.intp)
    few: NDArray[np.intp] = counting[np.argsort(targets, kind="stable")[spread]]
    return few


def _names_labels(estimator: Any, classes: list[Any]) -> bool:
    """Tell whether a parameter is a dictionary by label, or a label: it would mean another class, or none."""
    return any(
        (isinstance(value, Mapping) and set(value) & set(classes))
        or (name.rpartition("__")[2] == "pos_label" and value in classes)
        for name, value in estimator.get_params(deep=True).items()
    )


def sharpness_of(trainer: Trainer, order: Order) -> float:
    """Return the power to which probabilities are closest to the truth on held-out items, once they sum to 1 again.

    Estimators that are regularised, and forests of low trees, are too unsure: by their probabilities, an error that
    costs more would be feared too often. A power of one set does for others: that of each set by itself is near to it.

    `order`: the features of the set that is trained for it.
    """
    held_out = trainer.memory.cache(_held_out, ignore=["trainer"])
    tasks = (delayed(held_out)(trainer.lean, trainer.key, order, fold) for fold in range(len(trainer.splits)))
    probabilities = np.concatenate(Parallel(n_jobs=trainer.n_jobs)(tasks))
    items = np.concatenate([test for _, test in trainer.splits])
    truth = np.eye(len(trainer.table.classes))[trainer.table.targets[items]]
    weights = None if trainer.weights is None else trainer.weights[items]

    def loss(power: float) -> float:
        sharp = probabilities**power
        sharp /= np.maximum(sharp.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return float(np.average(((sharp - truth) ** 2).sum(axis=1), weights=weights))

    return float(min(POWERS, key=lambda power: (loss(power), abs(power - 1.0))))


def _held_out(trainer: Trainer, key: str, order: Order, fold: int) -> NDArray[Any]:
    train, test = trainer.splits[fold]
    rows = trainer.table.rows_of(order, test)
    return np.asarray(trainer.fit(order, train).predict_proba(rows), dtype=np.float64)
