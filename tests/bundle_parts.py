"""Bundles made and changed by the names of what is in their parts, and their documents."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgpack

from polydom_runtime.bundles.bundle import Bundle, BundleSpace, Prior, StoredIndex
from polydom_runtime.bundles.bundle_times import REGIMES, BundleTimes, Outlook, Regime, RegimeTimes
from polydom_runtime.bundles.index_file import encode
from polydom_runtime.bundles.promise import Promise
from polydom_runtime.bundles.unit_times import StepTime, UnitTimes
from polydom_runtime.costs import ZERO, CostFunction

PARTS: dict[str, Any] = {"space": BundleSpace, "promise": Promise, "stored": StoredIndex, "times": BundleTimes}


def outlook(
    deadline: float, score: float, prior_share: float, features: tuple[str, ...], late: float, answers: int = 3000
) -> Outlook:
    """Return an outlook of a machine that makes no pauses."""
    return Outlook(deadline, score, prior_share, features, late, score, late, answers)


def unit_times(
    names: Sequence[str],
    costs: Sequence[CostFunction],
    steps: Sequence[StepTime] = (),
    dispatch: CostFunction = ZERO,
    *,
    before: CostFunction = ZERO,
    after: CostFunction = ZERO,
    **others: Any,
) -> UnitTimes:
    """Return times of features and steps; half of `dispatch` is added to `before`, half to `after`."""
    return UnitTimes(
        (*names, *(step.name for step in steps)),
        tuple(step.users for step in steps),
        (*costs, *(step.cost for step in steps)),
        before + dispatch * 0.5,
        after + dispatch * 0.5,
        **others,
    )


def bundle_of(
    *,
    names: Sequence[str],
    costs: Sequence[CostFunction],
    steps: Sequence[StepTime] = (),
    dispatch: CostFunction = ZERO,
    before: CostFunction = ZERO,
    after: CostFunction = ZERO,
    waking: CostFunction = ZERO,
    prior: tuple[int | float, float] = (0, 0.5),
    **others: Any,
) -> Bundle:
    """Return a bundle; `others` are fields of it or of its parts."""
    space = BundleSpace(names=tuple(names), widths=(1,) * len(names), classes=(0, 1))
    worst = unit_times(names, costs, steps, dispatch, before=before, after=after, waking=waking)
    bundle = Bundle(space, BundleTimes.of(worst), Promise((1.0, 1.0), (1.0, 1.0)), Prior(*prior))
    return changed(bundle, **others)


def changed(bundle: Bundle, **values: Any) -> Bundle:
    """Return a bundle with other values of fields, wherever in it they are.

    With `names`, `costs`, `steps` or `dispatch` the times of units change for every purpose.
    """
    whole: dict[str, Any] = {}
    for part, kind in PARTS.items():
        mine = {name: values.pop(name) for name in kind._fields if name in values}
        if {"planned", "typical"} & mine.keys() == {"planned"}:
            mine["typical"] = mine["planned"]
        whole[part] = getattr(bundle, part)._replace(**mine)
    units = {name: values.pop(name) for name in ("costs", "steps", "dispatch") if name in values}
    if units or whole["space"].names != bundle.names:
        worst = bundle.times.worst
        own: dict[str, Any] = {"costs": worst.features, "steps": worst.steps, "waking": worst.waking}
        own |= {} if "dispatch" in units else {"before": worst.before, "after": worst.after}
        whole["times"] = BundleTimes.of(unit_times(whole["space"].names, **(own | units)), origin=whole["times"].origin)
    if "prior" in values:
        values["prior"] = Prior(*values["prior"])
    return replace(bundle, **whole, **values)


def with_regimes(bundle: Bundle, **added: float) -> Bundle:
    """Return a bundle that was measured in other regimes too: `added` seconds to each unit and model run."""
    regimes: dict[Regime, RegimeTimes] = {}
    for name, seconds in added.items():
        more = CostFunction.of(seconds)
        kinds = ("worst", "planned", "guarded", "typical")
        times = {kind: getattr(bundle.times, kind).mapped(lambda cost, more=more: cost + more) for kind in kinds}
        models = tuple(model.seconds + seconds for model in bundle.models)
        regimes[regime_of(name)] = RegimeTimes(bundle.times._replace(**times), models, asleep=0.02)
    return replace(bundle, regimes=regimes)


def regime_of(name: str) -> Regime:
    """Return a name as that of a regime."""
    assert name in REGIMES
    return name


def document_of(bundle: Bundle, **changes: Any) -> dict[str, Any]:
    """Return the document of a bundle with other values at places such as ``models__1__seconds``."""
    document: dict[str, Any] = msgpack.unpackb(encode(bundle))
    for place, value in changes.items():
        part: Any = document
        *way, last = (int(step) if step.isdigit() else step for step in place.split("__"))
        for step in way:
            part = part[step]
        part[last] = value
    return document


def index_of(bundle: Bundle, **changes: Any) -> bytes:
    """Return the index of a bundle with other values at places of its document; see `document_of`."""
    return bytes(msgpack.packb(document_of(bundle, **changes)))


def floats(*numbers: float) -> bytes:
    """Return numbers as a column of floats."""
    return struct.pack(f"<{len(numbers)}d", *numbers)
