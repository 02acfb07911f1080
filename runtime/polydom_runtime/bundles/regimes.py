"""Regimes: how warm the code of an answer is when the item comes.

A loop sleeps between two items, and meanwhile other work takes the caches of the processor. Each feature and each model
then takes longer by nearly a constant, so times and plans are made for each regime separately.
"""

from typing import Annotated, Literal, NamedTuple, get_args

from polydom_runtime.codec.marks import In

from .bundle_times import MAX_SECONDS, BundleTimes

Regime = Literal["hot", "rehearsed", "cold"]
"""``hot``: answers follow each other without a sleep. ``cold``: the process slept before the item came. ``rehearsed``:
it slept, and answered kept items right before the item came."""

REGIMES: tuple[Regime, ...] = get_args(Regime)


class RegimeTimes(NamedTuple):
    """The times of a bundle in one regime."""

    times: BundleTimes
    models: Annotated[tuple[float, ...], In(0.0, MAX_SECONDS)]
    """The worst case of a run of each model of the bundle, in seconds."""
    asleep: Annotated[float, In(0.0, MAX_SECONDS)]
    """The seconds of sleep before each answer when they were measured."""
