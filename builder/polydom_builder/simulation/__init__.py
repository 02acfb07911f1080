"""Replays of recorded times: the code of the node runs on a virtual clock that only these times move."""

from .policies import oracle, oracle_score
from .simulate import Simulated, simulate
from .trials import Trials

__all__ = ["Simulated", "Trials", "oracle", "oracle_score", "simulate"]
