"""Checks of the parameters of a search, before it starts."""

import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory
from joblib import hash as content_hash
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names

from polydom_builder.costs.model_limits import bytes_of
from polydom_builder.exceptions import TrainingError
from polydom_builder.training.cache import Cache, check_folder, make_folder
from polydom_builder.training.column_names import check_names
from polydom_builder.training.families import named, named_estimators
from polydom_runtime.causes import shown
from polydom_runtime.codec.near_names import did_you_mean, one_of
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.features import checked_space
from polydom_runtime.policy.deadline import MAX_SECONDS

from .settings import CORRECTIONS, NamedSettings, Settings

DEFAULT_ALPHAS = (2.0, 1.5, 1.3, 1.2, 1.15, 1.1, 1.07, 1.05, 1.03, 1.02, 1.01, 1.005, 1.0)
"""Values of alpha that are tried one after another if the trainings are limited."""

MAX_SLOWDOWN = 1000.0

Scoring = str | Callable[..., float]


def checked_estimator(search: NamedSettings) -> Scoring:
    """Return the scoring of a search, after a check of its estimator, scoring, quantile and number of workers."""
    models = named_estimators(search.estimator)
    for name, model in models.items():
        with named(name):
            check_names(model, checked_space(search.space).names)
    check_number("quantile", search.quantile, 1e-9, 1.0)
    if search.n_jobs is not None and (not isinstance(search.n_jobs, int | np.integer) or search.n_jobs == 0):
        raise TrainingError(f"n_jobs must be a number of workers, or -1 for all cores. Got {shown(search.n_jobs)}.")
    scoring: Scoring = search.scoring or ("accuracy" if is_classifier(next(iter(models.values()))) else "r2")
    try:
        for model in models.values():
            get_scorer(scoring) if isinstance(scoring, str) else check_scoring(model, scoring)
        content_hash((scoring, search.estimator))
    except ValueError as e:
        if not isinstance(scoring, str):
            raise TrainingError(f"The scoring must be a scorer of scikit-learn, or its name. {e}") from e
        raise TrainingError(
            "The scoring must be the name of a scorer of scikit-learn, such as accuracy, f1_macro or r2. "
            f"Got {scoring}.{did_you_mean(scoring, get_scorer_names())}"
        ) from e
    except (pickle.PicklingError, TypeError, AttributeError) as e:
        raise TrainingError(
            "The scoring and the estimator must be picklable: their content identifies cached scores, and each worker "
            f"gets a copy. Got {scoring!r}. Use functions at the top of a module, no lambdas. {e}"
        ) from e
    return scoring


def checked_memory(memory: str | Memory | None) -> Memory:
    """Return the cache of a search, which keeps nothing if `memory` is None; the folder must be the user's to write."""
    if isinstance(memory, Memory):
        memory = memory.location  # its own files are pickles
    if memory is None:
        return Cache()
    try:
        make_folder(folder := Path(memory).absolute())
        tempfile.TemporaryFile(dir=memory).close()
    except (OSError, TypeError) as e:
        raise TrainingError(f"The memory folder must be writable. {e}. Choose another, or None to keep nothing.") from e
    try:
        check_folder(folder)
    except PermissionError as e:
        raise TrainingError(
            f"The memory folder must not be writable for all users. {e}. Choose another, or run chmod -R o-w {memory}."
        ) from e
    return Cache(folder)


MOST_DEADLINES = 50
"""A bundle states what it gives at each of them."""


