"""Poly-Dom on the node: for each item, the most accurate model that fits the deadline.

What this module exports is promised; everything else may move between versions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .bundles.bundle import Bundle
from .bundles.index import Candidate, PolyDomIndex, Staircase
from .bundles.index_file import load_bundle
from .clock import Clock, hardware_clock
from .costs import CostFunction
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
    ProfileError,
    PublishingError,
    RecordingError,
    SignatureError,
    UpdateError,
    WorkerError,
)
from .features import Feature, FeatureSpace, Step
from .prediction import Prediction
from .unit_times import UnitTimes

if TYPE_CHECKING:
    from .delivery.following_predictor import FollowingPredictor
    from .device.device_profile import DeviceProfile
    from .explaining.explanation import Explanation
    from .items.packed import write_packed
    from .items.sources import Arrived, space_of
    from .loop.loop_counts import LoopCounts, LoopSummary, Miss
    from .loop.monitor import Monitor
    from .loop.wakeups import Lateness, Overrun, SlackCollector, Sleeper
    from .loop.watchdogs import HardwareWatchdog, ServiceManager, Watchdog
    from .measuring.cost_samples import CostSamples
    from .measuring.costs_file import load_costs
    from .measuring.measure import measure
    from .policy.energy import EnergyBudget
    from .predictor import Predictor
    from .publishing.discovery import discovery
    from .publishing.publisher import MqttPublisher
    from .publishing.target import MqttTarget
    from .supervision.supervisor import SupervisedPredictor
    from .testing import ManualClock
    from .trust.trust import Signed, Trust

__version__ = "0.1.0"

_LAZY = {
    "Arrived": "items.sources",
    "CostSamples": "measuring.cost_samples",
    "DeviceProfile": "device.device_profile",
    "EnergyBudget": "policy.energy",
    "Explanation": "explaining.explanation",
    "FollowingPredictor": "delivery.following_predictor",
    "HardwareWatchdog": "loop.watchdogs",
    "Lateness": "loop.wakeups",
    "LoopCounts": "loop.loop_counts",
    "LoopSummary": "loop.loop_counts",
    "ManualClock": "testing",
    "Miss": "loop.loop_counts",
    "Monitor": "loop.monitor",
    "MqttPublisher": "publishing.publisher",
    "MqttTarget": "publishing.target",
    "Overrun": "loop.wakeups",
    "Predictor": "predictor",
    "ServiceManager": "loop.watchdogs",
    "Signed": "trust.trust",
    "SlackCollector": "loop.wakeups",
    "Sleeper": "loop.wakeups",
    "SupervisedPredictor": "supervision.supervisor",
    "Trust": "trust.trust",
    "Watchdog": "loop.watchdogs",
    "discovery": "publishing.discovery",
    "load_costs": "measuring.costs_file",
    "measure": "measuring.measure",
    "space_of": "items.sources",
    "write_packed": "items.packed",
}
"""Where to import from, when it is first used: a node that only answers must start quickly, and ``polydom-node doctor``
must work where onnxruntime does not."""

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
    "ProfileError",
    "PublishingError",
    "RecordingError",
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
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
