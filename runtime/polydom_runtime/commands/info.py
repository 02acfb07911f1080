"""``polydom-node info``: check a bundle and describe it."""

import argparse

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.costs import format_seconds
from polydom_runtime.policy.lateness import longest_step


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node info``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")


def run(arguments: argparse.Namespace) -> None:
    """Print the features, classes, models and deadlines of a bundle, and how it plans."""
    bundle = load_bundle(arguments.bundle)
    promise, times, stored = bundle.promise, bundle.times, bundle.stored
    (smallest, largest), (low, high) = promise.sizes, promise.budgets
    deadlines = format_seconds(low) if low == high else f"{format_seconds(low)} to {format_seconds(high)}"
    print(f"{len(bundle.names)} features: {', '.join(bundle.names)}")
    if bundle.space.classes:
        print(f"{len(bundle.space.classes)} classes: {', '.join(map(str, bundle.space.classes))}")
    else:
        print("regression: answers are numbers")
    sets = f"{len(stored.sequences)} greedy sequences" if stored.sequences else f"{len(stored.shipped)} candidates"
    print(f"{sets}, {len(bundle.models)} models with all prefixes")
    print(f"item sizes {smallest:g} to {largest:g}, deadlines {deadlines}")
    print(f"models for slow-downs up to {promise.slowdown:g} at the shortest deadline")
    planned, guarded = _quantile(times.planned.quantile), _quantile(times.guarded.quantile)
    print(f"plans use {planned} of each feature's time; a feature starts only if {guarded} of its time fits")
    print(f"longest step: {longest_step(bundle)}; an answer can be late by the time that a step exceeds its worst case")
    print(f"alpha {promise.alpha:g}, tolerance {promise.tolerance:g}, dispatch {times.worst.dispatch}")
    print(times.origin)


def _quantile(quantile: float) -> str:
    return f"the {quantile:g} quantile" if quantile else "the worst case"
