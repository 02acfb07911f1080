"""Answering items until a claim about late answers is proven or refuted."""

import gc
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.device.jitter import Jitter, wake_up_jitter
from polydom_runtime.exceptions import ItemError
from polydom_runtime.pauses import collector_off
from polydom_runtime.records.histogram import Histogram
from polydom_runtime.records.metrics import OTHER, summary

from .binomial import SamplingPlan, lower_bound, upper_bound
from .certificate import Certificate, Claim, Evidence

if TYPE_CHECKING:
    from polydom_runtime.predictor import Predictor

MAX_REPEATED = 10_000
"""So many items of a stream are kept, to go round."""

WATCH_EVERY, COLLECT_EVERY = 4, 1000
"""After so many items the machine alone is watched for as long as the last one took; garbage is collected."""


def certify(
    predictor: "Predictor",
    items: Iterable[Any],
    claim: Claim,
    *,
    plan: SamplingPlan | None = None,
    deadline: float | None = None,
    seconds: float = math.inf,
    seed: int = 0,
    clock: Clock = hardware_clock,
    sleep: Callable[[float], None] = time.sleep,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Certificate:
    """Answer items until the claim is proven, refuted, or time is up; Ctrl-C ends it early.

    Parameters
    ----------
    predictor : Predictor
        Or anything with its `deadline`, `warm_up` and `predict_one`.
    items : iterable
        A sequence is shuffled, and again each time that it is used up. Other iterables are taken as they come; when
        they end, their first 10,000 items are shuffled.
    claim : Claim
    plan : SamplingPlan, optional
        A single look that forgives no miss if not given.
    deadline : float, optional
        Seconds that the claim is about; the predictor's own if not given. A predictor with a shorter one is guarded.
    seconds : float
        At most so long.
    seed : int
    clock, sleep : callables
        For the time limit, and to watch the machine.
    progress : callable
        Called with the fraction of the items of the last look.

    Raises
    ------
    CertificateError
        If the claim is impossible.
    ItemError
        If there is no item.
    """
    plan = plan or SamplingPlan.single_look(claim.miss_rate, claim.confidence)
    deadline = deadline or predictor.deadline
    evidence, pauses = Evidence(plan, round(deadline * 1e9)), Histogram()
    stream = endless(items, seed)
    if (first := next(stream, None)) is None:
        raise ItemError("There must be items to certify with. Got none. Give a file or a function that has some.")
    end_ns, stopped = clock() + seconds * 1e9, "interrupted"
    predictor.warm_up(first)
    before = wake_up_jitter(clock=clock, sleep=sleep)
    with collector_off(), suppress(KeyboardInterrupt):
        for item in chain([first], stream):
            if clock() >= end_ns:
                stopped = "time was up"
                break
            evidence.add(answer := predictor.predict_one(item))
            if evidence.is_enough:
                stopped = "no more items were needed"
                break
            if evidence.items % WATCH_EVERY == 0:
                pauses.add(longest_pause(min(answer.elapsed_ns, evidence.deadline_ns), clock))
            if evidence.items % COLLECT_EVERY == 0:
                gc.collect()
                progress(evidence.items / plan.last)
    return found(evidence, claim, stopped, pauses, (before, wake_up_jitter(clock=clock, sleep=sleep)))


def found(
    evidence: Evidence, claim: Claim, stopped: str, pauses: Histogram, wake_ups: tuple[Jitter, Jitter]
) -> Certificate:
    """Return what the evidence says, with what was known beside it."""
    deadline, reasons = evidence.deadline_ns / 1e9, evidence.reasons
    return Certificate(
        evidence.verdict,
        claim,
        evidence.plan.looks,
        evidence.items,
        evidence.misses,
        rate_at_least=lower_bound(evidence.misses, evidence.items, claim.confidence),
        rate_at_most=upper_bound(evidence.misses, evidence.items, claim.confidence),
        stopped=stopped,
        deadline=deadline,
        elapsed_share={k: s if s is None else s / deadline for k, s in quantiles(evidence.elapsed).items()},
        guard_margin=evidence.guard_margin(),
        most_in_a_row=evidence.most_in_a_row,
        reasons={**reasons.counts, **({OTHER: reasons.n_other} if reasons.n_other else {})},
        missed=tuple(evidence.missed),
        watched=pauses.count,
        pauses=quantiles(pauses),
        wake_ups=wake_ups,
    )


def quantiles(times: Histogram) -> dict[str, float | None]:
    """Return the quantiles and the maximum in seconds."""
    return {name: value for name, value in summary(times).items() if name not in ("count", "total")}


def longest_pause(duration_ns: int, clock: Clock) -> int:
    """Do nothing but read the clock for so long, and return the longest time between two readings."""
    start = before = clock()
    longest = 0
    while before - start < duration_ns:
        now = clock()
        longest = max(longest, now - before)
        before = now
    return longest


def endless(items: Iterable[Any], seed: int) -> Iterator[Any]:
    """Yield items for ever, as `certify` says; nothing if there are none."""
    kept = list(items) if isinstance(items, Sequence) else []
    if not kept:
        for item in items:
            if len(kept) < MAX_REPEATED:
                kept.append(item)
            yield item
    shuffle = random.Random(seed).shuffle
    while kept:
        shuffle(kept)
        yield from kept
