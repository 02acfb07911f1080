"""``polydom inspect``: show the candidates of a bundle, their costs and its staircase."""

import argparse
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.estimates import CONFIDENCE, Estimate
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.regimes import REGIMES
from polydom_runtime.commands.arguments import duration
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.outlook_table import COLUMNS, RegimeOutlook, estimate_notes, outlooks
from polydom_runtime.describing.promise_text import promise_text, score_text
from polydom_runtime.describing.risk_table import risk_table
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.policy.deadline import too_short

from .model_table import model_data, model_table
from .tables import print_table, print_text


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom inspect``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")
    command.add_argument(
        "--deadline",
        type=duration,
        help="the deadline of the staircase, such as 2ms (default: the shortest and the longest of the bundle)",
    )
    command.add_argument(
        "--models", action="store_true", help="print what fewer or more models would score, and what was left out"
    )


def run(arguments: argparse.Namespace) -> Outcome:
    """Print the candidates, their cost functions, the staircase at the bundle's deadlines, and what deadlines buy.

    Raises `BundleFormatError` if the bundle is not sound. Raises `DeadlineError` if the deadline is shorter than
    dispatch alone takes.
    """
    bundle = load_bundle(arguments.bundle)
    if arguments.deadline is not None and (fault := too_short(bundle, arguments.deadline)):
        raise DeadlineError(fault)
    document = description(bundle, arguments.deadline)
    if arguments.models:
        print_text(model_table(bundle))
        return Outcome(document)
    for what, text in bundle.identity.described(bundle.sha256).items():
        print_text(f"{what}: {text}")
    print_text(f"score: {score_text(bundle)}")
    print_text(f"promise: {promise_text(bundle)}")
    print_text(f"{document['costs']}\n")
    _print_candidates(document)
    _print_staircases(document)
    for outlook in outlooks(bundle):
        _print_outlook(outlook)
    print_text("\n".join([*estimate_notes(bundle), risk_table(bundle)]))
    return Outcome(document)


def description(bundle: Bundle, deadline: float | None) -> dict[str, Any]:
    """Return the contents of a bundle as plain data; costs in seconds.

    `deadline`: seconds, of the staircase; those of the bundle if None.
    """
    wanted = {b for b in bundle.promise.budgets if 0.0 < b < float("inf")} if deadline is None else {deadline}
    estimates = {(tuple(bundle.names[i] for i in m.order), m.estimator): m.estimate for m in bundle.models}
    return {
        "identity": {**asdict(bundle.identity), "sha256": bundle.sha256},
        "features": dict(zip(bundle.names, (str(c) for c in bundle.times.worst.features), strict=True)),
        "steps": {
            s.name: {"cost": str(s.cost), "used by": [n for i, n in enumerate(bundle.names) if s.users >> i & 1]}
            for s in bundle.times.worst.steps
        },
        "classes": list(bundle.space.classes),
        "sizes": list(bundle.promise.sizes),
        "deadlines": list(bundle.promise.budgets),
        "costs": str(bundle.times.origin),
        "scoring": bundle.promise.scoring,
        "costs of errors": None if bundle.error_costs is None else asdict(bundle.error_costs),
        "promise": promise_text(bundle),
        "alpha": bundle.promise.alpha,
        "tolerance": bundle.promise.tolerance,
        "candidates": [
            {
                **_named(c),
                "accuracy": c.accuracy,
                **_estimated(estimates.get((c.features, c.estimator))),
                "cost": str(c.cost),
                "weights": list(c.cost.weights),
            }
            for c in bundle.index.candidates
        ],
        "staircases": {
            format_seconds(d): [
                {
                    "up to size": size if size < float("inf") else None,
                    **_named(c),
                    "accuracy": c.accuracy,
                }
                for size, c in bundle.index.at_deadline(d).steps
            ]
            for d in sorted(wanted)
        },
        "models": model_data(bundle),
        "outlook": {
            regime: [o._asdict() for o in bundle.at(1.0, regime).times.outlook]
            for regime in REGIMES
            if regime == "hot" or regime in bundle.regimes
        },
        "confidence": bundle.confidence and asdict(bundle.confidence),
    }


def _estimated(estimate: Estimate | None) -> dict[str, Any]:
    measured, *interval = estimate or (None,)
    return {"measured": measured, "interval": interval or None}


def _print_candidates(document: dict[str, Any]) -> None:
    rows = []
    for c in document["candidates"]:
        interval = "{:.3f} to {:.3f}".format(*c["interval"]) if c["interval"] else "not stated"
        rows.append((f"{c['accuracy']:.3f}", interval, c["cost"], _text(c)))
    columns = ("accuracy", f"{CONFIDENCE:.0%} interval", "worst-case cost ", "features ")
    print_table("candidates, their features in order of computation", columns, rows)


def _print_staircases(document: dict[str, Any]) -> None:
    for deadline, steps in document["staircases"].items():
        rows = []
        for s in steps:
            end = s["up to size"] or math.inf
            size = f"{end:.0f}" if end < document["sizes"][1] else "larger"
            rows.append((size, f"{s['accuracy']:.3f}", _text(s)))
            if size == "larger":  # the rest is for items beyond the measured sizes
                break
        print_table(f"staircase at {deadline}", ("last size", "accuracy", "features "), rows)


def _print_outlook(outlook: RegimeOutlook) -> None:
    if outlook.rows:
        print_table(outlook.title, (*COLUMNS[:-1], f"{COLUMNS[-1]} "), outlook.rows, notes=outlook.notes)
    else:
        print_text("\n".join([outlook.title, *outlook.notes, ""]))


def _named(candidate: Candidate) -> dict[str, Any]:
    """Return the features of a candidate, and its estimator if that has a name."""
    by = {"estimator": candidate.estimator} if candidate.estimator else {}
    return {"features": list(candidate.features), **by}


def _text(row: Mapping[str, Any]) -> str:
    by = f" of {row['estimator']}" if "estimator" in row else ""
    return f"{' '.join(row['features']) or '(class prior)'}{by}"
