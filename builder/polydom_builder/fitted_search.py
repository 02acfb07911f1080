"""The steps that both searches share after the preparation: attributes, candidates, exported models, the bundle."""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from polydom_runtime.bundles.bundle import Bundle, Promise, StoredIndex
from polydom_runtime.bundles.identity import Identity
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.bundles.references import References
from polydom_runtime.describing.outlook_table import outlook_table
from polydom_runtime.features import FeatureSpace
from polydom_runtime.items.kinds import ItemKind
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.fingerprint import source_fingerprint

from .bundling.assembly import check_memory, draft_bundle, model_entries, models_of
from .bundling.bundle_folder import write_bundle
from .bundling.export import ExportedModel, Order, export_models, models_to_export
from .bundling.quantiles import with_chosen_times
from .bundling.risks import with_risks
from .costs.model_timers import ModelTimer
from .costs.target import Target
from .preparation.parameters import is_sure
from .preparation.preparation import Prepared
from .preparation.progress import progress_bar
from .sets.combined_costs import Combine
from .sets.costs_of_sets import costs_of_sets
from .sets.inputs import CostsOfSets
from .signing.signing_key import SigningKey
from .training.families import Family, named
from .training.trainer import Trainer

MOST_LOST = 0.05
"""Without a warning, an exported model may score less than in the search by this: forests are random."""


class FittedSearch(Protocol):
    """The parameters and attributes of a search that the shared steps use; see `PolyDomSearch`."""

    verbose: int
    quantile: float
    confidence: bool
    max_mismatches: int
    space_: FeatureSpace
    sizes_: list[float]
    samples_: CostSamples | None
    target_: Target
    trainer_: Trainer
    families_: tuple[Family, ...]
    timer_: ModelTimer
    references_: References
    item_kind_: ItemKind | None
    data_sha256_: str
    set_costs_: CostsOfSets
    expanded_: dict[int, float]
    scores_: dict[str, dict[int, float]]
    costs_: dict[str, CostsOfSets]
    prior_: tuple[int | float, float]


def publish(search: Any, prepared: Prepared, combine: Combine | None = None) -> None:
    """Set the attributes that both searches have before they train.

    `combine`: the rule for the cost of features together; their sum if not given.
    """
    search.region_, search.space_, search.dropped_ = prepared.region, prepared.space, prepared.dropped
    search.target_, search.samples_ = prepared.target, prepared.samples
    search.sizes_, search.times_, search.fits_ = prepared.sizes, prepared.target.worst, dict(prepared.target.fits)
    search.timer_, search.references_, search.item_kind_ = prepared.timer, prepared.references, prepared.item_kind
    search.data_sha256_ = prepared.data
    search_with(search, prepared.families, combine)


def search_with(search: Any, families: Sequence[Family], combine: Combine | None = None) -> None:
    """Set the families of a search, with what belongs to them; the first one explores the lattice."""
    first, *_ = search.families_ = tuple(families)
    costs = {family.name: costs_of_sets(search.target_.worst, family.seconds, combine) for family in families}
    search.trainer_, search.set_costs_, search.costs_ = first.trainer, costs[first.name], costs


def candidate(search: FittedSearch, order: Order, family: Family | None = None) -> Candidate:
    """Return the candidate of a trained set, with its features in this order; of the first family if not given."""
    mask = sum(1 << i for i in order)
    names = tuple(search.space_.names[i] for i in order)
    estimator = (family or search.families_[0]).name
    score, cost = search.scores_[estimator][mask], search.costs_[estimator](mask)
    return Candidate(mask, names, score, cost, estimator if mask else "")


def promised_budgets(search: Any) -> tuple[float, float]:
    """Return the shortest and the longest deadline in seconds that a fitted search is for.

    The region of `PolyDomSearch` begins earlier, for a device that is slower by `slowdown`.
    """
    low, high = search.region_.budgets
    return min(low * getattr(search, "slowdown", 1.0), high), high


def warn_if_useless(scores: Mapping[int, float]) -> None:
    """Warn if no trained set scores more than the answer without features."""
    if max(scores.values()) <= scores[0]:
        warnings.warn(
            f"No feature set scores more than the answer without features ({scores[0]:.3g}): the bundle always gives "
            "that answer. Look at the labels, the scoring, the features and the estimator.",
            stacklevel=3,
        )


def export_orders(search: FittedSearch, chosen: Sequence[tuple[Order, str]]) -> list[ExportedModel]:
    """Train, export and check a model for every given order of features and its estimator, and for every prefix.

    Raises `ExportError` if a model cannot be exported, or its labels differ from scikit-learn's.
    """
    quickest = min(search.families_, key=lambda family: family.seconds)
    every, found = models_to_export(chosen, quickest.name), {}
    with progress_bar(search.verbose, "models exported", len(every)) as bar:
        for family in search.families_:
            orders = [order for order, name in every if name == family.name]
            with named(family.name):
                exported = export_models(
                    *(family, orders, search.space_.names, search.target_.versions, search.max_mismatches, bar.update),
                    is_sure(search),
                )
            found.update({(model.order, model.estimator): model for model in exported})
    for model in (models := [found[which] for which in every]):
        searched = search.scores_[model.estimator].get(sum(1 << i for i in model.order), -math.inf)
        if model.accuracy < searched - MOST_LOST:
            warnings.warn(
                f"The model of {search.trainer_.name_of(model.order)} scores {model.accuracy:.3f} as it is exported, "
                f"and {searched:.3f} in the search. Its features were chosen by the latter. Set random_state in the "
                "estimator if it has one, or choose one that is converted more exactly.",
                stacklevel=4,
            )
    return models


def draft(
    search: FittedSearch,
    exported: Sequence[ExportedModel],
    promise: Promise,
    *,
    combine: Combine | None = None,
    stored: StoredIndex | None = None,
    identity: Identity,
) -> Bundle:
    """Return a bundle with worst cases only and with every exported model, still without an index.

    `search`: fitted. `combine`: the rule for the cost of features together; their sum if not given. `stored`: the
    sequences of a greedy bundle. `identity`: what the user gave.
    """
    entries = model_entries(search.timer_, search.target_, exported, combine)
    bundle = draft_bundle(
        search.space_, search.trainer_, search.target_, promise, entries, prior=search.prior_, stored=stored
    )
    return replace(
        bundle,
        references=search.references_,
        space=replace(bundle.space, item_kind=search.item_kind_),
        identity=replace(identity, data=search.data_sha256_, code=source_fingerprint(search.space_)),
    )


def write_fitted(
    search: FittedSearch,
    folder: str | os.PathLike[str],
    bundle: Bundle,
    exported: Sequence[ExportedModel],
    proof: bytes | None = None,
    key: SigningKey | None = None,
) -> Bundle:
    """Choose the times that a bundle plans with, and write and return it; print what its deadlines buy if verbose.

    `search`: fitted. `bundle`: with worst cases only. `exported`: at least the models of the bundle. `proof`: the
    content of the proof file. `key`: the key to sign with.

    Raises `ExportError` if the models do not fit the memory of the target, or the folder cannot be written.
    """
    check_memory(bundle, search.target_)
    bundle = with_chosen_times(bundle, search.target_, search.samples_, search.sizes_, 1.0 - search.quantile)
    bundle = with_risks(bundle, exported, search.trainer_, search.sizes_)
    models = models_of(bundle, exported)
    write_bundle(folder, bundle, models, proof, key)
    if search.verbose:
        print(outlook_table(bundle))
    return replace(bundle, contents=tuple(models))
