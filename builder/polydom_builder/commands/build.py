"""``polydom build``: measure, train, index and export a bundle."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from polydom_builder.bundling.bundle_folder import checked_target
from polydom_builder.bundling.corrected_scores import CORRECTIONS
from polydom_builder.bundling.identity import given_identity
from polydom_builder.exceptions import FitError
from polydom_builder.exploration import SEARCHES
from polydom_builder.greedy_search import GreedySearch
from polydom_builder.lattice.greedy import PAPER_LAMBDAS
from polydom_builder.search import PolyDomSearch
from polydom_builder.signing.signing_key import SigningKey
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.commands.arguments import positive, share
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import say, show
from polydom_runtime.describing.promise_text import promise_text
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.exceptions import ItemError, ProfileError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.items.sources import UNLABELLED, Sample, samples, space_of
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.costs_file import load_costs

from .arguments import count, deadlines, size_range, slack
from .error_costs_file import read_error_costs
from .estimator import given_estimator

GREEDY = {"greedy": PAPER_LAMBDAS, "greedy-acc": (0.0,), "greedy-cost": (math.inf,)}
"""The λs of each greedy search. These searches make no promise about the score."""

PROMISED = {
    **{"slowdown": 2.0, "correction": "resampling"},
    **dict.fromkeys(("alpha", "tolerance", "early_stop", "max_models", "max_memory")),
}
"""The options of the promise, and what they are if they are not given."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom build``."""
    _add_task(command)
    _add_search(command)
    _add_device(command)
    _add_identity(command)
    command.add_argument("--jobs", type=int, help="the number of worker processes; -1 for all processors (default 1)")
    command.add_argument("--cache", help="the folder that keeps all work, so that a build that was killed continues")


def _add_task(command: argparse.ArgumentParser) -> None:
    command.add_argument("space", metavar="MODULE:SPACE", help="the feature space")
    command.add_argument(
        "--items", required=True, help="the items and labels for training: a packed .npz file or MODULE:FUNCTION"
    )
    command.add_argument(
        "--deadline", required=True, type=deadlines, help="the deadline of an item, such as 2ms, or a range 1ms:10ms"
    )
    command.add_argument("--out", required=True, help="the bundle folder to write; an old bundle there is replaced")
    command.add_argument("--sign", metavar="NAME.key", help="the private key to sign the bundle with (default: none)")
    command.add_argument(
        "--estimator",
        action="append",
        default=[],
        metavar="[NAME=]MODULE:OBJECT",
        help="the scikit-learn estimator (default: logistic regression on standardised features); may be given several "
        "times: the bundle has the models of each where they are the best",
    )
    command.add_argument(
        "--scoring", help="the score, by its name in scikit-learn (default: accuracy, or r2 of a regressor)"
    )
    command.add_argument(
        "--costs-of-errors",
        metavar="FILE.csv",
        help="what errors cost: a file with the columns true, said and cost (default: the most probable label is said)",
    )
    command.add_argument("--cv", type=int, default=5, help="the number of cross-validation folds (default 5)")
    command.add_argument(
        "--sizes",
        type=size_range,
        metavar="LOW:HIGH",
        help="the range of item sizes on the node, or one size (default: the range of the items)",
    )


def _add_search(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--alpha",
        type=float,
        help="for a search that proves it: the factor by which a score may be worse than the best one, at least 1",
    )
    command.add_argument(
        "--tolerance",
        type=slack,
        help="for the same search: the amount by which a set may score less than one in it, at least 0, or auto",
    )
    command.add_argument(
        "--max-features",
        type=int,
        help="the number of features that a pre-selection leaves to the search (default all)",
    )
    command.add_argument(
        "--max-trainings",
        type=int,
        help="the largest number of trainings; the search ends with the best sets so far, a greedy one with its "
        "sequences so far",
    )
    command.add_argument(
        "--max-seconds",
        type=positive,
        help="the longest time for trainings, in seconds, with the same effect",
    )
    command.add_argument(
        "--max-models",
        type=count,
        help="the largest number of models; those that lose least of the mean score are left out (default: as many as "
        "fit the memory of the device)",
    )
    command.add_argument(
        "--max-memory",
        metavar="SIZE",
        help="the most that all model files may take together, such as 20MB, with the same effect",
    )
    command.add_argument(
        "--lattice",
        choices=[*SEARCHES, *GREEDY],
        help="the search for feature sets (default by-gain; with --alpha or --tolerance best-first, which proves "
        "them); a greedy one makes no promise about the score",
    )


