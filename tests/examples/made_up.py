"""The features of the made-up task, in a file of their own: each build reads all that their module imports."""

from typing import Any

from polydom_runtime import Feature, FeatureSpace, Step


def _halved(x: Any) -> Any:
    return x[: len(x) // 2]


def _mean(x: Any) -> list[float]:
    return [float(x.mean())]


def _spread(x: Any) -> list[float]:
    return [float(x.std())]


_HALVED = Step("halved", _halved)

space = FeatureSpace(
    [Feature("mean", _mean), Feature("half_mean", _mean, 1, _HALVED), Feature("half_spread", _spread, 1, _HALVED)], len
)
"""Three features of which two share a step."""
