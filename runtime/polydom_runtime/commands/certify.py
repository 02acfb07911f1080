"""``polydom-node certify``: answer items until a claim about missed deadlines is proven or refuted."""

import argparse
import hashlib
import math
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polydom_runtime import __version__
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.certification.binomial import MAX_MISSES, SamplingPlan
from polydom_runtime.certification.certificate import Claim
from polydom_runtime.certification.certify import certify
from polydom_runtime.certification.load import UnderLoad, loads
from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import CertificateError
from polydom_runtime.items import iterate, space_of
from polydom_runtime.records.recorder import index_digest

from .arguments import duration, positive, share
from .progress import ProgressBar

if TYPE_CHECKING:
    from polydom_runtime.predictor import Predictor


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
    from polydom_runtime.measuring.conditions import Conditions, describe
    from polydom_runtime.predictor import Predictor

    if arguments.out and not os.access(Path(arguments.out).absolute().parent, os.W_OK):
        raise CertificateError(f"The folder of {arguments.out} must exist and be writable. It is not.")
    claim, plan = Claim(arguments.miss_rate, arguments.confidence), plan_of(arguments)
    space, bundle = space_of(arguments.space), load_bundle(arguments.bundle)
    deadline = bundle.promise.budgets[1] if arguments.deadline is None else arguments.deadline
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
        return SamplingPlan.many_looks(rate, confidence, MAX_MISSES if misses is None else misses)
    return SamplingPlan.single_look(rate, confidence, misses or 0)


def context_of(arguments: argparse.Namespace, predictor: "Predictor") -> dict[str, Any]:
    """Return what to stamp, beside the machine."""
    file = Path(arguments.items)
    return {
        "polydom": __version__,
        "bundle": {"path": arguments.bundle, "index_sha256": index_digest(predictor.bundle)},
        "costs": str(predictor.bundle.times.origin),
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
