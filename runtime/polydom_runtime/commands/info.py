"""``polydom-node info``: check a bundle and describe it."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Choice
from polydom_runtime.causes import printable
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.description import bundle_data, describe
from polydom_runtime.describing.time_bounds import longest_step

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
    for line in (*(f"{what}: {text}" for what, text in said.identity.items()), *_lines(bundle, said.facts)):
        show(line)
    for table in (said.outlook, said.risks):
        show("\n".join(table.lines("  ")))
    learned = None if arguments.learned is None else _learned(arguments.learned, bundle)
    return Outcome({**_data(bundle, said.facts), **({} if learned is None else {"learned": learned})})


def _learned(file: str, bundle: Bundle) -> "LearnedFile | None":
    """Tell what a file holds for the bundle on this machine, and the units that moved."""
    from polydom_runtime.learning.learned_file import moved_table, recalled_from  # only here: it needs the learning

    if (kept := recalled_from(file, bundle)) is not None:
        show("\n".join(moved_table(kept).lines("  ")))
    return kept


def _lines(bundle: Bundle, facts: Mapping[str, str]) -> Iterator[str]:
    promise, times, stored, classes = bundle.promise, bundle.times, bundle.stored, bundle.space.classes
    yield f"signature: {facts['signature']}"
    yield f"{len(bundle.names)} features: {facts['features']}"
    yield f"{len(classes)} classes: {printable(facts['classes'])}" if classes else "regression: answers are numbers"
    sets = f"{len(stored.sequences)} greedy sequences" if stored.sequences else f"{len(stored.shipped)} candidates"
    yield f"{sets}, {len(bundle.models)} models with all prefixes, {facts['engines']}"
    yield from (f"{what}: {facts[what]}" for what in ("estimators", "score", "best model") if facts[what])
    yield f"item sizes {facts['item sizes']}, deadlines {facts['deadlines']}"
    yield facts["slow-down"]
    for choice in times.choices or (Choice(promise.budgets[1], times.planned, times.guarded),):
        at = f"hot, at {format_seconds(choice.deadline)}: " if times.choices else "hot: "
        plan, guard = _quantile(choice.planned.quantile), _quantile(choice.guarded.quantile)
        yield f"{at}plans use {plan} of each feature's time; a feature starts only if {guard} of its time fits"
    yield f"longest step: {facts['longest step']}"
    yield f"alpha {promise.alpha:g}, tolerance {promise.tolerance:g}, dispatch {times.worst.dispatch}"
    yield f"promise: {facts['promise']}"
    yield facts["costs"]
    yield f"times measured: {facts['times measured']}"
    yield f"reference items, on which a node compares its features with those of the build: {facts['reference items']}"


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
