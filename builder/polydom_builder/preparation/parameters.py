"""Checks of the parameters of a search, before it starts."""

import pickle
import stat
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory
from joblib import hash as content_hash
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer

from polydom_builder.exceptions import TrainingError
from polydom_builder.training.cache import Cache
from polydom_builder.training.column_names import check_names
from polydom_builder.training.families import named, named_estimators
from polydom_runtime.causes import shown
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.features import checked_space
from polydom_runtime.policy.deadline import MAX_SECONDS

DEFAULT_ALPHAS = (2.0, 1.5, 1.3, 1.2, 1.15, 1.1, 1.07, 1.05, 1.03, 1.02, 1.01, 1.005, 1.0)
"""Values of alpha that are tried one after another if the trainings are limited."""

MAX_SLOWDOWN = 1000.0

Scoring = str | Callable[..., float]


def checked_estimator(search: Any) -> Scoring:
    """Return the scoring of a search, after a check of its estimator, scoring, quantile and number of workers.

    Raises `TrainingError` if one of these is not valid, or the scoring or the estimator cannot be pickled.
    """
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
        raise TrainingError(f"scoring must be a scikit-learn scorer. {e}") from e
    except (pickle.PicklingError, TypeError, AttributeError) as e:
        raise TrainingError(
            "The scoring and the estimator must be picklable: their content identifies cached scores, and each worker "
            f"gets a copy. Got {scoring!r}. Use functions at the top of a module, no lambdas. {e}"
        ) from e
    return scoring


def check_single(estimator: Any) -> None:
    """Check that a search by sequences has one estimator: the models of a sequence answer one after another.

    Raises `TrainingError` if it has a mapping of them.
    """
    if isinstance(estimator, Mapping):
        raise TrainingError(
            f"A greedy search must have one estimator. Got {len(estimator)} by name. Give one, or use PolyDomSearch."
        )


def checked_memory(memory: str | Memory | None) -> Memory:
    """Return the cache of a search; it stores nothing if `memory` is None.

    Raises `TrainingError` if its folder is not writable, or all users may write there.
    """
    if isinstance(memory, Memory):
        memory = memory.location  # its own files are pickles
    if memory is None:
        return Cache()
    try:
        Path(memory).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=memory).close()
        folder = Path(memory).stat()
    except (OSError, TypeError) as e:
        raise TrainingError(f"The memory folder must be writable. {e}. Choose another, or None to keep nothing.") from e
    if folder.st_mode & stat.S_IWOTH:
        raise TrainingError(
            f"The memory folder must not be writable for all users. {memory} is. Choose another, or run chmod o-w."
        )
    return Cache(Path(memory).absolute())


