"""The index file of a bundle, ``index.msgpack``: everything but the models.

Its SHA-256 stands in ``index.sha256``, as ``sha256sum`` writes it; the SHA-256 of each model stands in the index.
"""

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgpack

from polydom_runtime.costs import HUGE, CostFunction
from polydom_runtime.exceptions import BundleFormatError
from polydom_runtime.features import MAX_FEATURES
from polydom_runtime.unit_times import UnitTimes

from . import schema
from .bundle import Bundle, CostOrigin, Label, ModelEntry, StepEntry, read_bounded
from .index import Interval

FORMAT = "polydom-bundle"
VERSION = 4
"""1 did not say where the costs come from; 2 knew neither regressors, greedy sequences nor costs beyond sums; 3 had one
time for each unit, its worst."""

INDEX_FILE, DIGEST_FILE = "index.msgpack", "index.sha256"
MAX_MODELS, MAX_MODEL_BYTES, MAX_CLASSES, MAX_TEXT = 10_000, 1 << 30, 100_000, 1000
MAX_SECONDS = 1e6
"""No model takes so many seconds."""


def load_bundle(folder: str | os.PathLike[str]) -> Bundle:
    """Read a bundle and check it, every model included.

    Raises
    ------
    BundleFormatError
        If a file is missing, cut, altered, too large, of a newer version, or inconsistent with another.
    """
    path = Path(folder)
    if not (path / INDEX_FILE).is_file():
        raise schema.bad(f"{path} must be a bundle folder", f"no file {INDEX_FILE} there", "Give its path.")
    data = read_bounded(path / INDEX_FILE, schema.MAX_INDEX_BYTES)
    digest = read_bounded(path / DIGEST_FILE, 4096)
    if digest != digest_line(data):
        raise schema.bad(f"{path / DIGEST_FILE} must hold the SHA-256 of {INDEX_FILE}", digest[:80])
    bundle = decode(data, path)
    for model in range(len(bundle.models)):
        bundle.model_bytes(model)
    return bundle


def digest_line(index: bytes) -> bytes:
    """Return the content of ``index.sha256``."""
    return f"{hashlib.sha256(index).hexdigest()}  {INDEX_FILE}\n".encode()


