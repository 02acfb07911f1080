"""The command ``polydom-node``: run a bundle on items, or say what is in it."""

import argparse
import gc
import json
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .costs import format_seconds
from .exceptions import FeatureError, PolyDomError
from .features import FeatureSpace
from .index_file import load_bundle
from .items import UNLABELLED, iterate, load_object
from .pauses import collector_off
from .predictor import Prediction, Predictor

PRIOR = "(class prior)"
QUANTILES = (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
COLLECT_EVERY = 1000
"""Items between two garbage collections, which are kept out of the timed calls."""


def duration(text: str) -> float:
    """Return seconds from ``2ms``, ``500us`` or ``0.5s``; a number without a unit is refused.

    >>> duration("2ms")
    0.002
    """
    for unit, scale in (("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9), ("s", 1.0)):
        if text.endswith(unit):
            with suppress(ValueError):
                return float(text.removesuffix(unit)) * scale
    raise argparse.ArgumentTypeError(f"must be a number with a unit (s, ms, us, ns), such as 2ms. Got {text!r}")


def space_of(reference: str) -> FeatureSpace:
    """Import the feature space MODULE:SPACE."""
    space = load_object(reference)
    if not isinstance(space, FeatureSpace):
        raise FeatureError(f"{reference!r} must be a polydom_runtime.FeatureSpace. Got {type(space).__name__}.")
    return space


def run(arguments: argparse.Namespace) -> None:
    """Answer every item: a JSON line each, and a summary line."""
    space = space_of(arguments.space)
    predictor = Predictor.load(arguments.bundle, space, deadline=arguments.deadline)
    tally = Tally(predictor.deadline)
    with collector_off(), suppress(KeyboardInterrupt):
        for number, (item, label) in enumerate(iterate(arguments.items)):
            if number == 0:
                predictor.warm_up(item)
            answer = predictor.predict_one(item)
            tally.add(answer, label)
            if not arguments.quiet:
                print(json.dumps({"item": number, **answer._asdict()}), flush=True)
            if number % COLLECT_EVERY == COLLECT_EVERY - 1:
                gc.collect()
    print(json.dumps({"summary": tally.summary() | {"oversized": predictor.n_oversized}}))


class Tally:
    """Counts over all answers of a run."""

    def __init__(self, deadline: float) -> None:
        self.deadline_ns = deadline * 1e9
        self.elapsed: list[int] = []
        self.correct: list[bool] = []
        self.features: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()

    def add(self, answer: Prediction, label: Any) -> None:
        """Count one answer; `label` is what is true, if known."""
        self.elapsed.append(answer.elapsed_ns)
        self.features["+".join(answer.features) or PRIOR] += 1
        self.reasons[answer.reason] += 1
        if not answer.deadline_met:
            self.missed[f"{answer.elapsed_ns / self.deadline_ns:.2f} of the deadline, {answer.reason}"] += 1
        if label is not UNLABELLED:
            self.correct.append(answer.label == label)

    def summary(self) -> dict[str, Any]:
        """Return the counts; `elapsed_share` is elapsed time divided by the deadline."""
        shares = np.array(self.elapsed or [0]) / self.deadline_ns
        return {
            "items": len(self.elapsed),
            "deadline": self.deadline_ns * 1e-9,
            "accuracy": round(float(np.mean(self.correct)), 6) if self.correct else None,
            "missed": self.missed.total(),
            "misses": dict(self.missed),
            "elapsed_share": {q: round(float(np.quantile(shares, p)), 4) for q, p in QUANTILES},
            "features": dict(self.features.most_common()),
            "reasons": dict(self.reasons.most_common()),
        }


def info(arguments: argparse.Namespace) -> None:
    """Say what a bundle holds."""
    bundle = load_bundle(arguments.bundle)
    low, high = bundle.budgets
    deadlines = format_seconds(low) if low == high else f"{format_seconds(low)} to {format_seconds(high)}"
    print(f"{len(bundle.names)} features: {', '.join(bundle.names)}")
    print(f"{len(bundle.classes)} classes: {', '.join(map(str, bundle.classes))}")
    print(f"{len(bundle.shipped)} candidates, {len(bundle.models)} models with all prefixes")
    print(f"item sizes {bundle.sizes[0]:g} to {bundle.sizes[1]:g}, deadlines {deadlines}")
    print(f"alpha {bundle.alpha:g}, tolerance {bundle.tolerance:g}, dispatch {bundle.dispatch}")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    top = argparse.ArgumentParser(prog="polydom-node", description="Answer items inside a deadline.")
    commands = top.add_subparsers(required=True)
    command = commands.add_parser("run", help="answer items: a JSON line each, and a summary")
    command.add_argument("bundle", metavar="BUNDLE")
    command.add_argument("space", metavar="MODULE:SPACE")
    command.add_argument("--items", required=True, help="a packed .npz file, - for JSON lines, or MODULE:FUNCTION")
    command.add_argument("--deadline", type=duration, help="such as 2ms; the bundle's own if not given")
    command.add_argument("--quiet", action="store_true", help="print the summary only")
    command.set_defaults(run=run)
    command = commands.add_parser("info", help="check a bundle and say what it holds")
    command.add_argument("bundle", metavar="BUNDLE")
    command.set_defaults(run=info)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; an error of the user's is one line and exit code 2."""
    arguments = parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except PolyDomError as e:
        print(f"polydom-node: {e}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 141
    return 0


if __name__ == "__main__":
    sys.exit(main())
