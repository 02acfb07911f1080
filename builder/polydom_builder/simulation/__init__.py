"""Replays of recorded times: the code of the node runs on a virtual clock that only these times move."""

from .oracle import oracle, oracle_score
from .simulate import Outcome, simulate
from .trials import Trials

__all__ = ["Outcome", "Trials", "oracle", "oracle_score", "simulate"]
