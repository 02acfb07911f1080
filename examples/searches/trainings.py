"""The default search beside one that proves a promise: what each trains, and its score on test items."""

import numpy as np

from examples.deadlines.systems import PROMISE
from examples.paper.results import Row
from polydom_runtime.arrays import Floats

from .setting import Setting

SEARCHES = {"by gain": {}, "tolerance 0.03": {"promise": PROMISE}}
"""The default search, and one that trains all sets that could be better if a set is at most 0.03 below a subset."""

WORDS = (
    "The default search (*by gain*) beside one with a proven promise (*tolerance 0.03*). *Score* is the mean over "
    "eight deadlines on test items, in percent; the difference has its standard error over test items."
)


def rows(setting: Setting) -> list[Row]:
    """Return a row for each of both searches."""
    fitted = {name: setting.fitted(**changes) for name, changes in SEARCHES.items()}
    right = {name: setting.right(search).mean(axis=0) for name, search in fitted.items()}
    difference, error = mean_and_error(right["by gain"] - right["tolerance 0.03"], setting.weights)
    return [
        {
            "task": setting.task.name,
            "search": name,
            "trained": len(search.expanded_),
            "of": 1 << len(setting.task.space),
            "score": round(100.0 * float(setting.weights @ right[name]), 2),
            "difference": round(100.0 * difference, 2) if name == "by gain" else "",
            "±": round(100.0 * error, 2) if name == "by gain" else "",
            "margin stated": "–" if search.margin_ is None else round(100.0 * search.margin_, 1),
        }
        for name, search in fitted.items()
    ]


def mean_and_error(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return the weighted mean of values, and its standard error if items are drawn independently.

    >>> mean_and_error(np.array([0.0, 1.0, 0.0, 1.0]), np.full(4, 0.25))
    (0.5, 0.25)
    """
    mean = float(weights @ values)
    return mean, float(np.sqrt(weights**2 @ (values - mean) ** 2))