def _add_device(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="NAME.costs|NAME",
        help="the device: a costs file that was measured there, or a profile (a name or a .toml file) for an estimate; "
        "of both, the measured costs are used (default: this machine)",
    )
    command.add_argument(
        "--quantile", type=share, default=0.999, help="the promised share of answers in time (default 0.999)"
    )
    command.add_argument(
        "--slowdown",
        type=float,
        default=PROMISED["slowdown"],
        help="the largest slow-down of the device for which the bundle has the best models (default 2)",
    )
    command.add_argument(
        "--early-stop",
        type=share,
        metavar="LOSS",
        help="the accuracy that early answers may give up, such as 0.01 (default: no early answers)",
    )
    command.add_argument(
        "--correction",
        type=lambda name: None if name == "none" else name,
        choices=CORRECTIONS,
        default=PROMISED["correction"],
        metavar="{resampling,nested,none}",
        help="how the luck of sets that were chosen for their scores is found, to lower stated scores by it (default "
        "resampling); nested trains about as much again for each fold",
    )
    command.add_argument(
        "--confidence",
        action="store_true",
        help="let each answer state the probability that it is right, so that the node can withhold unsure ones",
    )


def _add_identity(command: argparse.ArgumentParser) -> None:
    command.add_argument("--name", default="", help="what the bundle is called, as nodes show it")
    command.add_argument("--bundle-version", default="", metavar="VERSION", help="the version of the bundle")
    command.add_argument("--built-by", default="", metavar="WHO", help="who builds the bundle")


def run(arguments: argparse.Namespace) -> Outcome:
    """Measure, train, index and export.

    Raises `PolyDomError` if something about the arguments, the items or the device is not as it must be.
    """
    space = space_of(arguments.space)
    identity = {"name": arguments.name, "version": arguments.bundle_version, "built_by": arguments.built_by}
    checked_target(arguments.out)  # an error should come before the training
    key = SigningKey.from_file(arguments.sign) if arguments.sign else None
    given_identity(**identity)
    costs = device_of(arguments.profile)
    found = samples(arguments.items)
    if any(sample.label is UNLABELLED for sample in found):
        raise ItemError(f"{arguments.items} must give a label for each item: the array 'label', or (item, label).")
    groups, weights = (whole_or_none(found, name, arguments.items) for name in ("group", "weight"))
    search = search_for(arguments, space)
    if arguments.costs_of_errors:
        search.costs_of_errors = read_error_costs(arguments.costs_of_errors, [s.label for s in found])
    search.fit([s.item for s in found], [s.label for s in found], groups, costs, sample_weight=weights)
    bundle = search.export(arguments.out, **identity, key=key)
    for name, reason in search.dropped_.items():
        show(f"dropped {name}: {reason}")
    show(bundle.times.origin)
    stored, promise = bundle.stored, bundle.promise
    show(
        f"{arguments.out}: {_indexed(bundle, search)}, {len(bundle.models)} models with all prefixes; "
        f"{_scored(search)}; alpha {promise.alpha:.4g}, tolerance {promise.tolerance:.4g}."
    )
    if promise.margin is not None:
        show(f"The promise: {promise_text(bundle)}.")
    if bundle.shipping.n_left_out:
        show(f"{bundle.shipping}.")
    return Outcome(
        {
            "bundle": arguments.out,
            "sha256": index_sha256(bundle),
            "possible": 2 ** len(search.space_),
            "trained": sum(map(len, search.scores_.values())),
            "candidates": len(stored.shipped),
            "sequences": len(stored.sequences),
            "models": len(bundle.models),
            "dropped": search.dropped_,
            "promise": {**asdict(promise), "text": promise_text(bundle)},
            "costs": str(bundle.times.origin),
            "left_out": bundle.shipping.n_left_out,
        }
    )


