"""The estimators of the command line."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polydom_builder.exceptions import TrainingError
from polydom_runtime.items.sources import load_object


def default_estimator() -> Any:
    """Return logistic regression on standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def given_estimator(references: Sequence[str]) -> Any:
    """Return the estimator of ``--estimator MODULE:OBJECT``, or several by their names; the default if none is given.

    A name may stand in front, as in ``NAME=MODULE:OBJECT``; without one, that of the object is taken.
    """
    pairs: list[tuple[str, str]] = []
    for reference in references:
        name, is_named, place = reference.rpartition("=")
        pairs.append((name if is_named else place.rpartition(":")[2], place))
    if clashing := [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]:
        raise TrainingError(
            f"Each estimator must have a name of its own. Got {clashing[0]} twice. Write NAME=MODULE:OBJECT."
        )
    if len(pairs) == 1 and "=" not in references[0]:
        return _object(references[0])
    return {name: _object(place) for name, place in pairs} or default_estimator()


def _object(place: str) -> Any:
    """Import an estimator; `TrainingError` for a class, which has no settings yet."""
    if isinstance(found := load_object(place), type):
        name = found.__name__
        raise TrainingError(
            f"{place} must be an estimator with its settings. Got the class {name}. Write estimator = {name}() in a "
            "module of yours, and give MODULE:estimator."
        )
    return found
