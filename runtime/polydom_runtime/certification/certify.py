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
from polydom_runtime.clock import Clock, collector_off, hardware_clock
from polydom_runtime.device.jitter import Jitter, wake_up_jitter
from polydom_runtime.exceptions import ItemError
from polydom_runtime.histogram import Histogram
from polydom_runtime.learning.margin import Margin
from polydom_runtime.learning.runs import Runs
from polydom_runtime.loop.metronome import Metronome
from polydom_runtime.loop.wakeups import precise_timers
from polydom_runtime.records.metrics import OTHER, time_summary

from .certificate import Certificate, Claim, Evidence

if TYPE_CHECKING:
    from polydom_runtime.prediction import Answering

MAX_REPEATED = 10_000
"""Items of a stream that are kept, to be used again when it ends."""

WATCH_EVERY, COLLECT_EVERY_ITEMS = 4, 1000
"""Items between two watches of the machine alone, each as long as the last item, and between two collections."""


def certify(
    predictor: "Answering",
    items: Iterable[Any],
    claim: Claim,
    *,
    plan: SamplingPlan | None = None,
    deadline: float | None = None,
    runs: Runs | None = None,
    seconds: float = math.inf,
    metronome: Metronome | None = None,
    seed: int = 0,
    clock: Clock = hardware_clock,
    sleep: Callable[[float], None] = time.sleep,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Certificate:
    """Answer items until the claim is proven or refuted, or time is up; Ctrl-C ends the run early.

    A sequence of items is shuffled with `seed`, and again each time that it is used up; other iterables keep their
    order, and when they end, their first 10,000 items go on as such a sequence. By default the plan is a single look
    that allows no miss, and the claim is about the predictor's own deadline; a predictor with a shorter one has a guard
    margin. `runs` counts a promise about late answers in a row. The metronome sleeps between two items, by the
    same clock; without it they follow each other.
    """
    plan = plan or SamplingPlan.single_look(claim.miss_rate, claim.confidence)
    deadline = deadline or predictor.deadline
    evidence, pauses = Evidence(plan, round(deadline * 1e9), runs), Histogram()
    margin: Margin | None = getattr(predictor, "margin", None)
    stream = endless(items, seed)
    if (first := next(stream, None)) is None:
        raise ItemError("There must be items to certify with. Got none. Give a file or a function that has some.")
    end_ns, stopped = clock() + seconds * 1e9, "interrupted"
    predictor.warm_up(first)
    before = wake_up_jitter(clock=clock, sleep=sleep)
    with collector_off(), precise_timers(), suppress(KeyboardInterrupt):
        if metronome is not None:
            metronome.start()
        for item in chain([first], stream):
            if clock() >= end_ns:
                stopped = "time was up"
                break
            due_ns = None if metronome is None else metronome.wait()
            if margin is not None:
                evidence.add_margin(margin.value)
            evidence.add(answer := predictor.predict_one(item, arrived_ns=due_ns))
            if evidence.is_enough:
                stopped = "no more items were needed"
                break
            if evidence.items % WATCH_EVERY == 0:
                pauses.add(longest_pause(min(answer.elapsed_ns, evidence.deadline_ns), clock))
            if evidence.items % COLLECT_EVERY_ITEMS == 0:
                gc.collect()
                progress(evidence.items / plan.last)
    certificate = found(evidence, claim, stopped, pauses, (before, wake_up_jitter(clock=clock, sleep=sleep)))
    if metronome is not None:
        certificate = replace(certificate, period=metronome.period, rehearsed=metronome.rehearses)
    return certificate


def found(
    evidence: Evidence, claim: Claim, stopped: str, pauses: Histogram, wake_ups: tuple[Jitter, Jitter]
) -> Certificate:
    """Return the certificate of a run; `stopped` says why it ended, `wake_ups` are from before and after it."""
    deadline, reasons = evidence.deadline_ns / 1e9, evidence.reasons
    return Certificate(
        *(evidence.verdict, claim, evidence.plan.looks, evidence.items, evidence.misses),
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
        margin=evidence.margin,
        late_at_most=None if evidence.runs is None else evidence.runs.outcome,
    )


def _shares(times: Histogram, deadline: float) -> dict[str, float | None]:
    return {name: s if s is None else s / deadline for name, s in quantiles(times).items()}


def quantiles(times: Histogram) -> dict[str, float | None]:
    """Return the quantiles and the maximum in seconds; None where there are no times."""
    return {name: value for name, value in time_summary(times).items() if name not in ("count", "total")}


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
