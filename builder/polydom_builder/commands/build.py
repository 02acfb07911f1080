"""``polydom build``: measure, train, index and export a bundle."""

import math
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from polydom_builder.bundling.bundle_folder import checked_target
from polydom_builder.bundling.given_identity import given_identity
from polydom_builder.bundling.leaving_out import only_prior_text
from polydom_builder.exceptions import BusyMachineWarning, FitError
from polydom_builder.exploration import SEARCHES
from polydom_builder.greedy_search import GreedySearch
from polydom_builder.lattice.greedy import PAPER_LAMBDAS
from polydom_builder.preparation.settings import (
    CORRECTIONS,
    AnswerRules,
    NodeConditions,
    Noise,
    ProvenPromise,
    SearchLimits,
)
from polydom_builder.search import PolyDomSearch
from polydom_builder.signing.signing_key import SigningKey
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.commands.arguments import positive, share
from polydom_runtime.commands.options import Option
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import show, warn
from polydom_runtime.describing.knee import verdict
from polydom_runtime.describing.outlook_table import outlook_table
from polydom_runtime.describing.promise_text import promise_text
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.exceptions import ItemError, MeasurementError, ProfileError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.items.sources import UNLABELLED, Sample, samples, space_of
from polydom_runtime.measuring.conditions import busy_warning
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.costs_file import load_costs

from .arguments import JOBS, count, deadlines, size_range, slack
from .error_costs_file import read_error_costs
from .estimator import given_estimator
from .tables import print_table, print_text, print_warning

GREEDY = {"greedy": PAPER_LAMBDAS, "greedy-acc": (0.0,), "greedy-cost": (math.inf,)}
"""The λs of each greedy search. These searches make no promise about the score."""

PROOF = (
    Option(
        "--alpha",
        "for a search that proves it: the factor by which a score may be worse than the best one, at least 1",
        float,
    ),
    Option(
        "--tolerance",
        "for the same search: the amount by which a set may score less than one in it, at least 0, or auto",
        slack,
    ),
)
MODELS = (
    Option(
        "--max-models",
        "the largest number of models; those that lose least of the mean score are left out (default: as many as fit "
        "the memory of the device)",
        count,
    ),
    Option("--max-memory SIZE", "the most that all model files may take together, such as 20MB, with the same effect"),
)
CHOICE = (
    Option(
        "--slowdown",
        "the largest slow-down of the device for which the bundle has the best models (default 2)",
        *(float, 2.0),
    ),
    Option(
        "--early-stop LOSS",
        "the accuracy that early answers may give up, such as 0.01 (default: no early answers)",
        share,
    ),
    Option(
        "--correction {resampling,nested,none}",
        "how the luck of sets that were chosen for their scores is found, to lower stated scores by it (default "
        "resampling); nested trains about as much again for each fold",
        *(lambda name: None if name == "none" else name, "resampling"),
        choices=CORRECTIONS,
    ),
)
PROMISED = *PROOF, *MODELS, *CHOICE
"""`PROMISED`: the options that a greedy search does not have, since it makes no promise about the score."""

