"""Replays of recorded times: the node's own code on a clock that only those times move."""

from .oracle import oracle, oracle_score
from .simulate import Outcome, simulate
from .trials import Trials

__all__ = ["Outcome", "Trials", "oracle", "oracle_score", "simulate"]
