"""Answering items until a claim about late answers is proven or refuted."""

import gc
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from polydom_runtime.binomial import SamplingPlan, lower_bound, upper_bound
from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.device.jitter import Jitter, wake_up_jitter
from polydom_runtime.exceptions import ItemError
from polydom_runtime.histogram import Histogram
from polydom_runtime.loop.pace import Pace
from polydom_runtime.loop.wakeups import precise_timers
from polydom_runtime.pauses import collector_off
from polydom_runtime.records.metrics import OTHER, summary

from .certificate import Certificate, Claim, Evidence

if TYPE_CHECKING:
    from polydom_runtime.prediction import Answering

MAX_REPEATED = 10_000
"""The number of items of a stream that are kept, to be used again when it ends."""

WATCH_EVERY, COLLECT_EVERY = 4, 1000
"""Numbers of items: between two watches of the machine alone, each as long as the last item, and two collections."""


def certify(
    predictor: "Answering",
    items: Iterable[Any],
    claim: Claim,
    *,
    plan: SamplingPlan | None = None,
    deadline: float | None = None,
    seconds: float = math.inf,
    pace: Pace | None = None,
    seed: int = 0,
    clock: Clock = hardware_clock,
    sleep: Callable[[float], None] = time.sleep,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Certificate:
    """Answer items until the claim is proven or refuted, or time is up; Ctrl-C ends the run early.

    `predictor`: or anything with its `deadline`, `warm_up` and `predict_one`. `items`: a sequence is shuffled, and
    shuffled again each time that it is used up. Other iterables are taken in their own order; when they end, their
    first 10,000 items go on as such a sequence. `claim`: the rate of misses to prove, and the confidence. `plan`: the
    points at which the claim is decided; by default a single look that allows no miss. `deadline`: seconds that the
    claim is about; by default the predictor's own deadline. A predictor with a shorter deadline of its own has a guard
    margin. `seconds`: limit of the time of the run. `pace`: sleeps between two items, as a loop at a period does. By
    default they follow each other without a sleep. `seed`: seed of the shuffling. `clock`, `sleep`: used for the time
    limit, and to watch the machine; the clock is also that of the pace. The clock returns nanoseconds, `sleep` takes
    seconds. `progress`: called with the fraction of the items of the last look that are answered.

    Raises `CertificateError` if the claim is impossible. Raises `ItemError` if there is no item.
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
    with collector_off(), precise_timers(), suppress(KeyboardInterrupt):
        if pace is not None:
            pace.start()
        for item in chain([first], stream):
            if clock() >= end_ns:
                stopped = "time was up"
                break
            evidence.add(answer := predictor.predict_one(item, None if pace is None else pace.wait()))
            if evidence.is_enough:
                stopped = "no more items were needed"
                break
            if evidence.items % WATCH_EVERY == 0:
                pauses.add(longest_pause(min(answer.elapsed_ns, evidence.deadline_ns), clock))
            if evidence.items % COLLECT_EVERY == 0:
                gc.collect()
                progress(evidence.items / plan.last)
    certificate = found(evidence, claim, stopped, pauses, (before, wake_up_jitter(clock=clock, sleep=sleep)))
    return certificate if pace is None else replace(certificate, period=pace.period, rehearsed=pace.rehearses)


def found(
    evidence: Evidence, claim: Claim, stopped: str, pauses: Histogram, wake_ups: tuple[Jitter, Jitter]
) -> Certificate:
    """Return the certificate of a run.

    `evidence`: the counted answers. `stopped`: why the run ended. `pauses`: the longest pause of the machine each time
    that it was watched. `wake_ups`: how late a sleeping loop was woken, before the run and after it.
    """
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
        elapsed_share=_shares(evidence.elapsed, deadline),
        waited_share=_shares(evidence.waited, deadline),
        guard_margin=evidence.guard_margin(),
        most_in_a_row=evidence.most_in_a_row,
        reasons={**reasons.counts, **({OTHER: reasons.n_other} if reasons.n_other else {})},
        missed=tuple(evidence.missed),
        watched=pauses.count,
        pauses=quantiles(pauses),
        wake_ups=wake_ups,
    )


def _shares(times: Histogram, deadline: float) -> dict[str, float | None]:
    return {name: s if s is None else s / deadline for name, s in quantiles(times).items()}


def quantiles(times: Histogram) -> dict[str, float | None]:
    """Return the quantiles and the maximum in seconds; None where there are no times."""
    return {name: value for name, value in summary(times).items() if name not in ("count", "total")}


def longest_pause(duration_ns: int, clock: Clock) -> int:
    """Only read the clock for `duration_ns`, and return the longest time between two readings, in nanoseconds."""
    start = before = clock()
    longest = 0
    while before - start < duration_ns:
        now = clock()
        longest = max(longest, now - before)
        before = now
    return longest


def endless(items: Iterable[Any], seed: int) -> Iterator[Any]:
    """Yield items without end, in the order that `certify` describes; nothing if there are no items."""
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
