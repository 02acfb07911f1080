"""One description of a bundle as plain data: facts in words, and tables. Commands, pages and notebooks show it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polydom_runtime.bundles.bundle import Bundle, bundle_facts
from polydom_runtime.bundles.confidence import Risk
from polydom_runtime.bundles.model_entry import CONFIDENCE
from polydom_runtime.bundles.promise import Amount
from polydom_runtime.costs import format_seconds
from polydom_runtime.tables import TextTable, format_bytes, percent
from polydom_runtime.trust import SIGNATURE_FILE

from .longest_step import longest_step
from .outlook_table import outlook_table, times_of_regimes, useful_text
from .promise_text import promise_text, regimes_text, score_text

SHOWN_COVERAGES = (1.0, 0.9, 0.8, 0.5)


@dataclass(frozen=True, slots=True)
class Description:
    """What is said of a bundle."""

    identity: Mapping[str, str]
    facts: Mapping[str, str]
    """`identity`, `facts`: texts, by their subjects."""
    outlook: TextTable
    """What deadlines buy in each regime; see `outlook_table`."""
    risks: TextTable
    """The share of wrong answers, if the least sure items get none; only a title if that is not known."""


def describe(bundle: Bundle, deadline: float | None = None) -> Description:
    """Return the description of a bundle; the outlook has a line for a deadline in seconds, if one is given."""
    engines = Counter(model.engine for model in bundle.models)
    estimators = Counter(model.estimator for model in bundle.models if model.estimator)
    facts = {
        "signature": _signature(bundle),
        "score": score_text(bundle),
        "promise": promise_text(bundle),
        "slow-down": f"models for devices up to {bundle.promise.slowdown:g} times slower, at the shortest deadline",
        "shortest deadline for more than the prior": f"hot, {useful_text(bundle.times.outlook)}",
        "longest step": f"hot, {longest_step(bundle)}; an answer can be late by the time that a step exceeds its worst "
        "case",
        "times measured": regimes_text(bundle),
        "versions": ", ".join(f"{name} {version}" for name, version in bundle.times.origin.versions.items()),
        "engines": " and ".join(f"{n} in {engine}" for engine, n in engines.most_common()) or "none to run",
        "estimators": ", ".join(f"{n} models of {name}" for name, n in estimators.most_common()),
        "best model": _best_model(bundle),
        "limits": str(bundle.shipping),
        "reference items": str(len(bundle.references.items) or "none"),
    }
    identity = bundle.identity.described(bundle.sha256)
    return Description(identity, bundle_facts(bundle) | facts, outlook_table(bundle, deadline), risks(bundle))


def bundle_data(bundle: Bundle) -> dict[str, Any]:
    """Return the plain data that all commands state; times in seconds."""
    return {
        "identity": {**bundle.identity._asdict(), "sha256": bundle.sha256},
        "classes": bundle.space.classes,
        "costs": str(bundle.times.origin),
        "outlook": {regime: times.outlook for regime, times in times_of_regimes(bundle).items()},
        "confidence": bundle.confidence,
    }


def _signature(bundle: Bundle) -> str:
    if bundle.signed:
        return str(bundle.signed)
    there = bundle.path is not None and (Path(bundle.path) / SIGNATURE_FILE).exists()
    return "signed, not checked, since no key was given" if there else "none"


def _best_model(bundle: Bundle) -> str:
    best = max(bundle.models, key=lambda model: model.accuracy, default=None)
    if best is None:
        return "none"
    if best.estimate is None:
        return f"{best.accuracy:.3f}, as measured, although it was chosen for this score; no interval is stated"
    return (
        f"{best.accuracy:.3f}; on new items of the same kind {best.estimate}, with {percent(CONFIDENCE)} confidence; "
        f"measured {best.estimate.measured:.3f}, with the luck of a model that was chosen for this score"
    )


def risks(bundle: Bundle) -> TextTable:
    """Return the shares of wrong answers at each deadline; see `Description.risks`."""
    if bundle.confidence is None:
        return TextTable("answers state no confidence: built without")
    if not bundle.confidence.risks:
        return TextTable("answers state their confidence; which share of them is wrong is not stated")
    rows = [
        (
            *(risk.regime, format_seconds(risk.deadline)),
            *(percent(risk_at(risk, coverage), 3) for coverage in SHOWN_COVERAGES),
            f"{risk.error:.3f}",
        )
        for risk in bundle.confidence.risks
    ]
    title = "wrong answers if only the surest share of items is answered, and the mean error of confidences:"
    columns = ("regime", "#deadline", *(f"#{percent(coverage)}" for coverage in SHOWN_COVERAGES), "#error")
    most = percent(max(1.0 - risk.points[0].coverage for risk in bundle.confidence.risks), 3)
    abstains = bundle.error_costs is not None and bundle.error_costs.abstain
    note = f"there is no answer, since that costs least, to at most {most} of the items at a deadline"
    return TextTable(title, columns, rows, [note] * abstains)


def risk_at(risk: Risk, coverage: float) -> float:
    """Return the risk at the point next to a coverage."""
    return min(risk.points, key=lambda point: abs(point.coverage - coverage)).risk


def shipped_amount(bundle: Bundle) -> Amount:
    """Return the number of models of a bundle, their bytes and the mean score."""
    return Amount(len(bundle.models), sum(model.size_bytes for model in bundle.models), bundle.shipping.score)


def amounts(bundle: Bundle) -> TextTable:
    """Return the mean score that fewer or more models would reach; only a title if that is not stated."""
    stated = bundle.shipping
    if not stated.curve:
        return TextTable(f"models: {stated}")
    grid = f"{len(stated.sizes)} sizes and {len(stated.deadlines)} deadline{'s' * (len(stated.deadlines) > 1)}"
    every = sorted([*((amount, "") for amount in stated.curve), (shipped_amount(bundle), "shipped")])
    rows = [
        (str(amount.models), format_bytes(amount.size_bytes), f"{amount.score:.4f}", note) for amount, note in every
    ]
    title = f"models, bytes of their files, mean score over {grid}, if chosen well"
    return TextTable(title, ("#models", "#size", "#score", ""), rows, [str(stated)])
