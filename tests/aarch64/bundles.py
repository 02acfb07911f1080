"""The bundles that both machines answer from; built on the host, with given costs so that no time is measured."""

from pathlib import Path

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polydom_builder import PolyDomSearch
from polydom_runtime import CostFunction
from polydom_runtime.bundles.unit_times import StepTime
from tests.bundle_parts import unit_times

from .parity import BUDGETS
from .signals import items, space

US = 1e-6

COSTS = unit_times(
    space.names,
    [
        CostFunction.of(5 * US, linear=0.01 * US),
        CostFunction.of(20 * US, log=1 * US, nlogn=0.01 * US),
        CostFunction.of(10 * US, linear=0.05 * US),
        CostFunction.of(5 * US, linear=0.02 * US),
        CostFunction.of(20 * US, linear=0.2 * US),
    ],
    [StepTime("power", 0b11000, CostFunction.of(10 * US, nlogn=0.02 * US))],
    dispatch=CostFunction.of(5 * US),
    model=20 * US,
)

ESTIMATORS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(20, random_state=0),
}


def build(folder: Path) -> list[Path]:
    """Build a bundle with each estimator for all budgets that are compared; return their folders."""
    signals, labels = items(240, seed=0)
    folders = {folder / f"{name}.bundle": estimator for name, estimator in ESTIMATORS.items()}
    for place, estimator in folders.items():
        search = PolyDomSearch(estimator, space, deadline=(BUDGETS[0], BUDGETS[-1]), cv=3)
        search.fit(signals, labels, costs=COSTS).export(place)
    return list(folders)
