"""``polydom inspect``: show the candidates of a bundle, their costs and its staircase."""

import math
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.model_entry import CONFIDENCE, Estimate
from polydom_runtime.commands.arguments import duration
from polydom_runtime.commands.bundle_options import BUNDLE
from polydom_runtime.commands.options import Option
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.description import amounts, bundle_data, describe, shipped_amount
from polydom_runtime.describing.outlook_table import set_text
from polydom_runtime.describing.promise_text import promise_text
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.policy.deadline import too_short
from polydom_runtime.tables import TextTable, percent

from .tables import print_table, print_text

OPTIONS = (
    BUNDLE,
    Option(
        "--deadline",
        "the deadline of the staircase, such as 2ms (default: the shortest and the longest of the bundle); the "
        "expected answers have a line for it",
        duration,
    ),
    Option("--models", "print what fewer or more models would score, and what was left out"),
)


def run(arguments: Namespace) -> Outcome:
    """Print the candidates, their cost functions, the staircase at the bundle's deadlines, and what deadlines buy.

    Raises `BundleFormatError` if the bundle is not sound. Raises `DeadlineError` if the deadline is shorter than
    dispatch alone takes.
    """
    bundle = load_bundle(arguments.bundle)
    if arguments.deadline is not None and (fault := too_short(bundle, arguments.deadline)):
        raise DeadlineError(fault)
    document = _data(bundle, arguments.deadline)
    if arguments.models:
        print_table(amounts(bundle))
        return Outcome(document)
    said = describe(bundle, arguments.deadline)
    shown = {**said.identity, **{what: said.facts[what] for what in ("score", "promise")}}
    print_text("\n".join([*(f"{what}: {text}" for what, text in shown.items()), said.facts["costs"], ""]))
    for table in (_candidates(document), *_staircases(document), said.outlook, said.risks):
        print_table(table)
    return Outcome(document)


def _data(bundle: Bundle, deadline: float | None) -> dict[str, Any]:
    """Return the contents of a bundle as plain data; costs in seconds.

    `deadline`: the deadline of the staircase in seconds; those of the bundle if None.
    """
    wanted = {b for b in bundle.promise.budgets if 0.0 < b < math.inf} if deadline is None else {deadline}
    estimates = {(tuple(bundle.names[i] for i in m.order), m.estimator): m.estimate for m in bundle.models}
    return {
        **bundle_data(bundle),
        "features": dict(zip(bundle.names, map(str, bundle.times.worst.features), strict=True)),
        "steps": {
            s.name: {"cost": str(s.cost), "used by": _features(bundle, s.users)} for s in bundle.times.worst.steps
        },
        "sizes": bundle.promise.sizes,
        "deadlines": bundle.promise.budgets,
        "scoring": bundle.promise.scoring,
        "costs of errors": bundle.error_costs,
        "promise": promise_text(bundle),
        "alpha": bundle.promise.alpha,
        "tolerance": bundle.promise.tolerance,
        "candidates": [
            {
                **_named(c),
                "accuracy": c.accuracy,
                **_estimated(estimates.get((c.features, c.estimator))),
                "cost": str(c.cost),
                "weights": c.cost.weights,
            }
            for c in bundle.index.candidates
        ],
        "staircases": {
            format_seconds(d): [
                {"up to size": size if size < math.inf else None, **_named(c), "accuracy": c.accuracy}
                for size, c in bundle.index.at_deadline(d).steps
            ]
            for d in sorted(wanted)
        },
        "models": _models(bundle),
    }


def _models(bundle: Bundle) -> dict[str, Any]:
    stated = bundle.shipping
    return {
        "shipped": shipped_amount(bundle),
        "curve": stated.curve,
        "limits": stated.limits,
        "mean score without limits": stated.whole,
        "mean score of the best choice at most": stated.bound,
        "left out": [
            {"features": _features(bundle, left.mask), "accuracy": left.accuracy, "estimator": left.estimator or None}
            for left in stated.left_out
        ],
    }


def _features(bundle: Bundle, mask: int) -> list[str]:
    return [name for i, name in enumerate(bundle.names) if mask >> i & 1]


def _named(candidate: Candidate) -> dict[str, Any]:
    """Return the features of a candidate, and its estimator if that has a name."""
    return {"features": candidate.features, **({"estimator": candidate.estimator} if candidate.estimator else {})}


def _estimated(estimate: Estimate | None) -> dict[str, Any]:
    measured, *interval = estimate or (None,)
    return {"measured": measured, "interval": interval or None}


def _candidates(document: dict[str, Any]) -> TextTable:
    rows = []
    for c in document["candidates"]:
        interval = "{:.3f} to {:.3f}".format(*c["interval"]) if c["interval"] else "not stated"
        rows.append((f"{c['accuracy']:.3f}", interval, c["cost"], set_text(c["features"], c.get("estimator", ""))))
    columns = ("#accuracy", f"#{percent(CONFIDENCE)} interval", "worst-case cost", "features")
    return TextTable("candidates, their features in order of computation, their worst cases hot", columns, rows)


def _staircases(document: dict[str, Any]) -> Iterator[TextTable]:
    for deadline, steps in document["staircases"].items():
        rows = []
        for s in steps:
            end = s["up to size"] or math.inf
            size = f"{end:.0f}" if end < document["sizes"][1] else "larger"
            rows.append((size, f"{s['accuracy']:.3f}", set_text(s["features"], s.get("estimator", ""))))
            if size == "larger":  # the rest is for items beyond the measured sizes
                break
        title = f"staircase at {deadline}, hot, by worst cases: the set that fits for sure"
        yield TextTable(title, ("#last size", "#accuracy", "features"), rows)
