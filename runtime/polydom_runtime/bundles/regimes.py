"""Regimes: how warm the code of an answer is when the item comes.

A loop sleeps between two items, and meanwhile other work takes the caches of the processor. Each feature and each model
then takes longer by nearly a constant, so times and plans are made for each regime separately.
"""

from typing import Literal, NamedTuple, get_args

from .bundle_times import BundleTimes

Regime = Literal["hot", "rehearsed", "cold"]
"""``hot``: answers follow each other without a sleep. ``cold``: the process slept before the item came. ``rehearsed``:
it slept, and answered kept items right before the item came."""

REGIMES: tuple[Regime, ...] = get_args(Regime)


class RegimeTimes(NamedTuple):
    """The times of a bundle in one regime."""

    times: BundleTimes
    models: tuple[float, ...]
    """The worst case of a run of each model of the bundle, in seconds."""
    asleep: float
    """The seconds of sleep before each answer when they were measured."""
