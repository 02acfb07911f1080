"""``polydom-node run``: answer items as they come, or at a fixed period."""

import argparse
import gc
import json
import math
import sys
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Any

from polydom_runtime.exceptions import EnergyError, ItemError, PolyDomError, WorkerError
from polydom_runtime.features import FeatureSpace
from polydom_runtime.items.json_lines import UNREADABLE
from polydom_runtime.items.sources import Arrived, iterate, space_of
from polydom_runtime.loop.throttle_watch import ThrottleWatch
from polydom_runtime.measuring.item_sizes import checked_size
from polydom_runtime.pauses import collector_off
from polydom_runtime.policy.energy import EnergyBudget
from polydom_runtime.prediction import AnyPredictor, Prediction
from polydom_runtime.predictor import Predictor

from . import loop_options, record_options
from .arguments import add_answering, joules, positive
from .loop_answers import Answers, LabelledSource
from .record_options import Records
from .tally import Tally
from .tuned_bundle import bundle_of

if TYPE_CHECKING:
    from polydom_runtime.supervision.supervisor import SupervisedPredictor

COLLECT_EVERY = 1000
"""Items between two garbage collections, which are kept out of the timed calls."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node run``."""
    add_answering(command)
    command.add_argument(
        "--no-compare",
        dest="compare",
        action="store_false",
        help="do not compare the features with those of the build, on the reference items of the bundle",
    )
    command.add_argument(
        "--early-stop", action="store_true", help="answer as soon as a model is confident enough, to save energy"
    )
    command.add_argument(
        "--energy", type=joules, help="the energy budget of an item, such as 5mJ, which holds beside the deadline"
    )
    command.add_argument(
        "--watts", type=positive, help="the power of the device in watts while it computes; for --energy"
    )
    command.add_argument(
        "--energy-costs",
        metavar="FILE.json",
        help="the measured joules of each feature; for --energy, in place of --watts",
    )
    command.add_argument(
        "--supervised",
        action="store_true",
        help="compute in a second process, which is killed and replaced when a feature hangs",
    )
    command.add_argument("--quiet", action="store_true", help="print only the summary")
    record_options.add_arguments(command)
    loop_options.add_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    """Answer every item: a JSON line each, and a summary line."""
    with ExitStack() as stack:
        supervised = stack.enter_context(closing(_supervised(arguments))) if arguments.supervised else None
        predictor: AnyPredictor = supervised or _predictor(arguments)
        records = stack.enter_context(record_options.open_records(arguments, predictor))
        if predictor.bundle.times.origin.estimated:
            print(f"polydom-node: {predictor.bundle.times.origin}", file=sys.stderr)
        tally = Tally(predictor.deadline)
        code, loop = (_periodic if arguments.period else _one_by_one)(arguments, predictor, tally, records)
        summary = {
            **tally.summary(),
            "oversized": predictor.n_oversized,
            "costs": str(predictor.bundle.times.origin),
            **loop,
        }
        if supervised is not None:
            summary |= {"answered_by": dict(supervised.counts), "restarts": supervised.restarts}
        print(json.dumps({"summary": summary}), flush=True)
    return code or int(not tally.is_sound)


def _supervised(arguments: argparse.Namespace) -> "SupervisedPredictor":
    from polydom_runtime.supervision.supervisor import SupervisedPredictor

    if arguments.early_stop or arguments.energy is not None:
        raise EnergyError("--supervised must be without --early-stop and --energy. Leave one out.")
    if arguments.tune is not None:
        raise WorkerError("--supervised must be without --tune: workers plan by the bundle alone. Leave one out.")
    return SupervisedPredictor(arguments.bundle, arguments.space, deadline=arguments.deadline, policy=arguments.policy)


def _predictor(arguments: argparse.Namespace) -> Predictor:
    if arguments.energy is None and (arguments.watts or arguments.energy_costs):
        raise EnergyError("--watts and --energy-costs must come with --energy, the budget of an item. It is missing.")
    bundle, energy = bundle_of(arguments), None
    if arguments.energy is not None and arguments.energy_costs:
        energy = EnergyBudget.measured(arguments.energy_costs, arguments.energy, bundle)
    elif arguments.energy is not None:
        energy = EnergyBudget(arguments.energy, arguments.watts)
    predictor = Predictor(
        bundle,
        space := space_of(arguments.space),
        deadline=arguments.deadline,
        policy=arguments.policy,
        early_stop=arguments.early_stop,
        energy=energy,
    )
    if arguments.compare:
        bundle.check_features(space)
    return predictor


Outcome = tuple[int, dict[str, Any]]
"""The exit code, and the part of the summary about the loop."""


def _one_by_one(arguments: argparse.Namespace, predictor: AnyPredictor, tally: Tally, records: Records) -> Outcome:
    with collector_off(), suppress(KeyboardInterrupt):
        number = -1
        for item, label in iterate(arguments.items):
            tally.unreadable += item is UNREADABLE
            if item is None or item is UNREADABLE:
                continue
            number += 1
            if number == 0:
                first = item.item if isinstance(item, Arrived) else item
                if not arguments.supervised:
                    check_first(space_of(arguments.space), first, arguments.items)
                predictor.warm_up(first)
            answer = predictor.predict_one(*((item.item, item.arrived_ns) if isinstance(item, Arrived) else (item,)))
            tally.add(answer, label)
            records.add(answer, predictor.trace, number)
            if not arguments.quiet:
                print(json.dumps({"item": number, **answer._asdict()}), flush=True)
            records.on_slack(math.inf)
            if number % COLLECT_EVERY == COLLECT_EVERY - 1:
                gc.collect()
    return 0, {}


def check_first(space: FeatureSpace, item: Any, source: str) -> None:
    """Check that all features can be computed on the first item of a source, as `fit` checks all training items.

    Raises
    ------
    ItemError
        If not: then the source most likely gives something else than items.
    """
    try:
        checked_size(space, item)
        space.extract_all(item)
    except PolyDomError as e:
        what = f"an array of shape {item.shape}" if hasattr(item, "shape") else f"{item!r:.60}"
        raise ItemError(
            f"The first item of {source} must be like those that the bundle was built with. Got {what}. {e}"
        ) from e


def _periodic(arguments: argparse.Namespace, predictor: AnyPredictor, tally: Tally, records: Records) -> Outcome:
    source = LabelledSource(iterate(arguments.items), tally)
    answers = Answers(tally, source, arguments.quiet)

    def on_answer(number: int, item: Any, prediction: Prediction) -> None:
        records.add(prediction, predictor.trace, number)
        answers.on_answer(number, item, prediction)

    hooks = [records.on_slack]
    if isinstance(predictor, Predictor):
        hooks.append(ThrottleWatch(predictor.expect_slowdown).on_slack)
    monitor = loop_options.build_loop(arguments, predictor, source, on_answer, on_slack=hooks)
    answers.on_closed = monitor.stop
    summary = loop_options.run_loop(arguments, monitor)
    if not answers.is_read:
        raise BrokenPipeError
    return loop_options.exit_code(summary), {"loop": loop_options.as_dict(summary)}
