"""Timing alternatives in turn, so that heat and load hit them alike."""

import gc
import statistics
import time
from collections.abc import Callable, Sequence

from .ratios import note


def samples(alternatives: Sequence[Callable[[], object]], *, rounds: int, calls: int = 1) -> list[list[float]]:
    """Return the seconds of one call of each alternative, from `rounds` rounds of `calls` calls each."""
    kept: list[list[float]] = [[] for _ in alternatives]
    gc.collect()
    gc.disable()
    for k in range(rounds + rounds // 10):
        for alternative, mine in zip(alternatives, kept, strict=True):
            start = time.perf_counter_ns()
            for _ in range(calls):
                alternative()
            if k >= rounds // 10:
                mine.append((time.perf_counter_ns() - start) / calls * 1e-9)
    gc.enable()
    return kept


def medians(alternatives: Sequence[Callable[[], object]], *, rounds: int, calls: int = 1) -> list[float]:
    """Return the median seconds of one call of each alternative."""
    return [statistics.median(kept) for kept in samples(alternatives, rounds=rounds, calls=calls)]


def report(what: str, ours: float, other: float, target: str) -> None:
    """Print one ratio beside its target, and note it."""
    note(what, ours / other, target)
    print(f"{what:<66} {ours * 1e6:10.2f} µs / {other * 1e6:10.2f} µs = {ours / other:6.2f}   (target {target})")
