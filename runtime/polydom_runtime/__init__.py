"""Poly-Dom on the node: for each item, the most accurate model that fits the deadline."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .bundles.bundle import Bundle
from .bundles.index import Candidate, PolyDomIndex, Staircase
from .bundles.index_file import load_bundle
from .clock import Clock, hardware_clock
from .costs import CostFunction
from .exceptions import PolyDomError
from .features import Feature, FeatureSpace, Step
from .policy.energy import EnergyBudget
from .prediction import Prediction

if TYPE_CHECKING:
    from .loop.monitor import Monitor
    from .predictor import Predictor
    from .supervision.supervisor import SupervisedPredictor

__version__ = "0.1.0"

LATE = {
    "Monitor": "loop.monitor",
    "Predictor": "predictor",
    "SupervisedPredictor": "supervision.supervisor",
}

__all__ = [
    "Bundle",
    "Candidate",
    "Clock",
    "CostFunction",
    "EnergyBudget",
    "Feature",
    "FeatureSpace",
    "Monitor",
    "PolyDomError",
    "PolyDomIndex",
    "Prediction",
    "Predictor",
    "Staircase",
    "Step",
    "SupervisedPredictor",
    "hardware_clock",
    "load_bundle",
]


def __getattr__(name: str) -> Any:
    """Import what needs onnxruntime when it is used: `polydom-node doctor` must work where onnxruntime does not."""
    if name in LATE:
        return getattr(import_module(f".{LATE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
