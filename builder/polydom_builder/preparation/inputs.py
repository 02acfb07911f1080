"""The items, labels and parameters of a search, checked before anything is measured or trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sklearn.base import is_classifier

from polydom_builder.exceptions import TrainingError
from polydom_builder.sets.region import QueryRegion
from polydom_builder.training.cache import Cache
from polydom_builder.training.error_costs import checked_error_costs, scoring_by_costs
from polydom_builder.training.families import named, named_estimators
from polydom_builder.training.folds import Splits, checked_groups, make_splits
from polydom_builder.training.labels import Targets, targets_of
from polydom_builder.training.table import Table
from polydom_builder.training.trainer import Trainer
from polydom_builder.training.weights import Weights, check_weighable, checked_weights
from polydom_runtime.bundles.error_costs import ErrorCosts
from polydom_runtime.exceptions import ItemError
from polydom_runtime.features import MAX_FEATURES, FeatureSpace, checked_space
from polydom_runtime.items.kinds import ItemKind, common_kind
from polydom_runtime.measuring.item_sizes import checked_items, checked_size

from .model_limits import expected_sizes
from .parameters import Scoring, check_count, checked_budgets, checked_estimator, checked_memory, checked_sizes


class Parameters(Protocol):
    """The parameters that all searches have; see `PolyDomSearch`."""

    estimator: Any
    space: FeatureSpace
    deadline: Any
    size_range: tuple[float, float] | None
    scoring: Any
    costs_of_errors: Any
    cv: Any
    n_jobs: int | None
    memory: Any
    random_state: int | None
    verbose: int
    quantile: float
    max_mismatches: int
    max_features: int | None
    confidence: bool


@dataclass(frozen=True)
class Inputs:
    """What a search starts from."""

    space: FeatureSpace
    items: list[Any]
    sizes: list[float]
    kind: ItemKind | None
    """What all items have in common; None if they are no arrays."""
    expected: list[float]
    """The sizes that are expected on the node."""
    region: QueryRegion
    memory: Cache
    n_jobs: int | None
    estimators: Mapping[str, Any]
    scoring: Scoring
    splits: Splits
    targets: Targets
    weights: Weights
    groups: Sequence[Any] | None
    errors: ErrorCosts | None
    """As for `Trainer`."""

    def trainers(self, table: Table) -> dict[str, Trainer]:
        """Return a trainer for each estimator, by name."""
        common = table, self.splits, self.scoring, self.n_jobs, self.memory, self.space.names
        about: dict[str, Any] = {"weights": self.weights, "groups": self.groups, "errors": self.errors}
        return {name: Trainer(model, *common, **about) for name, model in self.estimators.items()}


def checked_inputs(
    search: Parameters, items: Sequence[Any], labels: Sequence[Any], groups: Any, sample_weight: Any, slowdown: float
) -> Inputs:
    """Check the parameters and the data of a search; see `prepare` for the errors."""
    scoring, budgets = checked_estimator(search), checked_budgets(search.deadline)
    memory, space, items = checked_memory(search.memory), checked_space(search.space), checked_items(items)
    if search.max_features is not None:
        check_count("max_features", search.max_features)
    if min(search.max_features or len(space), len(space)) > MAX_FEATURES:
        raise TrainingError(
            f"A lattice must have at most {MAX_FEATURES} features. Got {len(space)}. "
            "Give max_features, such as 12: then a pre-selection chooses at most this number of features."
        )
    if not items:
        raise TrainingError("There must be items, and one label for each. Got none.")
    estimators = named_estimators(search.estimator)
    targets = targets_of(labels, len(items), regression=not is_classifier(next(iter(estimators.values()))))
    weights = checked_weights(sample_weight, len(items))
    errors = checked_error_costs(search.costs_of_errors, targets, weights)
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
    region = QueryRegion(checked_sizes(search.size_range, sizes), (budgets[0] / slowdown, budgets[1]))
    expected = expected_sizes(getattr(search, "sizes", None), sizes, region.sizes)
    return Inputs(
        *(space, items, sizes, kind, expected, region, memory, search.n_jobs),
        *(estimators, scoring, splits, targets, weights, groups, errors),
    )


def item_size(space: FeatureSpace, number: int, item: Any) -> float:
    """Return the size of the item with this number.

    Raises `ItemError` if it is not a positive, finite number; the message has the number of the item.
    """
    try:
        return checked_size(space, item)
    except ItemError as e:
        raise ItemError(f"Item {number}: {e}") from e
