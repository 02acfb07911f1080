"""What a bundle ships of the models that are best somewhere: its limits, what they left out, and the price."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from polydom_runtime.arrays import Floats
from polydom_runtime.costs import HUGE, CostFunction

from . import estimators, schema
from .decoding_times import costs

MAX_LIMIT, MAX_SETS, MAX_POINTS, MAX_GRID = 1 << 50, 10_000, 100, 1000
"""The largest limit; the most sets that are left out, points of the curve, and sizes or deadlines."""

ROUNDING = 1e-9
"""Mean scores may be rounded by this much."""


class Limits(NamedTuple):
    """What all models of a bundle may be together; 0 is no limit."""

    max_models: int = 0
    max_bytes: int = 0
    """Their number, and the bytes of their files."""
    memory_bytes: int = 0
    """The memory of the device."""

    def __str__(self) -> str:
        words = {
            f"{self.max_models} model{'s' * (self.max_models > 1)}": self.max_models,
            _amount(self.max_bytes): self.max_bytes,
            f"the device's memory of {_amount(self.memory_bytes)}": self.memory_bytes,
        }
        return " and ".join(text for text, limit in words.items() if limit)


NO_LIMITS = Limits()


def _amount(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.4g} MB" if size_bytes < 1e10 else f"{size_bytes / 1e9:.3g} GB"


class LeftOut(NamedTuple):
    """A set that is best somewhere, with an estimator, but has no model of it because of a limit."""

    mask: int
    accuracy: float
    cost: CostFunction
    estimator: str = ""


class Amount(NamedTuple):
    """A number of models, the bytes of their files, and the mean score with a good choice of this number."""

    models: int
    size_bytes: int
    score: float


@dataclass(frozen=True, slots=True)
class Shipping:
    """What is shipped. Nothing of it is known without a curve.

    Mean scores are over all pairs of `sizes` and `deadlines`, of the best set that fits by worst cases.
    """

    limits: Limits = NO_LIMITS
    n_left_out: int = 0
    n_models: int = 0
    """The number of models that the limits left out, and of all models of a bundle without limits."""
    score: float = 0.0
    whole: float = 0.0
    """The mean score of the bundle, and that without limits."""
    bound: float = 0.0
    """No choice within the limits has a higher mean score."""
    left_out: tuple[LeftOut, ...] = ()
    curve: tuple[Amount, ...] = ()
    """By rising number of models; the last one is that of all."""
    sizes: tuple[float, ...] = ()
    deadlines: tuple[float, ...] = ()
    """Item sizes, each as likely as the others, and seconds."""

    def __str__(self) -> str:
        if not self.curve:
            return "it is not stated whether models were left out"
        if not self.n_left_out:
            return "no model was left out"
        other = "no other choice of these models scores more"
        if self.bound > self.score + ROUNDING:
            other = f"no choice of these models scores more than {self.bound:.4g}"
        return (
            f"{self.n_left_out} of {self.n_models} models were left out to keep {self.limits}: the mean score over "
            f"sizes and deadlines is {self.score:.4g} instead of {self.whole:.4g}, and {other}"
        )

    @property
    def scores(self) -> tuple[float, ...]:
        """All scores, to check their range."""
        known = (self.score, self.whole, self.bound) if self.curve else ()
        return *known, *(left.accuracy for left in self.left_out), *(amount.score for amount in self.curve)


def encoded(shipping: Shipping) -> dict[str, object]:
    """Return the field ``shipping`` of an index; empty if nothing is known."""
    if not shipping.curve:
        return {}
    left_out, curve = shipping.left_out, shipping.curve
    return {
        "limits": list(shipping.limits),
        "counts": [shipping.n_left_out, shipping.n_models],
        "scores": schema.pack_floats([shipping.score, shipping.bound, shipping.whole]),
        "left_out": [left.mask for left in left_out],
        "left_scores": schema.pack_floats([left.accuracy for left in left_out]),
        "left_costs": schema.pack_floats([left.cost.weights for left in left_out]),
        "curve": [[amount.models, amount.size_bytes] for amount in curve],
        "curve_scores": schema.pack_floats([amount.score for amount in curve]),
        "sizes": schema.pack_floats(shipping.sizes),
        "deadlines": schema.pack_floats(shipping.deadlines),
        **({"left_estimators": names} if (names := estimators.encoded([left.estimator for left in left_out])) else {}),
    }


def decoded(document: Mapping[str, Any], n_features: int) -> Shipping:
    """Return what is shipped by the document of an index.

    Raises `BundleFormatError` if it is not sound.
    """
    if not (parts := schema.field(document, "shipping", dict)):
        return Shipping()
    limits, counts = _counts(parts, "limits", 3), _counts(parts, "counts", 2)
    score, bound, whole = _rising("scores", schema.floats(parts, "scores", (3,)), -HUGE)
    left_out, curve = _left_out(parts, n_features), _curve(parts)
    if counts[0] > counts[1] or len(left_out) > counts[0] or (counts[0] and not any(limits)):
        raise schema.bad("Models that are left out must be some of all, and there must be a limit", (limits, counts))
    sizes, deadlines = (_rising(name, _floats(parts, name), 0.0) for name in ("sizes", "deadlines"))
    (max_models, max_bytes, memory_bytes), (n_left_out, n_models) = limits, counts
    kept = Limits(max_models, max_bytes, memory_bytes)
    return Shipping(kept, n_left_out, n_models, score, whole, bound, left_out, curve, sizes, deadlines)


def _counts(parts: Mapping[str, Any], name: str, length: int) -> list[int]:
    row = schema.row(parts.get(name), length)
    return [schema.in_range(f"A number of {name!r}", count, 0, MAX_LIMIT) for count in row]


def _left_out(parts: Mapping[str, Any], n_features: int) -> tuple[LeftOut, ...]:
    masks = schema.field(parts, "left_out", list)
    schema.in_range("The number of sets that are left out", len(masks), 0, MAX_SETS)
    masks = [schema.in_range("A set that is left out", mask, 1, (1 << n_features) - 1) for mask in masks]
    scores = schema.floats(parts, "left_scores", (len(masks),))
    # Of one estimator without a name there is no such field.
    names = estimators.decoded({"estimators": parts.get("left_estimators", [])}, len(masks))
    return tuple(map(LeftOut, masks, _finite("left_scores", scores), costs(parts, "left_costs", len(masks)), names))


def _curve(parts: Mapping[str, Any]) -> tuple[Amount, ...]:
    rows = schema.field(parts, "curve", list)
    schema.in_range("The number of points of the curve", len(rows), 1, MAX_POINTS)
    rows = [_counts({"curve": row}, "curve", 2) for row in rows]
    scores = _rising("curve_scores", schema.floats(parts, "curve_scores", (len(rows),)), -HUGE)
    if any(one[0] >= other[0] for one, other in pairwise(rows)):
        raise schema.bad("The numbers of models of the curve must rise", rows)
    return tuple(Amount(models, size, score) for (models, size), score in zip(rows, scores, strict=True))


def _floats(parts: Mapping[str, Any], name: str) -> Floats:
    count = len(schema.field(parts, name, bytes)) // 8
    return schema.floats(parts, name, (schema.in_range(f"The number of {name!r}", count, 1, MAX_GRID),))


def _rising(name: str, values: Floats, low: float) -> tuple[float, ...]:
    """Return finite numbers of at least `low`, none of which is less than the one before, up to rounding."""
    if values[0] < low or (values[1:] < values[:-1] - ROUNDING).any():
        raise schema.bad(f"Field {name!r} must hold rising numbers of at least {low:g}", values.tolist())
    return _finite(name, values)


def _finite(name: str, values: Floats) -> tuple[float, ...]:
    if (abs(values) > HUGE).any():
        raise schema.bad(f"Field {name!r} must hold finite numbers", values.tolist())
    return tuple(values.tolist())