def _indexed(bundle: Bundle, search: PolyDomSearch | GreedySearch) -> str:
    """Return what the index of a bundle holds. Each model may be a candidate, also one that only the export trained."""
    if bundle.stored.sequences:
        return f"an index of {len(bundle.stored.sequences)} sequences"
    masks = {bundle.models[number].mask for number in bundle.stored.shipped}
    n_prefixes = len(masks.difference(*search.scores_.values()))
    prefixes = f" ({n_prefixes} of them trained by the export alone, as prefixes)" if n_prefixes else ""
    return f"an index of {len(masks)} feature set{'s' * (len(masks) != 1)}{prefixes}"


def _scored(search: PolyDomSearch | GreedySearch) -> str:
    """Return how many sets the search has looked at; of several estimators, it counts a set once for each."""
    what = "pairs of a set and an estimator" if len(search.scores_) > 1 else "sets"
    n_scored = sum(map(len, search.scores_.values()))
    return f"the search scored {n_scored} {what} ({2 ** len(search.space_)} sets are possible, with the empty one)"


def whole_or_none(found: Sequence[Sample], name: str, source: str) -> list[Any] | None:
    """Return the group or the weight of each item; None if no item has one.

    Raises `ItemError` if some items have one and some have none.
    """
    values = [getattr(sample, name) for sample in found]
    if missing := sum(value is None for value in values):
        if missing < len(values):
            raise ItemError(f"{source} must give a {name} for each item, or for none. Got none for {missing}.")
        return None
    return values


def search_for(arguments: argparse.Namespace, space: FeatureSpace) -> PolyDomSearch | GreedySearch:
    """Return the search that the command line asks for.

    Raises `FitError` if options of the promise are given for a greedy search.
    """
    common: dict[str, Any] = {
        "deadline": arguments.deadline,
        "size_range": arguments.sizes,
        "scoring": arguments.scoring,
        "cv": arguments.cv,
        "n_jobs": arguments.jobs,
        "memory": arguments.cache,
        "quantile": arguments.quantile,
        "confidence": arguments.confidence,
        "max_features": arguments.max_features,
        "max_trainings": arguments.max_trainings,
        "max_seconds": arguments.max_seconds,
        "verbose": 1,
    }
    estimator = given_estimator(arguments.estimator)
    promised = {name: getattr(arguments, name) for name in PROMISED}
    if arguments.lattice in GREEDY:
        if given := [f"--{name.replace('_', '-')}" for name in PROMISED if promised[name] != PROMISED[name]]:
            raise FitError(
                f"{', '.join(given)} must be with a search that promises a score. --lattice {arguments.lattice} makes "
                "no promise. Leave one out."
            )
        return GreedySearch(estimator, space, lambdas=GREEDY[arguments.lattice], **common)
    return PolyDomSearch(
        estimator,
        space,
        lattice=arguments.lattice,
        **promised,
        **common,
    )


def device_of(names: Sequence[str]) -> CostSamples | DeviceProfile | None:
    """Return the device to plan for: measured costs before a profile; None stands for this machine.

    Raises `MeasurementError`, `ProfileError` if a file or name is not sound.
    """
    devices = [load_costs(name) if name.endswith(".costs") else DeviceProfile.named(name) for name in names]
    measured = [d for d in devices if isinstance(d, CostSamples)]
    if len(measured) > 1 or len(devices) - len(measured) > 1:
        raise ProfileError(f"There must be at most one measured device and one profile. Got {', '.join(names)}.")
    for warning in measured[0].warnings if measured else ():
        say(f"{names[devices.index(measured[0])]}: {warning}", "polydom")
    return (measured or devices or [None])[0]
