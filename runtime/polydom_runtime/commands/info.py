"""``polydom-node info``: check a bundle and describe it."""

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Choice
from polydom_runtime.causes import printable
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.description import bundle_data, describe
from polydom_runtime.describing.longest_step import longest_step
from polydom_runtime.tables import TextTable

from .arguments import duration
from .bundle_options import BUNDLE, LEARNED, TRUST, bundle_of
from .options import Option
from .outcome import Outcome
from .terminal import show

if TYPE_CHECKING:
    from polydom_runtime.learning.learned_file import LearnedFile

OPTIONS = (
    BUNDLE,
    Option("--deadline", "a further deadline to tell the expected answers of, such as 2ms", duration),
    *(LEARNED, TRUST),
)


def run(arguments: Namespace) -> Outcome:
    """Print what a bundle is, its features, classes, models and deadlines, how it plans, and what its deadlines buy."""
    bundle = bundle_of(arguments)
    said = describe(bundle, arguments.deadline)
    parts, show_one = _lines(bundle, said.facts), _show_table
    if sys.stdout.isatty():
        from polydom_runtime.describing.knee import verdict  # only here: often, a program reads

        from .summary_text import show_bundle, show_table

        show_one = show_table
        show_bundle(said, {"verdict": verdict(bundle), **parts})
    else:
        show("\n".join([*(f"{what}: {text}" for what, text in said.identity.items()), *chain(*parts.values())]))
        _show_table(said.outlook)
        _show_table(said.risks)
    learned = None if arguments.learned is None else _learned(arguments.learned, bundle, show_one)
    return Outcome({**_data(bundle, said.facts), **({} if learned is None else {"learned": learned})})


def _show_table(table: TextTable) -> None:
    show("\n".join(table.lines("  ")))


def _learned(file: str, bundle: Bundle, show_one: Callable[[TextTable], None]) -> "LearnedFile | None":
    """Tell what a file holds for the bundle on this machine, and the units that moved."""
    from polydom_runtime.learning.learned_file import moved_table, recalled_from  # only here: it needs the learning

    if (kept := recalled_from(file, bundle)) is not None:
        show_one(moved_table(kept))
    return kept


def _lines(bundle: Bundle, facts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the lines on each part of a bundle."""
    promise, times, stored, classes = bundle.promise, bundle.times, bundle.stored, bundle.space.classes
    sets = f"{len(stored.sequences)} greedy sequences" if stored.sequences else f"{len(stored.shipped)} candidates"
    return {
        "signature": [f"signature: {facts['signature']}"],
        "answers": [
            f"{len(bundle.names)} features: {facts['features']}",
            f"{len(classes)} classes: {printable(facts['classes'])}" if classes else "regression: answers are numbers",
        ],
        "models": [f"{sets}, {len(bundle.models)} models with all prefixes, {facts['engines']}"],
        "scores": [f"{what}: {facts[what]}" for what in ("estimators", "score", "best model") if facts[what]],
        "range": [f"item sizes {facts['item sizes']}, deadlines {facts['deadlines']}"],
        "plans": [
            facts["slow-down"],
            *map(
                partial(_plan, bool(times.choices)),
                times.choices or (Choice(promise.budgets[1], times.planned, times.guarded),),
            ),
            f"longest step: {facts['longest step']}",
            f"alpha {promise.alpha:g}, tolerance {promise.tolerance:g}, dispatch {times.worst.dispatch}",
        ],
        "promise": [f"promise: {facts['promise']}"],
        "times": [
            facts["costs"],
            f"times measured: {facts['times measured']}",
            "reference items, on which a node compares its features with those of the build: "
            f"{facts['reference items']}",
        ],
    }


def _plan(is_chosen: bool, choice: Choice) -> str:
    at = f"hot, at {format_seconds(choice.deadline)}: " if is_chosen else "hot: "
    plan, guard = _quantile(choice.planned.quantile), _quantile(choice.guarded.quantile)
    return f"{at}plans use {plan} of each feature's time; a feature starts only if {guard} of its time fits"


def _quantile(quantile: float) -> str:
    return f"the {quantile:g} quantile" if quantile else "the worst case"


def _data(bundle: Bundle, facts: Mapping[str, str]) -> dict[str, Any]:
    return {
        **bundle_data(bundle),
        "signature": facts["signature"],
        "features": bundle.names,
        "candidates": len(bundle.stored.shipped),
        "sequences": len(bundle.stored.sequences),
        "models": len(bundle.models),
        "engines": Counter(model.engine for model in bundle.models),
        "estimators": Counter(model.estimator for model in bundle.models if model.estimator),
        "promise": {**bundle.promise._asdict(), "text": facts["promise"]},
        "best_score": max((model.accuracy for model in bundle.models), default=None),
        "longest_step": longest_step(bundle),
        "reference_items": len(bundle.references.items),
    }
