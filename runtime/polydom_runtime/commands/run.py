"""``polydom-node run``: answer items as they come, or at a fixed period."""

import argparse
import gc
import json
import math
import os
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from polydom_runtime.causes import raised
from polydom_runtime.exceptions import EnergyError, RecordingError, WorkerError
from polydom_runtime.items.sources import Arrived, iterate, space_of
from polydom_runtime.loop.stop import StopWaiting
from polydom_runtime.loop.throttle_watch import ThrottleWatch
from polydom_runtime.pauses import collector_off
from polydom_runtime.policy.energy import EnergyBudget
from polydom_runtime.prediction import AnyPredictor
from polydom_runtime.predictor import Predictor
from polydom_runtime.records.metrics import known_as

from . import follow_options, loop_options, publish_options, record_options
from .arguments import add_answering, joules, positive
from .command_line import TRACEBACK
from .follow_options import follows
from .loop_answers import Answers, LabelledSource, check_first
from .outcome import Outcome
from .signals import stopping, without_hangup
from .tally import Tally
from .terminal import say
from .tuned_bundle import bundle_of, trust_of

if TYPE_CHECKING:
    from polydom_runtime.delivery.following_predictor import FollowingPredictor, Single
    from polydom_runtime.publishing.publisher import MqttPublisher
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
    abstention = command.add_mutually_exclusive_group()
    abstention.add_argument(
        "--abstain-below",
        type=float,
        metavar="CONFIDENCE",
        help="withhold answers whose probability to be right is lower, such as 0.9: their label is null",
    )
    abstention.add_argument(
        "--accuracy-wanted",
        type=float,
        metavar="SHARE",
        help="withhold so many unsure answers that this share of the others is right, such as 0.99",
    )
    command.add_argument(
        "--supervised",
        action="store_true",
        help="compute in a second process, which is killed and replaced when a feature hangs",
    )
    printing = command.add_mutually_exclusive_group()
    printing.add_argument("--quiet", action="store_true", help="print only the summary")
    printing.add_argument(
        "--hold", action="store_true", help="print all answers at the end, and none between two items; for short runs"
    )
    record_options.add_arguments(command)
    loop_options.add_arguments(command)
    follow_options.add_arguments(command)
    publish_options.add_arguments(command)


def run(arguments: argparse.Namespace) -> Outcome:
    """Answer every item: a JSON line each, and a summary line."""
    if arguments.json and arguments.metrics_json == "-":
        raise RecordingError("--metrics-json must name a file where --json has the standard output. Got -.")
    loop_options.check_arguments(arguments)
    follow_options.check_arguments(arguments)
    target = publish_options.target_of(arguments)
    if not arguments.compare:
        say("the features are not compared with those of the build")
    make = _supervised if arguments.supervised else _predictor
    with ExitStack() as stack:
        if arguments.follow:
            stack.enter_context(without_hangup())  # a new bundle that it tells of is found in any case
        first = make(arguments)
        predictor = follow_options.following(arguments, first, make) if arguments.follow else first
        if not isinstance(predictor, Predictor):
            stack.callback(predictor.close)
        publisher = None
        if target is not None:
            publisher = stack.enter_context(publish_options.open_publisher(arguments, target, predictor.bundle))
        return _answer_all(arguments, predictor, publisher)


def _answer_all(
    arguments: argparse.Namespace, predictor: "Single | FollowingPredictor", publisher: "MqttPublisher | None"
) -> Outcome:
    """Answer until the items end or a signal comes, and print the summary."""
    bundle, tally = predictor.bundle, Tally(predictor.deadline, predictor.bundle)
    if bundle.times.origin.estimated:
        say(f"{bundle.times.origin}")
    with ExitStack() as stack:
        stop = stack.enter_context(stopping(predictor.look if follows(predictor) else None))
        records = stack.enter_context(record_options.open_records(arguments, predictor))
        if publisher is not None:
            records.count(publisher)
            stack.callback(publisher.close)  # before the last metrics are written
        if follows(predictor):
            predictor.on_change = lambda _: records.follow(predictor)
        space = None if arguments.supervised else space_of(arguments.space)
        check = partial(check_first, space, bundle.space.item_kind, arguments.items)
        source = stack.enter_context(
            closing(LabelledSource(arguments.items, iterate(arguments.items), tally, stop, check))
        )
        of_bundle = (lambda: {"bundle": predictor.bundle.sha256[:12]}) if arguments.follow else dict
        answers = Answers(
            *(predictor, source, tally, records, stop, publisher),
            shown="held" if arguments.hold else "none" if arguments.quiet or arguments.json else "each",
            more=of_bundle,
        )
        code, loop = (_periodic if arguments.period else _one_by_one)(arguments, predictor, answers)
        if source.refused is not None:
            raise source.refused
        answers.release()
        if not answers.is_read:
            raise BrokenPipeError
        summary = {
            **tally.summary(),
            "oversized": predictor.n_oversized,
            "bundle": known_as(predictor.bundle),
            "costs": str(bundle.times.origin),
            "compared": arguments.compare and bool(bundle.references.items),
            **loop,
            **_more(arguments, predictor),
            **publish_options.last_counts(publisher),
        }
        print(json.dumps({"summary": summary}), flush=True)
    return Outcome({"summary": summary, "answers": answers.held}, code or int(not tally.is_sound))


