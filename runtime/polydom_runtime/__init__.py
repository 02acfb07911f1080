"""Poly-Dom on the node: for each item, the most accurate model that fits the deadline.

What this module exports is promised; everything else may move between versions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .exceptions import (
    BundleFormatError,
    BundleMismatchError,
    CertificateError,
    ConfidenceError,
    CostFunctionError,
    DeadlineError,
    EnergyError,
    FeatureError,
    ItemError,
    LoopError,
    MeasurementError,
    PolyDomError,
    PredictorInUseError,
    ProfileError,
    PublishingError,
    RecordingError,
    SignatureError,
    UpdateError,
    WorkerError,
)

if TYPE_CHECKING:
    from .bundles.bundle import Bundle
    from .bundles.index import Candidate, PolyDomIndex, Staircase
    from .bundles.index_file import load_bundle
    from .bundles.unit_times import UnitTimes
    from .clock import Clock, hardware_clock
    from .costs import CostFunction
    from .delivery.following_predictor import FollowingPredictor
    from .device.device_profile import DeviceProfile
    from .explaining.explanation import Explanation
    from .features import Feature, FeatureSpace, Step
    from .items.packing import write_packed
    from .items.sources import Arrived, space_of
    from .loop.loop_counts import LoopCounts, LoopSummary, Miss
    from .loop.monitor import Monitor
    from .loop.wakeups import Lateness, Overrun, SlackCollector, Sleeper
    from .loop.watchdogs import HardwareWatchdog, ServiceManager, Watchdog
    from .measuring.cost_samples import CostSamples
    from .measuring.costs_file import load_costs
    from .measuring.measure import measure
    from .policy.energy import EnergyBudget
    from .prediction import Prediction
    from .predictor import Predictor, Seams
    from .publishing.discovery import discovery
    from .publishing.publisher import MqttPublisher
    from .publishing.target import MqttTarget
    from .supervision.supervisor import SupervisedPredictor
    from .testing import ManualClock
    from .trust.trust import Signed, Trust

__version__ = "0.1.0"

_HOMES = {
    "bundles.bundle": ("Bundle",),
    "bundles.index": ("Candidate", "PolyDomIndex", "Staircase"),
    "bundles.index_file": ("load_bundle",),
    "bundles.unit_times": ("UnitTimes",),
    "clock": ("Clock", "hardware_clock"),
    "costs": ("CostFunction",),
    "delivery.following_predictor": ("FollowingPredictor",),
    "device.device_profile": ("DeviceProfile",),
    "explaining.explanation": ("Explanation",),
    "features": ("Feature", "FeatureSpace", "Step"),
    "items.packing": ("write_packed",),
    "items.sources": ("Arrived", "space_of"),
    "loop.loop_counts": ("LoopCounts", "LoopSummary", "Miss"),
    "loop.monitor": ("Monitor",),
    "loop.wakeups": ("Lateness", "Overrun", "SlackCollector", "Sleeper"),
    "loop.watchdogs": ("HardwareWatchdog", "ServiceManager", "Watchdog"),
    "measuring.cost_samples": ("CostSamples",),
    "measuring.costs_file": ("load_costs",),
    "measuring.measure": ("measure",),
    "policy.energy": ("EnergyBudget",),
    "prediction": ("Prediction",),
    "predictor": ("Predictor", "Seams"),
    "publishing.discovery": ("discovery",),
    "publishing.publisher": ("MqttPublisher",),
    "publishing.target": ("MqttTarget",),
    "supervision.supervisor": ("SupervisedPredictor",),
    "testing": ("ManualClock",),
    "trust.trust": ("Signed", "Trust"),
}
"""The names of each module, which is imported when one of them is first used: a node that only answers must start
quickly, and ``polydom-node doctor`` must work where onnxruntime does not."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Arrived",
    "Bundle",
    "BundleFormatError",
    "BundleMismatchError",
    "Candidate",
    "CertificateError",
    "Clock",
    "ConfidenceError",
    "CostFunction",
    "CostFunctionError",
    "CostSamples",
    "DeadlineError",
    "DeviceProfile",
    "EnergyBudget",
    "EnergyError",
    "Explanation",
    "Feature",
    "FeatureError",
    "FeatureSpace",
    "FollowingPredictor",
    "HardwareWatchdog",
    "ItemError",
    "Lateness",
    "LoopCounts",
    "LoopError",
    "LoopSummary",
    "ManualClock",
    "MeasurementError",
    "Miss",
    "Monitor",
    "MqttPublisher",
    "MqttTarget",
    "Overrun",
    "PolyDomError",
    "PolyDomIndex",
    "Prediction",
    "Predictor",
    "PredictorInUseError",
    "ProfileError",
    "PublishingError",
    "RecordingError",
    "Seams",
    "ServiceManager",
    "SignatureError",
    "Signed",
    "SlackCollector",
    "Sleeper",
    "Staircase",
    "Step",
    "SupervisedPredictor",
    "Trust",
    "UnitTimes",
    "UpdateError",
    "Watchdog",
    "WorkerError",
    "discovery",
    "hardware_clock",
    "load_bundle",
    "load_costs",
    "measure",
    "space_of",
    "write_packed",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name in _HOME_OF:
        return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
