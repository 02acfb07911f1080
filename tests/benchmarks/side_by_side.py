"""Timing alternatives in turn, so that heat and load hit them alike."""

import gc
import statistics
import time
from collections.abc import Callable, Sequence


def medians(alternatives: Sequence[Callable[[], object]], *, rounds: int, calls: int = 1) -> list[float]:
    """Return the median seconds of one call of each alternative, from `rounds` rounds of `calls` calls each."""
    samples: list[list[int]] = [[] for _ in alternatives]
    gc.collect()
    gc.disable()
    for k in range(rounds + rounds // 10):
        for alternative, kept in zip(alternatives, samples, strict=True):
            start = time.perf_counter_ns()
            for _ in range(calls):
                alternative()
            if k >= rounds // 10:
                kept.append(time.perf_counter_ns() - start)
    gc.enable()
    return [statistics.median(kept) / calls * 1e-9 for kept in samples]


def report(what: str, ours: float, other: float, target: str) -> None:
    """Print one ratio beside its target."""
    print(f"{what:<66} {ours * 1e6:10.2f} µs / {other * 1e6:10.2f} µs = {ours / other:6.2f}   (target {target})")