OPTIONS = (
    Option("space MODULE:SPACE", "the feature space"),
    Option("--items ITEMS", "the items and labels for training: a packed .npz file or MODULE:FUNCTION", required=True),
    Option(
        "--deadline",
        "the deadline of an item, such as 2ms, or a range 1ms:10ms; of several, as 1ms:2ms:10ms, the results tell "
        "about each",
        *(deadlines, None),
        required=True,
    ),
    Option("--out OUT", "the bundle folder to write; an old bundle there is replaced", required=True),
    Option("--sign NAME.key", "the private key to sign the bundle with (default: none)"),
    Option(
        "--estimator [NAME=]MODULE:OBJECT",
        "the scikit-learn estimator (default: logistic regression on standardised features); may be given several "
        "times: the bundle has the models of each where they are the best",
        default=[],
        action="append",
    ),
    Option("--scoring SCORING", "the score, by its name in scikit-learn (default: accuracy, or r2 of a regressor)"),
    Option(
        "--costs-of-errors FILE.csv",
        "what errors cost: a file with the columns true, said and cost (default: the most probable label is said)",
    ),
    Option("--cv", "the number of cross-validation folds (default 5)", int, 5),
    Option(
        "--sizes LOW:HIGH",
        "the range of item sizes on the node, or one size (default: the range of the items)",
        size_range,
    ),
    *PROOF,
    Option("--max-features", "the number of features that a pre-selection leaves to the search (default all)", int),
    Option(
        "--max-trainings",
        "the largest number of trainings; the search ends with the best sets so far, a greedy one with its sequences "
        "so far",
        int,
    ),
    Option("--max-seconds", "the longest time for trainings, in seconds, with the same effect", positive),
    *MODELS,
    Option(
        "--lattice",
        "the search for feature sets (default by-gain; with --alpha or --tolerance best-first, which proves them); a "
        "greedy one makes no promise about the score",
        choices=[*SEARCHES, *GREEDY],
    ),
    Option(
        "--profile NAME.costs|NAME",
        "the device: a costs file that was measured there, or a profile (a name or a .toml file) for an estimate; of "
        "both, the measured costs are used (default: this machine)",
        default=[],
        action="append",
    ),
    Option("--busy", "accept times that were measured on a busy machine, for a device that is as busy in service"),
    Option("--quantile", "the promised share of answers in time (default 0.999)", share, 0.999),
    *CHOICE,
    Option(
        "--confidence",
        "let each answer state the probability that it is right, so that the node can withhold unsure ones",
    ),
    Option(
        "--prior label|abstain|LABEL",
        "the answer where no model is in time: the most frequent label (default), none, or this label",
        default="label",
    ),
    Option("--name NAME", "what the bundle is called, as nodes show it", default=""),
    Option("--bundle-version VERSION", "the version of the bundle", default=""),
    Option("--built-by WHO", "who builds the bundle", default=""),
    JOBS,
    Option("--cache CACHE", "the folder that keeps all work, so that a build that was killed continues"),
)


def to_go_on(arguments: Namespace) -> str:
    """Return what a user can do who has stopped the build."""
    if arguments.cache:
        return "To go on where it was stopped, give the same command again."
    return "The next build begins anew. With --cache FOLDER, a build that was stopped can go on."


