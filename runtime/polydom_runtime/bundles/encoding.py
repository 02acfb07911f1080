"""Encoding a bundle as ``index.msgpack``."""

from collections.abc import Sequence

import msgpack

from polydom_runtime.unit_times import UnitTimes

from . import confidence, error_costs, estimates, estimators, identity, references, schema, shipping
from .assumption import Assumption
from .bundle import Bundle
from .bundle_times import BundleTimes, CostOrigin
from .engines import ENGINES
from .regimes import REGIMES, Regime, RegimeTimes

FORMAT = "polydom-bundle"
VERSION = 11
"""The format version. A change of the layout raises it, and `decoding` gets one more upgrade."""


def encode(bundle: Bundle) -> bytes:
    """Return the content of ``index.msgpack``."""
    space, promise, stored, times = bundle.space, bundle.promise, bundle.stored, bundle.times
    worst, models = times.worst, bundle.models
    known = _Known(times)
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
        "scoring": promise.scoring,
        "assumption": _assumption_row(promise.assumption),
        "margin": [] if promise.margin is None else [float(promise.margin)],
        "item_kind": list(space.item_kind or ()),
        "costs": schema.pack_floats([c.weights for c in worst.features]),
        "steps": [[s.name, s.users] for s in worst.steps],
        "step_costs": schema.pack_floats([s.cost.weights for s in worst.steps]),
        "dispatch": schema.pack_floats(worst.dispatch.weights),
        "prior": int(bundle.prior.number) if space.classes else float(bundle.prior.number),
        "prior_accuracy": float(bundle.prior.accuracy),
        "models": [[list(m.order), m.size_bytes, m.sha256] for m in models],
        "model_numbers": schema.pack_floats([(m.accuracy, m.seconds) for m in models]),
        "rising": all(m.rising for m in models),
        "engines": [ENGINES.index(m.engine) for m in models],
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
        **_chosen(times, space.names, known),
        "regimes": [_regime(r, bundle.regimes[r], space.names, known) for r in REGIMES if r in bundle.regimes],
        "more_times": known.more,
        "references": references.encoded(bundle.references),
        "identity": identity.encoded(bundle.identity),
        "error_costs": error_costs.encoded(bundle.error_costs),
        **estimates.encoded([m.estimate for m in models]),
        "shipping": shipping.encoded(bundle.shipping),
        "estimators": estimators.encoded([m.estimator for m in models]),
        "confidence": confidence.encoded(bundle.confidence, [m.calibration for m in models]),
    }
    return bytes(msgpack.packb(document))


def _assumption_row(assumption: Assumption | None) -> list[object]:
    return [] if assumption is None else [assumption.n_pairs, assumption.n_broken, float(assumption.worst)]


class _Known:
    """The numbers of unit times, so that equal ones are stored once. The first four are those of the regime hot."""

    def __init__(self, hot: BundleTimes) -> None:
        self._numbers: dict[UnitTimes, int] = {}
        for number, times in enumerate((hot.worst, hot.planned, hot.guarded, hot.typical)):
            self._numbers.setdefault(times, number)
        self.more: list[object] = []

    def number(self, times: UnitTimes) -> int:
        if times not in self._numbers:
            self._numbers[times] = 4 + len(self.more)
            self.more.append([_weights(times), float(times.model_ratio), float(times.quantile)])
        return self._numbers[times]


def _chosen(times: BundleTimes, names: Sequence[str], known: _Known) -> dict[str, object]:
    """Return the fields of what was chosen and seen in replays of one regime."""
    return {
        "choices": [
            [float(c.deadline), known.number(c.planned), known.number(c.guarded), float(c.calm)] for c in times.choices
        ],
        "calm": float(times.calm),
        "outlook": [
            [float(o.deadline), float(o.score), float(o.prior_share), float(o.late), list(map(names.index, o.features))]
            for o in times.outlook
        ],
    }


def _regime(name: Regime, there: RegimeTimes, names: Sequence[str], known: _Known) -> dict[str, object]:
    """Return the fields of one regime. The origin of its costs is that of the bundle."""
    times = there.times
    return {
        "regime": name,
        "times": [known.number(t) for t in (times.worst, times.planned, times.guarded, times.typical)],
        "reference_seconds": float(times.reference_seconds),
        "models": schema.pack_floats(there.models),
        "asleep": float(there.asleep),
        **_chosen(times, names, known),
    }


def _times_row(times: UnitTimes, unless: UnitTimes) -> Sequence[object]:
    """Return the weights of all units and the ratio of models; an empty list if the times equal `unless`."""
    if times == unless:
        return []
    return [_weights(times), float(times.model_ratio)]


def _weights(times: UnitTimes) -> bytes:
    return schema.pack_floats([cost.weights for cost in (*times.terms, times.dispatch)])


def _origin_row(origin: CostOrigin) -> list[object]:
    return [origin.device, origin.estimated, list(origin.notes), dict(origin.versions)]