def checked_budgets(deadline: Any) -> tuple[float, float]:
    """Return the smallest and the largest budget in seconds; (0, inf) without a deadline."""
    if deadline is None:
        return 0.0, np.inf
    try:
        given = np.asarray(deadline, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        given = np.empty(0)
    if not len(given) or not given[0] > 0.0 or not given[-1] < MAX_SECONDS or (np.diff(given) < 0.0).any():
        raise DeadlineError(
            f"The deadline must be positive seconds, such as 0.002, less than {MAX_SECONDS:g}, or a range (low, high), "
            f"or several rising ones. Got {shown(deadline)}."
        )
    if len(given) > MOST_DEADLINES:
        raise DeadlineError(
            f"There must be at most {MOST_DEADLINES} deadlines. Got {len(given)}. Give those that you ask about: a "
            "range needs only its ends."
        )
    return float(given[0]), float(given[-1])


def asked_deadlines(deadline: Any) -> tuple[float, ...]:
    """Return the deadlines that the user asks about one by one: more than the ends of a range; otherwise none."""
    given = np.unique(np.asarray(deadline, dtype=np.float64)) if deadline is not None else np.empty(0)
    return tuple(given.tolist()) if len(given) > 2 else ()


def check_settings(given: Settings) -> None:
    """Check the fields of all records, except those that say something about items or labels."""
    noise, limits, answers, node, promise = given
    for name in ("max_trainings", "max_features", "max_models"):
        if (count := getattr(limits, name)) is not None:
            check_count(name, count)
    if limits.max_seconds is not None:
        check_number("max_seconds", limits.max_seconds, 1e-9, np.inf)
    if limits.max_memory is not None:
        bytes_of(limits.max_memory)
    if promise is not None:
        checked_alphas(promise.alpha, limits.trainings != (None, None))
        if promise.tolerance != "auto":
            check_number("tolerance", promise.tolerance, 0.0, np.inf, ", or 'auto'")
        check_number("tolerance_quantile", promise.tolerance_quantile, 0.0, 1.0)
    if noise.correction not in CORRECTIONS:
        raise TrainingError(one_of("correction", CORRECTIONS, noise.correction))
    check_number("standard_errors", noise.standard_errors, 0.0, np.inf)
    if not isinstance(answers.confidence, bool):
        raise TrainingError(f"confidence must be True or False. Got {shown(answers.confidence)}.")
    if answers.early_stop is not None:
        check_number("early_stop", answers.early_stop, 0.0, 1.0)
        if answers.costs_of_errors is not None:
            raise TrainingError(
                "early_stop must be left out with costs_of_errors. It limits the accuracy that is lost, not the cost."
            )
    check_number("slowdown", node.slowdown, 1.0, MAX_SLOWDOWN)


def checked_alphas(alpha: Any, limited: bool) -> tuple[float, ...]:
    """Return the falling values of alpha to search with; a single one if the trainings are not limited."""
    if isinstance(alpha, list | tuple | np.ndarray):
        if not limited:
            raise TrainingError("With several alphas there must be max_trainings or max_seconds. Got neither.")
        for value in alpha:
            check_number("Every alpha", value, 1.0, np.inf)
        if not len(alpha) or any(a <= b for a, b in pairwise(alpha)):
            raise TrainingError(f"The alphas must fall from one to the next. Got {list(alpha)}.")
        return tuple(map(float, alpha))
    check_number("alpha", alpha, 1.0, np.inf)
    return (*(a for a in DEFAULT_ALPHAS if a > alpha), float(alpha)) if limited else (float(alpha),)


def check_number(name: str, value: Any, low: float, high: float, or_else: str = "") -> None:
    """Check that a parameter is a number from `low` to `high`; the message adds the words `or_else`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low <= value <= high:
        raise TrainingError(f"{name} must be a number from {low:g} to {high:g}{or_else}. Got {shown(value)}.")


def checked_lambdas(lambdas: Any, estimator: Any, given: Settings) -> tuple[float, ...]:
    """Return the λs of Greedy, after a check that nothing is asked for that a search by sequences has not."""
    if isinstance(estimator, Mapping):  # the models of a sequence answer one after another
        raise TrainingError(
            f"A greedy search must have one estimator. Got {len(estimator)} by name. Give one, or use PolyDomSearch."
        )
    if wrong := [name for name in ("max_models", "max_memory") if getattr(given.limits, name) is not None]:
        raise TrainingError(f"{wrong[0]} must be left out: sequences need all their models. Or use PolyDomSearch.")
    if given.answers.early_stop is not None:
        raise TrainingError("early_stop must be left out: sequences end by time alone. Or use PolyDomSearch.")
    try:
        return tuple(map(float, lambdas))
    except (TypeError, ValueError) as e:
        raise TrainingError(f"lambdas must be a sequence of numbers, such as (0.0, 0.1). Got {lambdas!r}.") from e


def check_count(name: str, value: Any) -> None:
    """Check that a parameter is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise TrainingError(f"{name} must be an integer of at least 1, or None. Got {value!r}.")


def checked_sizes(size_range: Any, item_sizes: Sequence[float]) -> tuple[float, float]:
    """Return the range of sizes to plan for, by default that of the items."""
    if size_range is None:
        return min(item_sizes), max(item_sizes)
    try:
        low, high = map(float, size_range)
    except (TypeError, ValueError) as e:
        raise TrainingError(f"size_range must be a pair (low, high) of item sizes. Got {size_range!r}.") from e
    return low, high


def expected_sizes(given: Any, item_sizes: Sequence[float], size_range: tuple[float, float]) -> list[float]:
    """Return the sizes that items are expected to have, within the range: those given, or those of the items."""
    if given is None:
        return [*item_sizes]
    try:
        sizes = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        sizes = np.empty(0)
    low, high = size_range
    wrong = sizes[~((low <= sizes) & (sizes <= high))]
    if sizes.ndim != 1 or not sizes.size or wrong.size:
        raise TrainingError(
            f"sizes must be a list of item sizes from {low:g} to {high:g}, the range that the search is for. "
            f"Got {shown(float(wrong[0]) if wrong.size else given)}. Leave others out, or widen size_range."
        )
    found: list[float] = sizes.tolist()
    return found
