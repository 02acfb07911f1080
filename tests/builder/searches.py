"""Searches of the task by logistic regression, and queries that they must answer."""

from dataclasses import fields
from typing import Any, TypeVar

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polydom_builder import GreedySearch, PolyDomSearch
from polydom_builder.preparation.settings import RECORDS
from tests.builder import task
from tests.builder.shared_memory import shared_memory

US = task.US
Search = TypeVar("Search", PolyDomSearch, GreedySearch)
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
FEW: dict[Any, dict[str, Any]] = {PolyDomSearch: {"alpha": 1.02}, GreedySearch: {"lambdas": (0.0,)}}
"""Parameters by which each kind of search trains few sets."""
QUERIES = [(n, c * US) for n in (8, 30, 100, 400, 1000, 2000) for c in (50, 70, 100, 150, 200, 300, 400)]


FIELDS = {field.name: f"{name}__{field.name}" for name, kind in RECORDS.items() for field in fields(kind)}


def made(kind: type[Search], estimator: Any = LOGISTIC, space: Any = task.space, **given: Any) -> Search:
    """Return a search. Fields of its records are given by their names alone; an alpha or tolerance of None is none."""
    names = [name for name, value in given.items() if name not in ("alpha", "tolerance") or value is not None]
    found: Search = kind(estimator, space).set_params(**{FIELDS.get(name, name): given[name] for name in names})
    return found


def search(**changes: Any) -> PolyDomSearch:
    """Return a search of the task for a range of deadlines, with some parameters changed."""
    given: dict[str, Any] = {"cv": 3, "alpha": 1.02, "deadline": (50 * US, 400 * US), "memory": shared_memory()}
    return made(PolyDomSearch, **(given | changes))


def fit(found: Search) -> Search:
    """Return a search fitted on the task's items and its stated costs."""
    fitted: Search = found.fit(*task.items(), costs=task.costs)
    return fitted
