"""Poly-Dom on the node: for each item, the most accurate model that fits the deadline."""

from .bundle import Bundle
from .clock import Clock, hardware_clock
from .costs import CostFunction
from .exceptions import PolyDomError
from .features import Feature, FeatureSpace, Step
from .index import Candidate, PolyDomIndex, Staircase
from .index_file import load_bundle
from .predictor import Prediction, Predictor

__version__ = "0.1.0"

__all__ = [
    "Bundle",
    "Candidate",
    "Clock",
    "CostFunction",
    "Feature",
    "FeatureSpace",
    "PolyDomError",
    "PolyDomIndex",
    "Prediction",
    "Predictor",
    "Staircase",
    "Step",
    "hardware_clock",
    "load_bundle",
]