def run(arguments: Namespace) -> Outcome:
    """Measure, train, index and export."""
    space = space_of(arguments.space)
    identity = {"name": arguments.name, "version": arguments.bundle_version, "built_by": arguments.built_by}
    checked_target(arguments.out)  # an error should come before the training
    key = SigningKey.from_file(arguments.sign) if arguments.sign else None
    given_identity(**identity)
    costs = device_of(arguments.profile)
    found = samples(arguments.items)
    if any(sample.label is UNLABELLED for sample in found):
        raise ItemError(f"{arguments.items} must give a label for each item: the array label, or (item, label).")
    groups, weights = (whole_or_none(found, name, arguments.items) for name in ("group", "weight"))
    search = search_for(arguments, space)
    if arguments.costs_of_errors:
        costs_of_errors = read_error_costs(arguments.costs_of_errors, [s.label for s in found])
        search.set_params(answers__costs_of_errors=costs_of_errors)
    labels = {str(sample.label): sample.label for sample in found}
    search.set_params(answers__prior=labels.get(arguments.prior, arguments.prior))
    with _busy_machine(is_allowed=arguments.busy):
        search.fit([s.item for s in found], [s.label for s in found], groups, costs, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no useful model fits")  # it is said first among the results
        bundle = search.export(arguments.out, **identity, key=key)
    busy = busy_warning(search.samples_) if search.samples_ else ""
    for warning in (doubts := [*filter(None, (busy, only_prior_text(bundle)))]):
        print_warning(warning)
    print_text("\n".join(verdict(bundle)))
    for name, reason in search.dropped_.items():
        show(f"dropped {name}: {reason}")
    origin, n_models = bundle.times.origin, len(bundle.models)
    show(origin._replace(notes=tuple(note for note in origin.notes if note != busy)))
    models = f"{n_models} model{'s' * (n_models != 1)} with all prefixes"
    show(f"{arguments.out}: {_indexed(bundle, search)}, {models}; {_scored(search)}.")
    show(f"The promise: {promise_text(bundle)}.")
    print_table(outlook_table(bundle))
    return Outcome(
        {
            "warnings": doubts,
            "bundle": arguments.out,
            "sha256": index_sha256(bundle),
            "possible": 2 ** len(search.space_),
            "trained": sum(map(len, search.scores_.values())),
            "candidates": len(bundle.stored.shipped),
            "sequences": len(bundle.stored.sequences),
            "models": len(bundle.models),
            "dropped": search.dropped_,
            "promise": {**bundle.promise._asdict(), "text": promise_text(bundle)},
            "costs": str(bundle.times.origin),
            "left_out": bundle.shipping.n_left_out,
        }
    )


@contextmanager
def _busy_machine(*, is_allowed: bool) -> Iterator[None]:
    """Refuse times of a busy machine unless they are allowed: before the training."""
    with warnings.catch_warnings():
        warnings.simplefilter("always" if is_allowed else "error", BusyMachineWarning)
        try:
            yield
        except BusyMachineWarning as e:
            got = f"{str(e)[:1].upper()}{str(e)[1:]}"
            raise MeasurementError(
                f"Times must be measured while nothing else runs, unless the device is as busy in service. {got}. "
                "Measure again on an idle machine, or give --busy."
            ) from e


def _indexed(bundle: Bundle, search: PolyDomSearch | GreedySearch) -> str:
    """Return a line on the index of a bundle. Each model may be a candidate, also one that only the export trained."""
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
    """Return the group or the weight of each item; None if no item has one."""
    values = [getattr(sample, name) for sample in found]
    if missing := sum(value is None for value in values):
        if missing < len(values):
            raise ItemError(f"{source} must give a {name} for each item, or for none. Got none for {missing}.")
        return None
    return values


def search_for(arguments: Namespace, space: FeatureSpace) -> PolyDomSearch | GreedySearch:
    """Return the search that the command line asks for."""
    names = "max_trainings", "max_seconds", "max_features", "max_models", "max_memory"
    common: dict[str, Any] = {
        "deadline": arguments.deadline,
        "size_range": arguments.sizes,
        "scoring": arguments.scoring,
        "cv": arguments.cv,
        "n_jobs": arguments.jobs,
        "memory": arguments.cache,
        "quantile": arguments.quantile,
        "limits": SearchLimits(**{name: getattr(arguments, name) for name in names}),
        "answers": AnswerRules(arguments.confidence, arguments.early_stop),
        "verbose": 1,
    }
    estimator = given_estimator(arguments.estimator)
    if arguments.lattice in GREEDY:
        if given := [option.name for option in PROMISED if option.is_given(arguments)]:
            raise FitError(
                f"{', '.join(given)} must be with a search that promises a score. --lattice {arguments.lattice} makes "
                "no promise. Leave one out."
            )
        return GreedySearch(estimator, space, lambdas=GREEDY[arguments.lattice], **common)
    slacks = {name: slack for name in ("alpha", "tolerance") if (slack := getattr(arguments, name)) is not None}
    if slacks and arguments.lattice == "by-gain":
        raise FitError(
            "--alpha and --tolerance are for a search that proves them. Got one of them with --lattice by-gain. Leave "
            "it out, or choose --lattice best-first."
        )
    return PolyDomSearch(
        estimator,
        space,
        promise=ProvenPromise(**slacks) if slacks or arguments.lattice == "best-first" else None,
        noise=Noise(arguments.correction),
        node=NodeConditions(slowdown=arguments.slowdown),
        **common,
    )


def device_of(names: Sequence[str]) -> CostSamples | DeviceProfile | None:
    """Return the device to plan for: measured costs before a profile; None stands for this machine."""
    devices = [load_costs(name) if name.endswith(".costs") else DeviceProfile.named(name) for name in names]
    measured = [d for d in devices if isinstance(d, CostSamples)]
    if len(measured) > 1 or len(devices) - len(measured) > 1:
        raise ProfileError(f"There must be at most one measured device and one profile. Got {', '.join(names)}.")
    for warning in measured[0].warnings if measured else ():
        if warning != busy_warning(measured[0]):  # of which the search warns
            warn(f"{names[devices.index(measured[0])]}: {warning}", "polydom")
    return (measured or devices or [None])[0]
