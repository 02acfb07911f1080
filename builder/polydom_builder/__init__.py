"""Poly-Dom on the host: from items and labels to a bundle that the node decides with.

What this module exports is promised; everything else may move between versions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .exceptions import ComparisonError, ExportError, FitError, LatticeError, RegionError, TrainingError

if TYPE_CHECKING:
    from .greedy_search import GreedySearch
    from .preparation.settings import AnswerRules, NodeConditions, Noise, ProvenPromise, SearchLimits
    from .preselection import BlockSelector
    from .search import PolyDomSearch
    from .sets.region import QueryRegion
    from .sets.set_costs import SetCosts
    from .signing.signing_key import SigningKey
    from .verification import verify_bundle

__version__ = "0.1.0"

_LAZY = {
    "AnswerRules": "preparation.settings",
    "BlockSelector": "preselection",
    "GreedySearch": "greedy_search",
    "NodeConditions": "preparation.settings",
    "Noise": "preparation.settings",
    "PolyDomSearch": "search",
    "ProvenPromise": "preparation.settings",
    "QueryRegion": "sets.region",
    "SearchLimits": "preparation.settings",
    "SetCosts": "sets.set_costs",
    "SigningKey": "signing.signing_key",
    "verify_bundle": "verification",
}
"""The module of each name, which is imported when the name is first used: to import scikit-learn takes a second."""

__all__ = [
    "AnswerRules",
    "BlockSelector",
    "ComparisonError",
    "ExportError",
    "FitError",
    "GreedySearch",
    "LatticeError",
    "NodeConditions",
    "Noise",
    "PolyDomSearch",
    "ProvenPromise",
    "QueryRegion",
    "RegionError",
    "SearchLimits",
    "SetCosts",
    "SigningKey",
    "TrainingError",
    "verify_bundle",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