def checked_budgets(deadline: Any) -> tuple[float, float]:
    """Return the smallest and the largest budget in seconds; (0, inf) without a deadline.

    Raises `DeadlineError` if the deadline is not a positive number below `MAX_SECONDS`, or a rising pair of such
    numbers.
    """
    if deadline is None:
        return 0.0, np.inf
    try:
        given = np.asarray(deadline, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        given = np.empty(0)
    if len(given) not in (1, 2) or not 0.0 < given[0] <= given[-1] < MAX_SECONDS:
        raise DeadlineError(
            f"The deadline must be positive seconds, such as 0.002, less than {MAX_SECONDS:g}, or a range (low, high). "
            f"Got {shown(deadline)}."
        )
    return float(given[0]), float(given[-1])


def checked_slacks(search: Any) -> tuple[float, ...]:
    """Return the alphas of a search, to be tried one after another, after a check of all its slacks.

    The slacks are alpha, the tolerance and its quantile, the limits of training, the loss by early stops, and the
    slow-down.

    Raises `TrainingError` if a slack is not a number in its range, several alphas are given without a limit, or a limit
    with a lattice search that heeds none.
    """
    limited, lattice = checked_limits(search), lattice_of(search)
    if limited and lattice not in ("by-gain", "best-first"):
        raise TrainingError(f"max_trainings and max_seconds go with a search by gain or best-first. Got {lattice!r}.")
    if lattice == "by-gain" and not (search.alpha is None and search.tolerance is None):
        raise TrainingError(
            "alpha and tolerance are for a search that proves them. Got one of them with lattice 'by-gain'. Leave it "
            "out, or choose lattice='best-first'."
        )
    alphas = checked_alphas(1.0 if search.alpha is None else search.alpha, limited)
    if search.tolerance not in ("auto", None):
        check_number("tolerance", search.tolerance, 0.0, np.inf, ", or 'auto'")
    check_number("standard_errors", search.standard_errors, 0.0, np.inf)
    check_number("tolerance_quantile", search.tolerance_quantile, 0.0, 1.0)
    if search.early_stop is not None:
        check_number("early_stop", search.early_stop, 0.0, 1.0)
        if search.costs_of_errors is not None:
            raise TrainingError(
                "early_stop must be left out with costs_of_errors. It limits the accuracy that is lost, not the cost."
            )
    check_number("slowdown", search.slowdown, 1.0, MAX_SLOWDOWN)
    return alphas


def lattice_of(search: Any) -> str:
    """Return the lattice search that is asked for; by gain if neither it nor a slack is given."""
    slack = search.alpha is not None or search.tolerance is not None
    lattice: str = search.lattice or ("best-first" if slack else "by-gain")
    return lattice


def is_sure(search: Any) -> bool:
    """Tell whether the models of a bundle are to state their confidence: early stops go by it.

    Raises `TrainingError` if `confidence` is neither True nor False.
    """
    if not isinstance(search.confidence, bool):
        raise TrainingError(f"confidence must be True or False. Got {shown(search.confidence)}.")
    return search.confidence or getattr(search, "early_stop", None) is not None


def checked_limits(search: Any) -> bool:
    """Tell whether the trainings of a search are limited.

    Raises `TrainingError` if a limit is not a number in its range.
    """
    if search.max_trainings is not None:
        check_count("max_trainings", search.max_trainings)
    if search.max_seconds is not None:
        check_number("max_seconds", search.max_seconds, 1e-9, np.inf)
    return search.max_trainings is not None or search.max_seconds is not None


def checked_alphas(alpha: Any, limited: bool) -> tuple[float, ...]:
    """Return the falling values of alpha to search with; a single one if the trainings are not limited.

    Raises `TrainingError` if a value is not a number >= 1, several values do not fall strictly, or are given without a
    limit.
    """
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
    """Check a parameter that must be a number.

    `value`: given by the user. `low`, `high`: the smallest and the largest number allowed. `or_else`: what it may be as
    well, for the message.

    Raises `TrainingError` if it is not a number, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low <= value <= high:
        raise TrainingError(f"{name} must be a number from {low:g} to {high:g}{or_else}. Got {shown(value)}.")


def checked_lambdas(lambdas: Any) -> tuple[float, ...]:
    """Return the λs of Greedy.

    Raises `TrainingError` if they are not a sequence of numbers.
    """
    try:
        return tuple(map(float, lambdas))
    except (TypeError, ValueError) as e:
        raise TrainingError(f"lambdas must be a sequence of numbers, such as (0.0, 0.1). Got {lambdas!r}.") from e


def check_count(name: str, value: Any) -> None:
    """Check that a parameter is an integer of at least 1.

    Raises `TrainingError` if it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise TrainingError(f"{name} must be an integer of at least 1, or None. Got {value!r}.")


def checked_sizes(size_range: Any, item_sizes: Sequence[float]) -> tuple[float, float]:
    """Return the range of sizes to plan for, by default that of the items.

    Raises `TrainingError` if `size_range` is not a pair of numbers.
    """
    if size_range is None:
        return min(item_sizes), max(item_sizes)
    try:
        low, high = map(float, size_range)
    except (TypeError, ValueError) as e:
        raise TrainingError(f"size_range must be a pair (low, high) of item sizes. Got {size_range!r}.") from e
    return low, high


def check_choice(name: str, value: Any, choices: Sequence[str | None]) -> None:
    """Check that a parameter is one of the choices.

    Raises `TrainingError` if it is not.
    """
    if value not in choices:
        raise TrainingError(f"{name} must be one of {', '.join(map(str, choices))}. Got {value!r}.")
