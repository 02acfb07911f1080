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
from polydom_runtime.features import FeatureSpace
from polydom_runtime.items.kinds import ItemKind
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.fingerprint import source_fingerprint
from polydom_runtime.policy.outlook_table import outlook_table

from .bundling.assembly import check_memory, draft_bundle, model_entries, models_of
from .bundling.bundle_folder import write_bundle
from .bundling.export import ExportedModel, Order, export_models, with_prefixes
from .bundling.quantiles import with_chosen_times
from .costs.combined_costs import Combine
from .costs.costs_of_sets import costs_of_sets
from .costs.model_timers import ModelTimer
from .costs.target import Target
from .lattice.inputs import CostsOfSets
from .preparation.preparation import Prepared
from .preparation.progress import progress_bar
from .signing.signing_key import SigningKey
from .training.trainer import Trainer

MOST_LOST = 0.05
"""Without a warning, an exported model may score less than in the search by this: forests are random."""


class FittedSearch(Protocol):
    """The parameters and attributes of a search that the shared steps use; see `PolyDomSearch`."""

    verbose: int
    quantile: float
    max_mismatches: int
    space_: FeatureSpace
    sizes_: list[float]
    samples_: CostSamples | None
    target_: Target
    trainer_: Trainer
    timer_: ModelTimer
    references_: References
    item_kind_: ItemKind | None
    data_sha256_: str
    set_costs_: CostsOfSets
    expanded_: dict[int, float]
    prior_: tuple[int | float, float]


def publish(search: Any, prepared: Prepared, combine: Combine | None = None) -> None:
    """Set the attributes that both searches have before they train.

    Parameters
    ----------
    search : PolyDomSearch or GreedySearch
    prepared : Prepared
    combine : callable, optional
        The rule for the cost of features together; their sum if not given.
    """
    search.region_, search.space_, search.dropped_ = prepared.region, prepared.space, prepared.dropped
    search.target_, search.samples_, search.trainer_ = prepared.target, prepared.samples, prepared.trainer
    search.sizes_, search.times_, search.fits_ = prepared.sizes, prepared.target.worst, dict(prepared.target.fits)
    search.timer_, search.references_, search.item_kind_ = prepared.timer, prepared.references, prepared.item_kind
    search.data_sha256_ = prepared.data
    search.set_costs_ = costs_of_sets(prepared.target.worst, prepared.model_seconds, combine)


def candidate(search: FittedSearch, order: Order) -> Candidate:
    """Return the candidate of a trained set, with its features in this order."""
    mask = sum(1 << i for i in order)
    names = tuple(search.space_.names[i] for i in order)
    return Candidate(mask, names, search.expanded_[mask], search.set_costs_(mask))


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


def export_orders(search: FittedSearch, orders: Sequence[Order]) -> list[ExportedModel]:
    """Train, export and check a model for every given order of features and for every prefix of one.

    Raises
    ------
    ExportError
        If a model cannot be exported, or its labels differ from scikit-learn's.
    """
    every = with_prefixes(orders)
    with progress_bar(search.verbose, "models exported", len(every)) as bar:
        exported = export_models(
            search.trainer_, every, search.space_.names, search.target_.versions, search.max_mismatches, bar.update
        )
    for model in exported:
        searched = search.expanded_.get(sum(1 << i for i in model.order), -math.inf)
        if model.accuracy < searched - MOST_LOST:
            warnings.warn(
                f"The model of {search.trainer_.name_of(model.order)} scores {model.accuracy:.3f} as it is exported, "
                f"and {searched:.3f} in the search. Its features were chosen by the latter. Set random_state in the "
                "estimator if it has one, or choose one that is converted more exactly.",
                stacklevel=4,
            )
    return exported


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

    Parameters
    ----------
    search : PolyDomSearch or GreedySearch
        Fitted.
    exported : sequence of ExportedModel
    promise : Promise
    combine : callable, optional
        The rule for the cost of features together; their sum if not given.
    stored : StoredIndex, optional
        The sequences of a greedy bundle.
    identity : Identity
        What the user gave.
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

    Parameters
    ----------
    search : PolyDomSearch or GreedySearch
        Fitted.
    folder : str or path
    bundle : Bundle
        With worst cases only.
    exported : sequence of ExportedModel
        At least the models of the bundle.
    proof : bytes, optional
        The content of the proof file.
    key : SigningKey, optional
        The key to sign with.

    Raises
    ------
    ExportError
        If the models do not fit the memory of the target, or the folder cannot be written.
    """
    check_memory(bundle, search.target_)
    bundle = with_chosen_times(bundle, search.target_, search.samples_, search.sizes_, 1.0 - search.quantile)
    write_bundle(folder, bundle, models_of(bundle, exported), proof, key)
    if search.verbose:
        print(outlook_table(bundle))
    return bundle
