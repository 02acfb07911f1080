"""The estimator of the command line, if the user names none."""

from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def default_estimator() -> Any:
    """Return logistic regression on standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