def encode(bundle: Bundle) -> bytes:
    """Return the content of ``index.msgpack``."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "names": list(bundle.names),
        "widths": list(bundle.widths),
        "classes": list(bundle.classes),
        "sizes": schema.pack_floats(bundle.sizes),
        "budgets": schema.pack_floats(bundle.budgets),
        "alpha": float(bundle.alpha),
        "tolerance": float(bundle.tolerance),
        "costs": schema.pack_floats([c.weights for c in bundle.costs]),
        "steps": [[s.name, s.users] for s in bundle.steps],
        "step_costs": schema.pack_floats([s.cost.weights for s in bundle.steps]),
        "dispatch": schema.pack_floats(bundle.dispatch.weights),
        "prior": int(bundle.prior[0]) if bundle.classes else float(bundle.prior[0]),
        "prior_accuracy": float(bundle.prior[1]),
        "models": [[list(m.order), m.size_bytes, m.sha256] for m in bundle.models],
        "model_numbers": schema.pack_floats([(m.accuracy, m.seconds) for m in bundle.models]),
        "shipped": list(bundle.shipped),
        "intervals": [i.candidate for i in bundle.intervals],
        "set_costs": schema.pack_floats([c.weights for c in bundle.set_costs]),
        "sequences": [list(s) for s in bundle.sequences],
        "median_size": float(bundle.median_size),
        "expected": _times_rows(bundle.expected),
        "alone": _times_rows(bundle.alone),
        "typical": _times_rows(bundle.typical),
        "stops": schema.pack_floats(bundle.stops),
        "planning_quantile": float(bundle.planning_quantile),
        "guard_quantile": float(bundle.guard_quantile),
        "reference_seconds": float(bundle.reference_seconds),
        "slowdown": float(bundle.slowdown),
        "stop_loss": float(bundle.stop_loss),
        "origin": _origin_row(bundle.origin),
        "interval_ends": schema.pack_floats([(i.start, i.end) for i in bundle.intervals]),
    }
    return bytes(msgpack.packb(document))


def decode(data: bytes, path: Path | None = None) -> Bundle:
    """Return the bundle of an ``index.msgpack``; the inverse of `encode`."""
    d = schema.unpack(data)
    if d.get("format") != FORMAT:
        raise schema.bad(f"The index must have format {FORMAT!r}", d.get("format"))
    version = schema.count(d, "version", 1, 1 << 30)
    if version > VERSION:
        raise schema.bad(f"The bundle version must be at most {VERSION}", version, "Upgrade polydom-runtime.")
    names = tuple(schema.text("A feature name", n) for n in schema.field(d, "names", list))
    f = schema.in_range("The number of features", len(names), 1, MAX_FEATURES)
    widths = tuple(schema.in_range("A width", w, 1, 1 << 24) for w in schema.field(d, "widths", list))
    if len(widths) != f or len(set(names)) != f:
        raise schema.bad("There must be one width for each of the different feature names", (names, widths))
    models = _models(d, f)
    classes = _classes(d, version)
    prior = _prior(d, len(classes)), schema.number(d, "prior_accuracy", -HUGE, HUGE)
    sequences = _sequences(d, {m.order for m in models}, len(models)) if version > 2 else ()
    shipped = tuple(schema.in_range("A model number", s, 0, len(models) - 1) for s in schema.field(d, "shipped", list))
    sizes = schema.ordered("sizes", schema.floats(d, "sizes", (2,)), 0.0)
    if sizes[1] == math.inf:
        raise schema.bad("Field 'sizes' must be finite", sizes)
    return Bundle(
        names=names,
        widths=widths,
        classes=classes,
        sizes=sizes,
        budgets=schema.ordered("budgets", schema.floats(d, "budgets", (2,)), 0.0),
        alpha=schema.number(d, "alpha", 1.0),
        tolerance=schema.number(d, "tolerance", 0.0),
        costs=_costs(d, "costs", f),
        steps=_steps(d, f),
        dispatch=_costs(d, "dispatch", 1)[0],
        prior=prior,
        models=models,
        shipped=shipped,
        intervals=_intervals(d, len(shipped) + 1),
        set_costs=_set_costs(d, len(models)) if version > 2 else (),
        sequences=sequences,
        median_size=schema.number(d, "median_size", 0.0, HUGE) if version > 2 else 0.0,
        expected=_times(d, "expected", f) if version > 3 else None,
        alone=_times(d, "alone", f) if version > 3 else None,
        typical=_times(d, "typical", f) if version > 3 else None,
        **(_planning(d, len(models)) if version > 3 else {}),
        origin=_origin(d) if version > 1 else CostOrigin(),
        path=path,
    )


def _planning(d: Mapping[str, Any], n_models: int) -> dict[str, Any]:
    return {
        "planning_quantile": schema.number(d, "planning_quantile", 0.0, 1.0),
        "guard_quantile": schema.number(d, "guard_quantile", 0.0, 1.0),
        "reference_seconds": schema.number(d, "reference_seconds", 0.0, HUGE),
        "slowdown": schema.number(d, "slowdown", 1.0, HUGE),
        "stops": _stops(d, n_models),
        "stop_loss": schema.number(d, "stop_loss", 0.0, 1.0),
    }


def _stops(d: Mapping[str, Any], n_models: int) -> tuple[float, ...]:
    if not schema.field(d, "stops", bytes):
        return ()
    stops: list[float] = schema.floats(d, "stops", (n_models,)).tolist()
    if any(stop < 0.0 for stop in stops):
        raise schema.bad("Field 'stops' must hold confidences", stops)
    return tuple(stops)


def _times_rows(times: UnitTimes | None) -> list[object]:
    if times is None:
        return []
    costs = [cost.weights for cost in (*times.features, *times.steps, times.dispatch)]
    return [schema.pack_floats(costs), float(times.model)]


def _times(d: Mapping[str, Any], name: str, n_features: int) -> UnitTimes | None:
    row = schema.field(d, name, list)
    if not row:
        return None
    packed, model = _row(row, 2)
    costs = _costs({name: packed}, name, n_features + len(schema.field(d, "steps", list)) + 1)
    model = schema.number({name: model}, name, 0.0, HUGE)
    return UnitTimes(costs[:n_features], costs[n_features:-1], costs[-1], model)


def _origin_row(origin: CostOrigin) -> list[object]:
    return [origin.device, origin.estimated, list(origin.notes), dict(origin.versions)]


def _costs(d: Mapping[str, Any], name: str, rows: int) -> tuple[CostFunction, ...]:
    try:
        return tuple(CostFunction(tuple(w)) for w in schema.floats(d, name, (rows, 6)).tolist())
    except ValueError as e:
        raise BundleFormatError(f"Field {name!r} must hold cost functions. {e}") from e


def _steps(d: Mapping[str, Any], n_features: int) -> tuple[StepEntry, ...]:
    rows = schema.field(d, "steps", list)
    costs = _costs(d, "step_costs", len(rows))
    return tuple(
        StepEntry(
            schema.text("A step name", name), schema.in_range("A step's users", users, 1, (1 << n_features) - 1), cost
        )
        for (name, users), cost in zip((_row(r, 2) for r in rows), costs, strict=True)
    )


def _models(d: Mapping[str, Any], n_features: int) -> tuple[ModelEntry, ...]:
    rows = schema.field(d, "models", list)
    schema.in_range("The number of models", len(rows), 0, MAX_MODELS)
    numbers = schema.floats(d, "model_numbers", (len(rows), 2)).tolist()
    models, orders = [], set()
    for (order, size, digest), (accuracy, seconds) in zip((_row(r, 3) for r in rows), numbers, strict=True):
        if type(order) is not list or not order or type(digest) is not bytes or len(digest) != 32:
            raise schema.bad("A model must have an order of features and a SHA-256", (order, digest))
        features = tuple(schema.in_range("A feature number", i, 0, n_features - 1) for i in order)
        if len(set(features)) != len(features) or features in orders:
            raise schema.bad("A model must have different features, in an order that no other model has", order)
        if not (0.0 <= seconds <= MAX_SECONDS and math.isfinite(accuracy)):
            raise schema.bad("A model must have a finite accuracy and time", (accuracy, seconds))
        orders.add(features)
        size = schema.in_range("A model's size", size, 1, MAX_MODEL_BYTES)
        models.append(ModelEntry(features, accuracy, seconds, size, digest))
    for model in models:
        if len(model.order) > 1 and model.order[:-1] not in orders:
            raise schema.bad("Every prefix of a model's order must have a model", model.order)
    return tuple(models)


def _classes(d: Mapping[str, Any], version: int) -> tuple[Label, ...]:
    classes = schema.field(d, "classes", list)
    if version > 2 and not classes:
        return ()
    schema.in_range("The number of classes", len(classes), 2, MAX_CLASSES)
    if not all(type(c) in (int, str, bool) for c in classes) or len({(type(c), c) for c in classes}) != len(classes):
        raise schema.bad("The classes must be different integers, strings or booleans", classes)
    return tuple(classes)


def _prior(d: Mapping[str, Any], n_classes: int) -> int | float:
    return schema.count(d, "prior", 0, n_classes - 1) if n_classes else schema.number(d, "prior", -HUGE, HUGE)


def _set_costs(d: Mapping[str, Any], n_models: int) -> tuple[CostFunction, ...]:
    return _costs(d, "set_costs", n_models) if schema.field(d, "set_costs", bytes) else ()


def _sequences(d: Mapping[str, Any], orders: set[tuple[int, ...]], most: int) -> tuple[tuple[int, ...], ...]:
    rows = schema.field(d, "sequences", list)
    schema.in_range("The number of sequences", len(rows), 0, most)
    for row in rows:
        if type(row) is not list or any(type(i) is not int for i in row) or tuple(row) not in orders:
            raise schema.bad("A sequence must be the order of a model", row)
    return tuple(map(tuple, rows))


def _origin(d: Mapping[str, Any]) -> CostOrigin:
    device, estimated, notes, versions = _row(schema.field(d, "origin", list), 4)
    if type(device) is not str or type(estimated) is not bool or type(notes) is not list or type(versions) is not dict:
        raise schema.bad("Field 'origin' must be a device, whether costs are estimated, notes, and versions", device)
    return CostOrigin(
        _printable(device),
        estimated,
        tuple(_printable(schema.text("A note", n, MAX_TEXT)) for n in notes),
        {_printable(schema.text("A library", k)): _printable(schema.text("A version", v)) for k, v in versions.items()},
    )


def _printable(text: str) -> str:
    """Return what may be shown on a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text[:MAX_TEXT])


def _intervals(d: Mapping[str, Any], n_candidates: int) -> tuple[Interval, ...]:
    numbers = schema.field(d, "intervals", list)
    ends = schema.floats(d, "interval_ends", (len(numbers), 2))
    return tuple(
        Interval(schema.in_range("A candidate number", c, 0, n_candidates - 1), *schema.ordered("interval", pair, 0.0))
        for c, pair in zip(numbers, ends, strict=True)
    )


def _row(row: object, length: int) -> Sequence[Any]:
    if type(row) is not list or len(row) != length:
        raise schema.bad(f"A row must be a list of {length}", row)
    return row
