"""From chosen feature sets to a bundle on disk: plans, exported models, scores measured again, files."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from polydom_builder.costs.combined_costs import Combine
from polydom_builder.costs.model_times import ModelTimes
from polydom_builder.costs.target import Target
from polydom_builder.costs.unit_costs import UnitCosts
from polydom_builder.exceptions import ExportError
from polydom_builder.index import build_index
from polydom_builder.lattice.region import QueryRegion
from polydom_builder.training.onnx import OnnxModel, OnnxVersions, check_parity, to_onnx
from polydom_builder.training.trainer import Trainer
from polydom_builder.verification.proof_file import PROOF_FILE
from polydom_runtime.bundles.bundle import MODEL_FOLDER, Bundle, ModelEntry, model_file
from polydom_runtime.bundles.index_file import DIGEST_FILE, INDEX_FILE, digest_line, encode, load_bundle
from polydom_runtime.costs import CostFunction
from polydom_runtime.features import FeatureSpace, members
from polydom_runtime.measuring.conditions import identity

from .early_stop import fit_stops
from .folders import replace_folder

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """An exported model and its held-out score, measured through the exported form."""

    order: Order
    onnx_bytes: bytes
    accuracy: float


def plan_order(mask: int, units: UnitCosts, size: float) -> Order:
    """Return the features of a set in the order in which the node computes them: cheapest first at `size`.

    Cheap first, so that when time runs short most of the set is already computed, and so that sets share prefixes. A
    step is charged to the first feature that uses it.
    """
    left, done = set(members(mask)), 0
    order: list[int] = []
    while left:
        due = [step for step in units.steps if not step.users & done]
        costs = {i: units.features[i](size) + sum(s.cost(size) for s in due if s.users >> i & 1) for i in left}
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


def export_models(
    trainer: Trainer,
    orders: Sequence[Order],
    names: Sequence[str],
    versions: OnnxVersions,
    max_mismatches: int,
    progress: Callable[[int], None],
) -> list[ExportedModel]:
    """Train, convert, check and score a model for each order, in parallel and cached."""
    export = trainer.memory.cache(_export_one, ignore=["trainer", "name"])
    lean, key = trainer.lean, trainer.key
    tasks = (
        delayed(export)(lean, key, order, "+".join(names[i] for i in order), versions, max_mismatches)
        for order in orders
    )
    models = []
    for model in Parallel(n_jobs=trainer.n_jobs, return_as="generator")(tasks):
        models.append(model)
        progress(1)
    return models


def _export_one(
    trainer: Trainer, key: str, order: Order, name: str, versions: OnnxVersions, max_mismatches: int
) -> ExportedModel:
    rows = trainer.table.rows_of(order)
    model = trainer.fit(order)
    data = to_onnx(model, rows.shape[1], versions)
    check_parity(name, model, data, rows, max_mismatches, classifies=len(trainer.table.classes) > 0)
    classifies = len(trainer.table.classes) > 0
    accuracy = trainer.score(order, lambda fold: OnnxModel(to_onnx(fold, rows.shape[1], versions), classifies))
    return ExportedModel(order, data, accuracy)


def assemble(
    space: FeatureSpace,
    trainer: Trainer,
    target: Target,
    region: QueryRegion,
    exported: Sequence[ExportedModel],
    *,
    prior: tuple[int | float, float],
    alpha: float = 1.0,
    tolerance: float = 0.0,
    slowdown: float = 1.0,
    combine: Combine | None = None,
    sequences: Sequence[Order] = (),
    median_size: float = 0.0,
    early_stop: float | None = None,
) -> tuple[Bundle, list[bytes]]:
    """Return the bundle and its models; their own times and scores decide where each set is best.

    With `sequences` it is a greedy bundle, which keeps every model and has no index.
    """
    n_classes = len(trainer.table.classes)
    units, times = target.units, ModelTimes(target.models)
    here = identity()
    timed = trainer.memory.cache(_time_model, ignore=["times", "rows"])
    entries = []
    for model in exported:
        seconds = units.model_seconds
        if seconds is None:
            rows = trainer.table.rows_of(model.order)
            seconds = timed(times, times.device, here, model.onnx_bytes, rows[:: max(len(rows) // 256, 1)], n_classes)
        digest = hashlib.sha256(model.onnx_bytes).digest()
        entries.append(ModelEntry(model.order, model.accuracy, seconds, len(model.onnx_bytes), digest))
    whole = units.set_costs(0.0, combine, space.names)
    draft = Bundle(
        names=space.names,
        widths=space.widths,
        classes=tuple(trainer.table.classes.tolist()),
        sizes=region.sizes,
        budgets=(min(region.budgets[0] * slowdown, region.budgets[1]), region.budgets[1]),
        alpha=alpha,
        tolerance=tolerance,
        costs=units.features,
        steps=units.steps,
        dispatch=units.dispatch,
        prior=prior,
        models=tuple(entries),
        set_costs=tuple(whole(e.mask) + CostFunction.of(e.seconds) for e in entries) if combine else (),
        sequences=tuple(sequences),
        median_size=median_size,
        slowdown=slowdown,
        origin=target.origin,
    )
    bundle = draft if sequences else _indexed(draft, region)
    if early_stop is not None:
        stops = fit_stops(trainer, [entry.order for entry in bundle.models], early_stop)
        bundle = replace(bundle, stops=stops, stop_loss=early_stop)
    target.check_memory(
        ["+".join(space.names[i] for i in entry.order) for entry in bundle.models],
        [entry.size_bytes for entry in bundle.models],
    )
    data = {model.order: model.onnx_bytes for model in exported}
    return bundle, [data[entry.order] for entry in bundle.models]


def _indexed(draft: Bundle, region: QueryRegion) -> Bundle:
    """Return the bundle with its index, and with the models that the index needs."""
    entries = draft.models
    # Scores are not quite monotone, so a prefix may be worth more than what it is a prefix of: all may be candidates.
    candidates = {draft.candidate(number): number for number in range(len(entries))}
    index = build_index([draft.empty, *candidates], region)
    shipped = [candidates[c] for c in index.candidates[1:]]
    used = with_prefixes([entries[number].order for number in shipped])
    kept = [number for number, entry in enumerate(entries) if entry.order in set(used)]
    return replace(
        draft,
        models=tuple(entries[number] for number in kept),
        shipped=tuple(kept.index(number) for number in shipped),
        intervals=index.intervals,
        set_costs=tuple(draft.set_costs[number] for number in kept) if draft.set_costs else (),
    )


def _time_model(
    times: ModelTimes,
    device: Mapping[str, float],
    machine: Mapping[str, Any],
    onnx_bytes: bytes,
    rows: NDArray[np.float32],
    n_classes: int,
) -> float:
    """Time a model; `device` and `machine` are what the time depends on besides, for caching."""
    return times(onnx_bytes, rows, n_classes)


def write_bundle(
    folder: str | os.PathLike[str], bundle: Bundle, models: Sequence[bytes], proof: bytes | None = None
) -> None:
    """Write a bundle into a new folder and put it in place in one step: there is the old bundle or the new one.

    Raises
    ------
    ExportError
        If `folder` exists and is not a bundle, or cannot be written.
    """
    target = checked_target(folder)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
            new = Path(scratch) / "bundle"
            (new / MODEL_FOLDER).mkdir(parents=True)
            for number, data in enumerate(models):
                _write(new / MODEL_FOLDER / model_file(number), data)
            index = encode(bundle)
            _write(new / INDEX_FILE, index)
            _write(new / DIGEST_FILE, digest_line(index))
            if proof is not None:
                _write(new / PROOF_FILE, proof)
            load_bundle(new)
            replace_folder(new, target)
    except OSError as e:
        raise ExportError(f"{target} must be writable. {e}") from e


def checked_target(folder: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a bundle to write; ExportError if nothing may or can be written there."""
    target = Path(folder).absolute()
    if target.exists() and not (target / INDEX_FILE).is_file():
        raise ExportError(f"{target} must be a new folder or an old bundle, which would be replaced. It is neither.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as e:
        raise ExportError(f"The folder of {target} must be writable. {e}") from e
    return target


def _write(file: Path, data: bytes) -> None:
    with open(file, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
