"""``polydom-node info``: check a bundle and describe it."""

import argparse
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Choice
from polydom_runtime.bundles.estimates import CONFIDENCE
from polydom_runtime.bundles.regimes import REGIMES
from polydom_runtime.causes import printable
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.lateness import longest_step
from polydom_runtime.describing.outlook_table import outlook_table, regimes_text
from polydom_runtime.describing.promise_text import promise_text, score_text
from polydom_runtime.describing.risk_table import risk_table
from polydom_runtime.trust import SIGNATURE_FILE

from .arguments import add_trust, add_tune
from .outcome import Outcome
from .terminal import show
from .tuned_bundle import bundle_of


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node info``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")
    add_tune(command)
    add_trust(command)


def run(arguments: argparse.Namespace) -> Outcome:
    """Print what a bundle is, its features, classes, models and deadlines, how it plans, and what its deadlines buy."""
    bundle = bundle_of(arguments)
    promise, times, stored = bundle.promise, bundle.times, bundle.stored
    (smallest, largest), (low, high) = promise.sizes, promise.budgets
    deadlines = format_seconds(low) if low == high else f"{format_seconds(low)} to {format_seconds(high)}"
    for what, text in bundle.identity.described(bundle.sha256).items():
        show(f"{what}: {text}")
    signature = str(bundle.signed or _unchecked(Path(arguments.bundle)))
    show(f"signature: {signature}")
    show(f"{len(bundle.names)} features: {', '.join(bundle.names)}")
    if bundle.space.classes:
        show(f"{len(bundle.space.classes)} classes: {printable(', '.join(map(str, bundle.space.classes)))}")
    else:
        show("regression: answers are numbers")
    sets = f"{len(stored.sequences)} greedy sequences" if stored.sequences else f"{len(stored.shipped)} candidates"
    show(f"{sets}, {len(bundle.models)} models with all prefixes, {_engines(bundle)}")
    if any(model.estimator for model in bundle.models):
        counts = Counter(model.estimator for model in bundle.models)
        show(f"estimators: {', '.join(f'{n} models of {name}' for name, n in counts.most_common())}")
    show(f"score: {score_text(bundle)}")
    show(f"best model: {_best(bundle)}")
    show(f"item sizes {smallest:g} to {largest:g}, deadlines {deadlines}")
    show(f"models for slow-downs up to {promise.slowdown:g} at the shortest deadline")
    for choice in times.choices or (Choice(high, times.planned, times.guarded, times.calm),):
        at = f"at {format_seconds(choice.deadline)}, " if times.choices else ""
        plan, guard = _quantile(choice.planned.quantile), _quantile(choice.guarded.quantile)
        show(f"{at}plans use {plan} of each feature's time; a feature starts only if {guard} of its time fits;")
        show(f"  a slow-down counts from {choice.calm:.2f} on: up to there it shows on the measured device as well")
    show(f"longest step: {longest_step(bundle)}; an answer can be late by the time that a step exceeds its worst case")
    show(f"alpha {promise.alpha:g}, tolerance {promise.tolerance:g}, dispatch {times.worst.dispatch}")
    show(f"promise: {promise_text(bundle)}")
    show(times.origin)
    show(f"times measured: {regimes_text(bundle)}")
    n_items = len(bundle.references.items)
    show(f"reference items, on which a node compares its features with those of the build: {n_items or 'none'}")
    show(outlook_table(bundle))
    show(risk_table(bundle))
    return Outcome(_data(bundle, signature))


def _data(bundle: Bundle, signature: str) -> dict[str, Any]:
    """Return the description as plain data; times in seconds."""
    return {
        "identity": {**asdict(bundle.identity), "sha256": bundle.sha256},
        "signature": signature,
        "features": bundle.names,
        "classes": bundle.space.classes,
        "candidates": len(bundle.stored.shipped),
        "sequences": len(bundle.stored.sequences),
        "models": len(bundle.models),
        "engines": Counter(model.engine for model in bundle.models),
        "estimators": Counter(model.estimator for model in bundle.models if model.estimator),
        "promise": {**asdict(bundle.promise), "text": promise_text(bundle)},
        "best_score": max((model.accuracy for model in bundle.models), default=None),
        "costs": str(bundle.times.origin),
        "longest_step": longest_step(bundle),
        "reference_items": len(bundle.references.items),
        "outlook": {
            regime: bundle.at(1.0, regime).times.outlook
            for regime in REGIMES
            if regime == "hot" or regime in bundle.regimes
        },
        "confidence": bundle.confidence,
    }


def _unchecked(folder: Path) -> str:
    """Return whether there is a signature, which was not checked."""
    return "signed, not checked, since no key was given" if (folder / SIGNATURE_FILE).exists() else "none"


def _engines(bundle: Bundle) -> str:
    """Return how many models each engine runs."""
    counts = Counter(model.engine for model in bundle.models)
    return " and ".join(f"{n} in {engine}" for engine, n in counts.most_common()) or "none to run"


def _best(bundle: Bundle) -> str:
    """Return the score of the model that scores most, and how certain it is."""
    best = max(bundle.models, key=lambda model: model.accuracy, default=None)
    if best is None:
        return "none"
    if best.estimate is None:
        return f"{best.accuracy:.3f}, as measured, although it was chosen for this score; no interval is stated"
    return (
        f"{best.accuracy:.3f}; on new items of the same kind {best.estimate}, with {CONFIDENCE:.0%} confidence; "
        f"measured {best.estimate.measured:.3f}, with the luck of a model that was chosen for this score"
    )


def _quantile(quantile: float) -> str:
    return f"the {quantile:g} quantile" if quantile else "the worst case"
