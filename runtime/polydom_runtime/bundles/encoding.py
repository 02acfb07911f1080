"""Encoding a bundle as ``index.msgpack``."""

from collections.abc import Sequence

import msgpack

from polydom_runtime.unit_times import UnitTimes

from . import schema
from .bundle import Bundle
from .bundle_times import CostOrigin

FORMAT = "polydom-bundle"
VERSION = 4
"""The format version. A change of the layout raises it, and `decoding` gets one more upgrade."""


def encode(bundle: Bundle) -> bytes:
    """Return the content of ``index.msgpack``."""
    space, promise, stored, times = bundle.space, bundle.promise, bundle.stored, bundle.times
    worst, models = times.worst, bundle.models
    document = {
        "format": FORMAT,
        "version": VERSION,
        "names": list(space.names),
        "widths": list(space.widths),
        "classes": list(space.classes),
        "sizes": schema.pack_floats(promise.sizes),
        "budgets": schema.pack_floats(promise.budgets),
        "alpha": float(promise.alpha),
        "tolerance": float(promise.tolerance),
        "costs": schema.pack_floats([c.weights for c in worst.features]),
        "steps": [[s.name, s.users] for s in worst.steps],
        "step_costs": schema.pack_floats([s.cost.weights for s in worst.steps]),
        "dispatch": schema.pack_floats(worst.dispatch.weights),
        "prior": int(bundle.prior.number) if space.classes else float(bundle.prior.number),
        "prior_accuracy": float(bundle.prior.accuracy),
        "models": [[list(m.order), m.size_bytes, m.sha256] for m in models],
        "model_numbers": schema.pack_floats([(m.accuracy, m.seconds) for m in models]),
        "shipped": list(stored.shipped),
        "intervals": [i.candidate for i in stored.intervals],
        "set_costs": schema.pack_floats([m.cost.weights for m in models if m.cost is not None]),
        "sequences": [list(s) for s in stored.sequences],
        "median_size": float(stored.median_size),
        "expected": _times_row(times.planned, unless=worst),
        "alone": _times_row(times.guarded, unless=worst),
        "typical": _times_row(times.typical, unless=times.planned),
        "stops": schema.pack_floats([m.stop for m in models if m.stop is not None]),
        "planning_quantile": float(times.planned.quantile),
        "guard_quantile": float(times.guarded.quantile),
        "reference_seconds": float(times.reference_seconds),
        "slowdown": float(promise.slowdown),
        "stop_loss": float(promise.stop_loss),
        "origin": _origin_row(times.origin),
        "interval_ends": schema.pack_floats([(i.start, i.end) for i in stored.intervals]),
    }
    return bytes(msgpack.packb(document))


def _times_row(times: UnitTimes, unless: UnitTimes) -> Sequence[object]:
    """Return the weights of all units and the ratio of models; an empty list if the times equal `unless`."""
    if times == unless:
        return []
    return [schema.pack_floats([cost.weights for cost in (*times.terms, times.dispatch)]), float(times.model_ratio)]


def _origin_row(origin: CostOrigin) -> list[object]:
    return [origin.device, origin.estimated, list(origin.notes), dict(origin.versions)]
