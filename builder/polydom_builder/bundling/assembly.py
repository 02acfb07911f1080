"""From exported models to a bundle. The index is built again, with the time and the score of each exported model."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from polydom_builder.costs.model_timers import ModelTimer
from polydom_builder.costs.target import Target
from polydom_builder.index.envelope import build_index
from polydom_builder.sets.combined_costs import Combine, costs_of_sets
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.bundles.bundle import Bundle, StoredIndex
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.costs import CostFunction

from .export import ExportedModel, Order, with_prefixes


def model_entries(
    timer: ModelTimer, target: Target, exported: Sequence[ExportedModel], combine: Combine | None = None
) -> tuple[ModelEntry, ...]:
    """Return the entries of models, each with its own time of a run on the target, and its cost by a rule if given."""
    whole = None if combine is None else costs_of_sets(target.worst, 0.0, combine)
    entries = []
    times = timer([(model.order, model.onnx_bytes) for model in exported])
    for model, (seconds, engine) in zip(exported, times, strict=True):
        data = model.onnx_bytes
        digest = hashlib.sha256(data).digest()
        of_file = model.order, model.accuracy, seconds, len(data), digest
        entry = ModelEntry(*of_file, engine=engine, estimate=model.estimate, estimator=model.estimator)
        cost = None if whole is None else whole(entry.mask) + CostFunction.of(seconds)
        entries.append(entry._replace(cost=cost))
    return tuple(entries)


def indexed(draft: Bundle, region: QueryRegion) -> Bundle:
    """Return the bundle with its index, and with only the models that the index needs.

    Of the models of one order that are no candidates, the quickest stays, for when time is short.
    """
    entries = draft.models
    # Scores are not quite monotone: a prefix may score higher than the whole set. So every model may be a candidate.
    candidates = {draft.candidate(number): number for number in range(len(entries))}
    index = build_index([draft.empty, *candidates], region)
    shipped = [candidates[c] for c in index.candidates[1:]]
    quickest = quickest_models(entries)
    kept = sorted({*shipped, *(quickest[order] for order in with_prefixes([entries[k].order for k in shipped]))})
    stored = StoredIndex(tuple(kept.index(number) for number in shipped), index.intervals)
    return replace(draft, models=tuple(entries[number] for number in kept), stored=stored)


def quickest_models(entries: Sequence[ModelEntry]) -> dict[Order, int]:
    """Return the number of the quickest model of each order."""
    quickest: dict[Order, int] = {}
    for number in sorted(range(len(entries)), key=lambda number: entries[number].seconds):
        quickest.setdefault(entries[number].order, number)
    return quickest


def check_fits_memory(bundle: Bundle, target: Target) -> None:
    """Check that the models fit the memory of the target; the message names the largest one."""
    names = [entry.name(bundle.names) for entry in bundle.models]
    target.check_memory(names, [entry.size_bytes for entry in bundle.models])


def models_of(bundle: Bundle, exported: Sequence[ExportedModel]) -> list[bytes]:
    """Return the ONNX bytes of a bundle's models, in their order."""
    data = {(model.order, model.estimator): model.onnx_bytes for model in exported}
    return [data[entry.order, entry.estimator] for entry in bundle.models]
