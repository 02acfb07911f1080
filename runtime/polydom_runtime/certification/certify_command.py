"""``polydom-node certify``: answer items until a claim about missed deadlines is proven or refuted."""

import argparse
import gc
import hashlib
import math
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polydom_runtime import __version__
from polydom_runtime.arguments import duration, positive, share, space_of
from polydom_runtime.board import Board
from polydom_runtime.clock import Clock, hardware_clock
from polydom_runtime.exceptions import CertificateError, ItemError
from polydom_runtime.index_file import load_bundle
from polydom_runtime.items import iterate
from polydom_runtime.jitter import Jitter, wake_up_jitter
from polydom_runtime.pauses import collector_off
from polydom_runtime.progress import ProgressBar
from polydom_runtime.records.histogram import Histogram
from polydom_runtime.records.metrics import OTHER, summary
from polydom_runtime.records.recorder import index_digest

from .binomial import MOST_MISSES, SamplingPlan, lower_bound, upper_bound
from .certificate import Certificate, Claim, Evidence
from .load import UnderLoad, loads

if TYPE_CHECKING:
    from polydom_runtime.predictor import Predictor

MOST_REPEATED = 10_000
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
            if len(kept) < MOST_REPEATED:
                kept.append(item)
            yield item
    shuffle = random.Random(seed).shuffle
    while kept:
        shuffle(kept)
        yield from kept


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add what ``polydom-node certify`` is told."""
    command.add_argument("bundle", metavar="BUNDLE")
    command.add_argument("space", metavar="MODULE:SPACE")
    command.add_argument("--items", required=True, help="a packed .npz file, - for JSON lines, or MODULE:FUNCTION")
    command.add_argument("--miss-rate", type=share, default=0.001, help="the claim: at most this share is late (0.001)")
    command.add_argument("--confidence", type=share, default=0.99, help="of the claim (0.99)")
    command.add_argument("--deadline", type=duration, help="such as 2ms; the bundle's own if not given")
    command.add_argument("--guard", type=duration, default=0.0, help="plan for a deadline that is so much earlier")
    command.add_argument("--policy", choices=("anytime", "strict"), default="anytime")
    command.add_argument("--load", type=loads, default=(), help="keep the machine busy, such as cpu:2,memory:1,disk:1")
    command.add_argument("--forgive", type=int, metavar="MISSES", help="so many at most; takes more items (0)")
    command.add_argument("--many-looks", action="store_true", help="after a miss go on with more items")
    command.add_argument("--seconds", type=positive, default=math.inf, help="at most so long")
    command.add_argument("--seed", type=int, default=0, help="of the order of the items")
    command.add_argument("--out", metavar="CERTIFICATE.json")


def run(arguments: argparse.Namespace) -> int:
    """Certify, print what was found, and return the exit code of the verdict."""
    from polydom_runtime.machine import Conditions, describe
    from polydom_runtime.predictor import Predictor

    if arguments.out and not os.access(Path(arguments.out).absolute().parent, os.W_OK):
        raise CertificateError(f"The folder of {arguments.out} must exist and be writable. It is not.")
    claim, plan = Claim(arguments.miss_rate, arguments.confidence), plan_of(arguments)
    space, bundle = space_of(arguments.space), load_bundle(arguments.bundle)
    deadline = bundle.budgets[1] if arguments.deadline is None else arguments.deadline
    guarded = None if deadline == math.inf else deadline - arguments.guard
    predictor = Predictor(bundle, space, deadline=guarded, policy=arguments.policy)
    context = context_of(arguments, predictor)
    conditions = Conditions(board := Board(), machine := describe(board))
    options = {"deadline": deadline, "seconds": arguments.seconds, "seed": arguments.seed}
    with UnderLoad(arguments.load), ProgressBar("certified") as bar:
        certificate = certify(predictor, items_of(arguments.items), claim, plan=plan, progress=bar.update, **options)
    conditions.have_moved()
    context["machine"] = {**machine, **conditions.summary()}
    certificate = replace(certificate, context=context)
    print(certificate)
    if arguments.out:
        certificate.write(arguments.out)
    return certificate.exit_code


def plan_of(arguments: argparse.Namespace) -> SamplingPlan:
    """Return when to compare misses."""
    rate, confidence, misses = arguments.miss_rate, arguments.confidence, arguments.forgive
    if arguments.many_looks:
        return SamplingPlan.many_looks(rate, confidence, MOST_MISSES if misses is None else misses)
    return SamplingPlan.single_look(rate, confidence, misses or 0)


def context_of(arguments: argparse.Namespace, predictor: "Predictor") -> dict[str, Any]:
    """Return what to stamp, beside the machine."""
    file = Path(arguments.items)
    return {
        "polydom": __version__,
        "bundle": {"path": arguments.bundle, "index_sha256": index_digest(predictor.bundle)},
        "costs": str(predictor.bundle.origin),
        "space": arguments.space,
        "policy": predictor.policy,
        "guard": arguments.guard,
        "load": ",".join(map(str, arguments.load)) or "none",
        "items": {
            "source": arguments.items,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None,
            "seed": arguments.seed,
        },
    }


def items_of(source: str) -> Iterable[Any]:
    """Return the items of a file as a sequence, those of another source as they come; bad ones are left out."""
    items = (item for item, _ in iterate(source) if item is not None)
    return list(items) if os.path.exists(source) else items