def _supervised(arguments: argparse.Namespace) -> "SupervisedPredictor":
    from polydom_runtime.supervision.supervisor import SupervisedPredictor

    if arguments.early_stop or arguments.energy is not None:
        raise EnergyError("--supervised must be without --early-stop and --energy. Leave one out.")
    if arguments.tune is not None:
        raise WorkerError("--supervised must be without --tune: workers plan by the bundle alone. Leave one out.")
    return SupervisedPredictor(
        arguments.bundle,
        arguments.space,
        deadline=arguments.deadline,
        policy=arguments.policy,
        abstain_below=arguments.abstain_below,
        accuracy_wanted=arguments.accuracy_wanted,
        compare=arguments.compare,
        trust=trust_of(arguments),
    )


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
        abstain_below=arguments.abstain_below,
        accuracy_wanted=arguments.accuracy_wanted,
    )
    if arguments.compare:
        bundle.check_features(space)
    return predictor


def _more(arguments: argparse.Namespace, predictor: AnyPredictor) -> dict[str, Any]:
    """Return the part of the summary about supervision and new bundles."""
    more: dict[str, Any] = {"reloads": predictor.reloads._asdict()} if follows(predictor) else {}
    if arguments.supervised:
        one = cast("SupervisedPredictor", predictor)
        counts, restarts = predictor.supervised() if follows(predictor) else (one.counts, one.restarts)
        more |= {"answered_by": dict(counts), "restarts": restarts}
    return more


Ended = tuple[int, dict[str, Any]]
"""The exit code, and the part of the summary about the loop."""


def _one_by_one(arguments: argparse.Namespace, predictor: AnyPredictor, answers: Answers) -> Ended:
    hooks = _hooks(predictor, answers)
    number, error = 0, None
    with collector_off():
        while True:
            try:
                item = answers.stop.next_of(answers.source)
            except (StopIteration, StopWaiting):
                break
            except Exception as e:  # of the user's code
                if os.environ.get(TRACEBACK):
                    raise
                error = e
                break
            if item is None:
                continue
            arrived_ns = None
            if isinstance(item, Arrived):
                item, arrived_ns = item.item, item.arrived_ns
            if number == 0:
                with suppress(StopWaiting):
                    answers.stop.call(predictor.warm_up, item)
            answers.on_answer(number, item, predictor.predict_one(item, arrived_ns))
            for hook in hooks:
                hook(math.inf)
            number += 1
            if number % COLLECT_EVERY == 0:
                gc.collect()
    if error is not None:
        say(f"the items ended with an error. {raised(error)}")
    return int(error is not None), {}


def _hooks(predictor: AnyPredictor, answers: Answers) -> list[Callable[[float], object]]:
    """Return what uses the time between two items."""
    follow = [predictor.on_slack] if follows(predictor) else []
    publish = [answers.publisher.on_slack] if answers.publisher is not None else []
    return [answers.records.on_slack, *publish, *follow]


def _periodic(arguments: argparse.Namespace, predictor: AnyPredictor, answers: Answers) -> Ended:
    hooks = _hooks(predictor, answers)
    if isinstance(predictor, Predictor) or follows(predictor):
        hooks.append(ThrottleWatch(predictor.expect_slowdown).on_slack)
    monitor = loop_options.build_loop(
        arguments, predictor, answers.source, answers.on_answer, on_slack=hooks, stop=answers.stop
    )
    summary = loop_options.run_loop(arguments, monitor)
    return loop_options.exit_code(summary), {"loop": loop_options.as_dict(summary)}
