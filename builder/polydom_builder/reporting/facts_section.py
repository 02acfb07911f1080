"""Promise, device and origin of a bundle, in words."""

from pathlib import Path

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.first_answer import first_answer
from polydom_runtime.describing.lateness import longest_step
from polydom_runtime.describing.outlook_table import ONLY_PRIOR, regimes_text
from polydom_runtime.describing.promise_text import promise_text, score_text
from polydom_runtime.trust import SIGNATURE_FILE

from .page import Facts, Section


def facts_section(bundle: Bundle) -> Section:
    """Return the section with all that a bundle states about itself in words."""
    classes = ", ".join(map(str, bundle.space.classes)) or "none: answers are numbers"
    (smallest, largest), origin = bundle.promise.sizes, bundle.times.origin
    first = first_answer(bundle)
    promise = [
        ("score", score_text(bundle)),
        ("promise", promise_text(bundle)),
        ("deadlines", deadlines_text(bundle)),
        ("item sizes", f"{smallest:g} to {largest:g}"),
        ("slow-down", f"models for devices up to {bundle.promise.slowdown:g} times slower, at the shortest deadline"),
        ("shortest deadline for more than the prior", str(first) if first else "none: no set scores more"),
        ("longest step", f"{longest_step(bundle)}; an answer can be late by what a step exceeds its worst case"),
        ("classes", classes),
    ]
    device = [
        ("costs", str(origin)),
        ("measured", regimes_text(bundle)),
        ("versions", ", ".join(f"{name} {version}" for name, version in origin.versions.items()) or "not stated"),
    ]
    identity = [*bundle.identity.described(bundle.sha256).items(), ("signature", _signature(bundle))]
    return Section(
        "Promise, device and origin",
        "",
        [Facts("Promise", promise), Facts("Device", device), Facts("Origin", identity)],
    )


def deadlines_text(bundle: Bundle) -> str:
    """Return the range of deadlines, or the only one."""
    low, high = bundle.promise.budgets
    if high == float("inf"):
        return "any"
    return format_seconds(low) if low == high else f"{format_seconds(low)} to {format_seconds(high)}"


def warnings_of(bundle: Bundle) -> list[str]:
    """Return all reasons to doubt what a bundle states, as sentences."""
    origin = bundle.times.origin
    found = ["The costs are estimated, not measured."] if origin.estimated else []
    found += [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in origin.notes]
    if bundle.promise.margin is None and bundle.promise.alpha == float("inf") and not bundle.is_greedy:
        found.append("Nothing is promised about the score.")
    if priors := [o.deadline for o in bundle.times.outlook if o.prior_share >= ONLY_PRIOR]:
        found.append(f"Deadlines up to {format_seconds(max(priors))} only get the prior.")
    if bundle.shipping.n_left_out:
        found.append(f"{bundle.shipping.n_left_out} models were left out to keep the limits.")
    if any(model.estimate is None for model in bundle.models):
        found.append("Scores are as measured, with the luck of models that were chosen by them; no interval is stated.")
    return found


def _signature(bundle: Bundle) -> str:
    if bundle.signed:
        return str(bundle.signed)
    there = bundle.path is not None and (Path(bundle.path) / SIGNATURE_FILE).exists()
    return "signed, not checked" if there else "none"
