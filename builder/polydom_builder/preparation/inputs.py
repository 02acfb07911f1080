"""The items, labels and parameters of a search, checked before anything is measured or trained."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import is_classifier

from polydom_builder.bundling.given_identity import source_date
from polydom_builder.exceptions import TrainingError
from polydom_builder.sets.region import QueryRegion
from polydom_builder.training.cache import Cache
from polydom_builder.training.chosen_prior import chosen_prior
from polydom_builder.training.copies import check_memory
from polydom_builder.training.error_costs import checked_error_costs, scoring_by_costs
from polydom_builder.training.families import named, named_estimators
from polydom_builder.training.folds import checked_groups, make_splits
from polydom_builder.training.labels import Targets, targets_of
from polydom_builder.training.table import Table
from polydom_builder.training.trainer import Trainer
from polydom_builder.training.weights import check_weighable, checked_weights
from polydom_builder.training.workers import check_workers
from polydom_runtime.exceptions import ItemError
from polydom_runtime.features import MAX_FEATURES, FeatureSpace, ItemKind, checked_space, common_kind
from polydom_runtime.measuring.item_sizes import checked_items, checked_size

from .parameters import checked_budgets, checked_estimator, checked_memory, checked_sizes, expected_sizes
from .settings import NamedSettings


@dataclass(frozen=True)
class Inputs:
    """What a search starts from."""

    space: FeatureSpace
    items: list[Any]
    sizes: list[float]
    kind: ItemKind | None
    """The properties that all items share; None if they are no arrays."""
    expected: list[float]
    """The sizes that are expected on the node."""
    region: QueryRegion
    memory: Cache
    targets: Targets
    trainers: Callable[[Table], dict[str, Trainer]]
    """Returns a trainer for each estimator, by name, with the features of the items."""


def checked_inputs(
    search: NamedSettings, items: Sequence[Any], labels: Sequence[Any], groups: Any, sample_weight: Any
) -> Inputs:
    """Check the parameters and the data of a search; see `prepare` for the errors."""
    _, limits, answers, node, _ = search.settings
    check_workers(search.n_jobs)
    source_date()  # an error should come before the training
    scoring, budgets = checked_estimator(search), checked_budgets(search.deadline)
    memory, space, items = checked_memory(search.memory), checked_space(search.space), checked_items(items)
    if min(limits.max_features or len(space), len(space)) > MAX_FEATURES:
        raise TrainingError(
            f"A lattice must have at most {MAX_FEATURES} features. Got {len(space)}. "
            "Give max_features, such as 12: then a pre-selection chooses at most this number of features."
        )
    if not items:
        raise TrainingError("There must be items, and one label for each. Got none.")
    estimators = named_estimators(search.estimator)
    targets = targets_of(labels, len(items), regression=not is_classifier(next(iter(estimators.values()))))
    check_memory(items, targets)
    weights = checked_weights(sample_weight, len(items))
    errors = checked_error_costs(answers.costs_of_errors, targets, weights)
    chosen = chosen_prior(answers.prior, targets)
    if errors is not None:
        scoring = scoring_by_costs(search.scoring, targets, errors)
    for name, model in estimators.items() if weights is not None else ():
        with named(name):
            check_weighable(model, scoring)
    groups = checked_groups(groups, len(items))
    splits = make_splits(search.cv, targets, groups, search.random_state, weights)
    kind = common_kind(items)
    sizes = [item_size(space, k, item) for k, item in enumerate(items)]
    # A set fits on a machine that is slower by a factor s if it fits a deadline that is shorter by s.
    region = QueryRegion(checked_sizes(search.size_range, sizes), (budgets[0] / node.slowdown, budgets[1]))
    expected = expected_sizes(node.sizes, sizes, region.sizes)
    settled = splits, scoring, search.n_jobs, memory, space.names

    def trainers(table: Table) -> dict[str, Trainer]:
        about: dict[str, Any] = {"weights": weights, "groups": groups, "errors": errors, "chosen": chosen}
        return {name: Trainer(model, table, *settled, **about) for name, model in estimators.items()}

    return Inputs(space, items, sizes, kind, expected, region, memory, targets, trainers)


def item_size(space: FeatureSpace, number: int, item: Any) -> float:
    """Return the size of the item with this number; `ItemError` with its number if that is no size."""
    try:
        return checked_size(space, item)
    except ItemError as e:
        raise ItemError(f"Item {number}: {e}") from e
