"""Decoding of the times of a bundle: those of every regime, and what was chosen and seen in replays of each.

Equal times are stored once. A number stands for them: from 0 to 3 those of the regime hot (worst, planned, guarded,
typical), then those of the field ``more_times``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from polydom_runtime.causes import uncontrolled
from polydom_runtime.costs import HUGE, CostFunction
from polydom_runtime.unit_times import UnitTimes

from . import schema
from .bundle_times import BundleTimes, Choice, CostOrigin
from .outlook import Outlook
from .regimes import REGIMES, Regime, RegimeTimes

Document = Mapping[str, Any]

MAX_TEXT, MAX_MORE_TIMES, MAX_DEADLINES = 1000, 1000, 100
MIN_SECONDS, MAX_SECONDS = 1e-9, 1e6
"""The shortest deadline, and the longest time of anything, in seconds."""
MAX_WEIGHT = 1e18
"""The largest weight of a cost. The sum of many costs of the largest item, in nanoseconds, is still a finite number."""

APART = 1.0 + 1e-9
"""The least factor between two deadlines."""


class AllTimes(NamedTuple):
    """The times of the regime hot, and those of the others by name."""

    hot: BundleTimes
    regimes: Mapping[Regime, RegimeTimes]


def decoded_times(d: Document, names: Sequence[str], n_models: int) -> AllTimes:
    """Return the times that the document of an index holds.

    `d`: the document. `names`: the names of the features.

    Raises `BundleFormatError` if a field is missing, of another type or outside its range.
    """
    hot = _hot(d, names)
    rows = schema.field(d, "more_times", list)
    schema.in_range("The number of more_times", len(rows), 0, MAX_MORE_TIMES)
    known = [hot.worst, hot.planned, hot.guarded, hot.typical, *(_more(row, hot.worst) for row in rows)]
    regimes: dict[Regime, RegimeTimes] = {}
    for row in schema.field(d, "regimes", list):
        name, there = _regime(row, names, n_models, known, hot.origin)
        if name in regimes:
            raise schema.bad("Field 'regimes' must hold each regime once", name)
        regimes[name] = there
    return AllTimes(_with_chosen(hot, d, names, known), regimes)


def _hot(d: Document, names: Sequence[str]) -> BundleTimes:
    worst = _worst(d, names)
    return BundleTimes.of(
        worst,
        _times(d, "expected", "planning_quantile", worst),
        _times(d, "alone", "guard_quantile", worst),
        _times(d, "typical", None, worst),
        reference_seconds=schema.number(d, "reference_seconds", 0.0, HUGE),
        origin=_origin(d),
    )


def _worst(d: Document, names: Sequence[str]) -> UnitTimes:
    rows = [schema.row(row, 2) for row in schema.field(d, "steps", list)]
    steps = [schema.printable_text("A step name", name) for name, _ in rows]
    users = [schema.in_range("A step's users", users, 1, (1 << len(names)) - 1) for _, users in rows]
    if len({*names, *steps}) != len(names) + len(steps) or sum(users) != reduce(or_, users, 0):
        raise schema.bad("Steps must have names of their own, and a feature must use one at most", rows)
    features, step_costs = costs(d, "costs", len(names)), costs(d, "step_costs", len(rows))
    return UnitTimes((*names, *steps), tuple(users), (*features, *step_costs), costs(d, "dispatch", 1)[0])


def _times(d: Document, name: str, quantile: str | None, worst: UnitTimes) -> UnitTimes | None:
    """Return the times of the same units from another field; None if it is empty."""
    share = 0.0 if quantile is None else schema.number(d, quantile, 0.0, 1.0)
    row = schema.field(d, name, list)
    if not row:
        return None
    packed, ratio = schema.row(row, 2)
    return _of_units(name, packed, ratio, share, worst)


def _more(row: object, worst: UnitTimes) -> UnitTimes:
    packed, ratio, quantile = schema.row(row, 3)
    share = schema.number({"quantile": quantile}, "quantile", 0.0, 1.0)
    return _of_units("more_times", packed, ratio, share, worst)


def _of_units(name: str, packed: object, ratio: object, quantile: float, worst: UnitTimes) -> UnitTimes:
    *terms, dispatch = costs({name: packed}, name, len(worst.names) + 1)
    ratio = schema.number({name: ratio}, name, 0.0, HUGE)
    return replace(worst, terms=tuple(terms), dispatch=dispatch, model_ratio=ratio, quantile=quantile)


def _regime(
    row: object, names: Sequence[str], n_models: int, known: Sequence[UnitTimes], origin: CostOrigin
) -> tuple[Regime, RegimeTimes]:
    if type(row) is not dict:
        raise schema.bad("A regime must be a map", row)
    name = row.get("regime")
    if name not in REGIMES[1:]:
        raise schema.bad(f"A regime must be one of {REGIMES[1:]}", name)
    numbers = schema.row(schema.field(row, "times", list), 4)
    worst, planned, guarded, typical = (_known(number, known) for number in numbers)
    reference = schema.number(row, "reference_seconds", 0.0, HUGE)
    times = BundleTimes(worst, planned, guarded, typical, reference, origin)
    models = tuple(schema.floats(row, "models", (n_models,)).tolist())
    if not all(0.0 <= seconds <= MAX_SECONDS for seconds in models):
        raise schema.bad("Field 'models' of a regime must hold finite times", models)
    asleep = schema.number(row, "asleep", 0.0, MAX_SECONDS)
    return name, RegimeTimes(_with_chosen(times, row, names, known), models, asleep)


def _with_chosen(times: BundleTimes, d: Document, names: Sequence[str], known: Sequence[UnitTimes]) -> BundleTimes:
    return replace(
        times,
        choices=tuple(
            Choice(deadline, _known(planned, known), _known(guarded, known), _calm(calm))
            for deadline, planned, guarded, calm in _by_deadline(d, "choices", 4)
        ),
        calm=_calm(d.get("calm")),
        outlook=tuple(_outlook(row, names) for row in _by_deadline(d, "outlook", 5)),
    )


def _calm(value: object) -> float:
    return schema.number({"calm": value}, "calm", 1.0, HUGE)


def _by_deadline(d: Document, name: str, length: int) -> Iterator[Sequence[Any]]:
    """Yield the rows of a field, each of which begins with a deadline that is longer than the one before."""
    rows = schema.field(d, name, list)
    schema.in_range(f"The number of deadlines in {name}", len(rows), 0, MAX_DEADLINES)
    least = MIN_SECONDS
    for row in rows:
        deadline, *rest = schema.row(row, length)
        deadline = schema.number({name: deadline}, name, least, MAX_SECONDS)
        least = deadline * APART
        yield deadline, *rest


def _outlook(row: Sequence[Any], names: Sequence[str]) -> Outlook:
    deadline, score, prior_share, late, numbers = row
    ranges = {"score": (score, -HUGE, HUGE), "prior_share": (prior_share, 0.0, 1.0), "late": (late, 0.0, 1.0)}
    score, prior_share, late = (schema.number({what: v}, what, low, high) for what, (v, low, high) in ranges.items())
    if type(numbers) is not list:
        raise schema.bad("The features of an outlook must be a list", numbers)
    features = [schema.in_range("A feature number", i, 0, len(names) - 1) for i in numbers]
    if len(set(features)) != len(features):
        raise schema.bad("The features of an outlook must be different", features)
    return Outlook(deadline, score, prior_share, tuple(names[i] for i in features), late)


def _known(number: object, known: Sequence[UnitTimes]) -> UnitTimes:
    return known[schema.in_range("The number of times", number, 0, len(known) - 1)]


def costs(d: Document, name: str, rows: int) -> tuple[CostFunction, ...]:
    """Return a field of cost functions, one in each row; BundleFormatError if it holds anything else."""
    weights = schema.floats(d, name, (rows, 6))
    if (wrong := weights[~((weights >= 0.0) & (weights <= MAX_WEIGHT))]).size:
        raise schema.bad(f"Field {name!r} must hold finite, non-negative weights, at most {MAX_WEIGHT:g}", wrong[0])
    return tuple(CostFunction(tuple(w)) for w in weights.tolist())


def _origin(d: Document) -> CostOrigin:
    device, estimated, notes, versions = schema.row(schema.field(d, "origin", list), 4)
    if type(device) is not str or type(estimated) is not bool or type(notes) is not list or type(versions) is not dict:
        raise schema.bad("Field 'origin' must be a device, whether costs are estimated, notes, and versions", device)
    return CostOrigin(
        _printable(device),
        estimated,
        tuple(_printable(schema.text("A note", n, MAX_TEXT)) for n in notes),
        {_printable(schema.text("A library", k)): _printable(schema.text("A version", v)) for k, v in versions.items()},
    )


def _printable(text: str) -> str:
    """Return the text without characters that would control a terminal, at most `MAX_TEXT` long."""
    return uncontrolled(text[:MAX_TEXT])
