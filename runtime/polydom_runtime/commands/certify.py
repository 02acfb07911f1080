"""``polydom-node certify``: answer items until a claim about missed deadlines is proven or refuted."""

import hashlib
import math
import os
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from polydom_runtime import __version__
from polydom_runtime.binomial import MAX_MISSES, SamplingPlan
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.certification.certificate import Claim
from polydom_runtime.certification.certify import certify
from polydom_runtime.certification.load import UnderLoad, loads
from polydom_runtime.costs import format_seconds
from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import CertificateError, DeadlineError
from polydom_runtime.files import check_folder_of
from polydom_runtime.items.sources import bare_items, iterate, space_of
from polydom_runtime.learning.experience import runs_of
from polydom_runtime.loop.metronome import Metronome
from polydom_runtime.measuring.conditions import Conditions, machine_facts
from polydom_runtime.predictor import Predictor

from .arguments import duration, period, positive, share
from .bundle_options import ANSWERS, RUNS, bundle_of, learned_of
from .options import Option, values_of
from .outcome import Outcome
from .terminal import ProgressBar, show

OPTIONS = (
    *ANSWERS,
    Option("--miss-rate", "the largest share of late answers, as claimed (default 0.001)", share, 0.001),
    RUNS,
    Option("--confidence", "the confidence of the verdict (default 0.99)", share, 0.99),
    Option(
        "--guard",
        "the margin, such as 50us: answers are planned for a deadline that is earlier by it (default none)",
        *(duration, 0.0),
    ),
    Option(
        "--period",
        "the time from one item to the next, such as 20ms: sleep between them as run --period does (default: no sleep)",
        period,
    ),
    Option("--no-rehearse", "with --period: do not answer kept items before each item"),
    Option("--load", "the other work of the machine meanwhile, such as cpu:2,memory:1,disk:1", loads, ()),
    Option(
        "--forgive MISSES",
        "the number of late answers that still allow a proof; the larger it is, the more items are needed "
        f"(default 0; {MAX_MISSES} with --many-looks)",
        int,
    ),
    Option("--many-looks", "continue with more items after a late answer, and decide again"),
    Option("--seconds", "the time limit in seconds (default none)", positive, math.inf),
    Option("--seed", "the random seed of the order of the items (default 0)", int, 0),
    Option("--out CERTIFICATE.json", "the certificate file to write"),
)


def run(arguments: Namespace) -> Outcome:
    """Certify, print the certificate, and return it with the exit code of the verdict."""
    if arguments.out:
        check_folder_of(arguments.out, CertificateError)
    claim, plan = Claim(arguments.miss_rate, arguments.confidence), plan_of(arguments)
    space, bundle = space_of(arguments.space), bundle_of(arguments)
    deadline = bundle.promise.budgets[1] if arguments.deadline is None else arguments.deadline
    if arguments.guard >= deadline:
        raise DeadlineError(
            f"The margin --guard must be shorter than the deadline of {format_seconds(deadline)}. "
            f"Got {format_seconds(arguments.guard)}. Give a smaller one."
        )
    guarded = None if deadline == math.inf else deadline - arguments.guard
    promise = arguments.late_at_most
    options = {"policy": arguments.policy, "runs": promise, "learned": learned_of(arguments, bundle)}
    predictor = Predictor(bundle, space, deadline=guarded, **options)
    bundle.check_features(space)
    context = context_of(arguments, predictor)
    conditions = Conditions(board := Board(), machine := machine_facts(board))
    paced = arguments.period is not None
    with UnderLoad(arguments.load), ProgressBar("certified") as bar:
        certificate = certify(
            *(predictor, items_of(arguments.items), claim),
            plan=plan,
            deadline=deadline,
            runs=runs_of(promise),
            **values_of(arguments, "seconds", "seed"),
            metronome=Metronome(predictor, arguments.period, rehearse=arguments.rehearse) if paced else None,
            progress=bar.update,
        )
    conditions.have_moved()
    conditions.seen = conditions.with_losses(conditions.seen)
    certificate = replace(certificate, context={**context, "machine": {**machine, **conditions.summary()}})
    show(certificate)
    if arguments.out:
        certificate.write(arguments.out)
    return Outcome(certificate, certificate.exit_code)


def plan_of(arguments: Namespace) -> SamplingPlan:
    """Return the numbers of items after which the late answers are counted."""
    rate, confidence, misses = arguments.miss_rate, arguments.confidence, arguments.forgive
    if arguments.many_looks:
        return SamplingPlan.many_looks(rate, confidence, MAX_MISSES if misses is None else misses)
    return SamplingPlan.single_look(rate, confidence, misses or 0)


def context_of(arguments: Namespace, predictor: Predictor) -> dict[str, Any]:
    """Return the circumstances that a certificate states, except the machine."""
    file = Path(arguments.items)
    bundle, identity = predictor.bundle, predictor.bundle.identity
    named = {"name": identity.name, "version": identity.version, "index_sha256": index_sha256(bundle)}
    return {
        "polydom": __version__,
        "bundle": {"path": arguments.bundle, **named},
        "costs": str(bundle.times.origin),
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
    """Return the items of a file as a sequence, and those of another source as they come."""
    items = bare_items(iterate(source))
    return list(items) if os.path.exists(source) else items
