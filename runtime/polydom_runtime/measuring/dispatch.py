"""An answer in which features and the model do nothing: what it takes is dispatch."""

from typing import Any

from polydom_runtime.bundles.bundle import Bundle, BundleSpace, Prior, Promise, StoredIndex
from polydom_runtime.bundles.bundle_times import BundleTimes
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.clock import Clock
from polydom_runtime.costs import HUGE, ZERO
from polydom_runtime.features import Feature, FeatureSpace
from polydom_runtime.predictor import Predictor
from polydom_runtime.unit_times import UnitTimes


def dispatch_alone(space: FeatureSpace, clock: Clock) -> Predictor:
    """Return a predictor that answers with a feature and a model that do nothing.

    Without them, code that every answer needs would never run: to decide, to start a feature, to hand over to a model.
    After a sleep this code is cold, and takes as long as a feature.

    Parameters
    ----------
    space : FeatureSpace
        Tells the size of an item, which is a part of dispatch.
    clock : Clock
    """
    nothing = FeatureSpace([Feature("nothing", _zero)], size=space.size)
    bundle = Bundle(
        space=BundleSpace(nothing.names, nothing.widths, (0, 1)),
        times=BundleTimes.of(UnitTimes(nothing.names, (), (ZERO,))),
        promise=Promise(sizes=(0.0, HUGE), budgets=(1.0, 1.0)),
        prior=Prior(0, 0.5),
        models=(ModelEntry((0,), 1.0, 0.0, 0, b""),),
        stored=StoredIndex(shipped=(0,)),
    )
    return Predictor(bundle, nothing, clock=clock, keep_memory=False, run_of=lambda model: _first_class)


def _zero(item: Any) -> float:
    return 0.0


def _first_class() -> int:
    return 0
