"""``polydom-node run``: answer items as they come, or at a fixed period."""

import gc
import json
import math
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.causes import raised
from polydom_runtime.clock import collector_off
from polydom_runtime.exceptions import EnergyError, LoopError, RecordingError
from polydom_runtime.items.sources import Arrived, iterate, space_of
from polydom_runtime.learning.experience import runs_of
from polydom_runtime.loop.stop import StopWaiting
from polydom_runtime.prediction import AnyPredictor
from polydom_runtime.predictor import Predictor
from polydom_runtime.records.metrics import known_as

from .answers import Answers, LabelledSource, check_first, follows
from .bundle_options import bundle_of, learned_of
from .command_line import TRACEBACK
from .lines import Lines
from .options import values_of
from .outcome import Outcome
from .recording import Records
from .run_options import OPTIONS as OPTIONS
from .signals import stopping, without_hangup
from .tally import Tally
from .terminal import say

if TYPE_CHECKING:
    from polydom_runtime.delivery.following_predictor import FollowingPredictor, Single
    from polydom_runtime.policy.energy import EnergyBudget
    from polydom_runtime.publishing.publisher import MqttPublisher
    from polydom_runtime.publishing.target import MqttTarget
    from polydom_runtime.supervision.supervisor import SupervisedPredictor

COLLECT_EVERY = 1000
"""Items between two garbage collections, which are kept out of the timed calls."""

PLANNED = "deadline", "policy", "abstain_below", "accuracy_wanted"
"""The options that are parameters of every predictor."""


def run(arguments: Namespace) -> Outcome:
    """Answer every item: a JSON line each, and a summary: one more line, or on a terminal a text."""
    check_together(arguments)
    target = _target(arguments) if arguments.mqtt is not None else None
    if not arguments.compare:
        say("the features are not compared with those of the build")
    make = _supervised if arguments.supervised else _predictor
    with ExitStack() as stack:
        if arguments.follow:
            stack.enter_context(without_hangup())  # a new bundle that it tells of is found in any case
        predictor: Single | FollowingPredictor
        if arguments.follow:
            from .following import following  # only here: most nodes keep their bundle

            predictor = following(arguments, make)
        else:
            predictor = make(arguments)
        if not isinstance(predictor, Predictor):
            stack.callback(predictor.close)
        publisher = None if target is None else stack.enter_context(_publisher(arguments, target, predictor))
        return _answer_all(arguments, predictor, publisher)


def check_together(arguments: Namespace) -> None:
    """Check that the options can hold together."""
    if arguments.json and arguments.metrics_json == "-":
        raise RecordingError("--metrics-json must name a file where --json has the standard output. Got -.")
    if arguments.trial < 0:
        raise LoopError(f"--trial must be at least 0. Got {arguments.trial}.")
    if arguments.supervised and (arguments.early_stop or arguments.energy is not None):
        raise EnergyError("--supervised must be without --early-stop and --energy. Leave one out.")


def _answer_all(
    arguments: Namespace, predictor: "Single | FollowingPredictor", publisher: "MqttPublisher | None"
) -> Outcome:
    bundle = predictor.bundle
    tally = Tally(predictor.deadline, bundle, runs_of(arguments.late_at_most))
    if bundle.times.origin.estimated:
        say(f"{bundle.times.origin}")
    with ExitStack() as stack:
        stop = stack.enter_context(stopping(predictor.look if follows(predictor) else None))
        lines = Lines(sys.stdout, lambda: stop.requested)
        records = stack.enter_context(Records(arguments, predictor, lines))
        if publisher is not None:
            records.count(publisher)
            stack.callback(publisher.close)  # before the last metrics are written
        if follows(predictor):
            predictor.on_change = lambda _: records.follow(predictor)
        space = None if arguments.supervised else space_of(arguments.space)
        check = partial(check_first, space, bundle, arguments.compare, arguments.items)
        source = stack.enter_context(
            closing(LabelledSource(arguments.items, iterate(arguments.items), tally, stop, check))
        )
        answers = Answers(
            *(predictor, source, tally, records, stop, publisher),
            shown="held" if arguments.hold else "none" if arguments.quiet or arguments.json else "each",
            more=(lambda: {"bundle": predictor.bundle.sha256[:12]}) if arguments.follow else dict,
        )
        hooks: list[Callable[[float], object]] = []
        if arguments.learned is not None:
            from .learned import saving  # only here: most nodes begin with the shipped times

            hooks.append(stack.enter_context(saving(arguments, predictor)).on_slack)
        code, loop = _answer_each(arguments, predictor, answers, hooks)
        if source.refused is not None:
            raise source.refused
        answers.release()
        if not answers.is_read:
            raise BrokenPipeError
        if publisher is not None:
            publisher.close()  # after what is pending was published, so that it is counted
        summary = {
            **tally.summary(),
            "lost_lines": lines.lost,
            "oversized": predictor.n_oversized,
            "bundle": known_as(predictor.bundle),
            "costs": str(bundle.times.origin),
            "compared": arguments.compare and bool(bundle.references.items),
            "learning": (learning := predictor.learning()).to_json(),
            **loop,
            **_more(arguments, predictor),
            **({} if publisher is None else {"mqtt": publisher.counts._asdict()}),
        }
        if sys.stdout.isatty():
            from .summary_text import run_facts, show_folded, summary_lines  # only here: most nodes have no reader

            show_folded([*[""] * (not arguments.quiet), *summary_lines(run_facts(summary, tally))])
        else:
            for sentence in tally.said:
                say(sentence)
            if learning.moved or not tally.kept.is_kept:
                say(f"{learning}")
            lines.write(json.dumps({"summary": summary}) + "\n")
    code = code or int(not tally.is_sound or lines.lost > 0)
    return Outcome({"summary": summary, "answers": answers.held}, code)


def _supervised(arguments: Namespace) -> "SupervisedPredictor":
    from polydom_runtime.supervision.supervisor import SupervisedPredictor

    bundle, options = bundle_of(arguments), values_of(arguments, *PLANNED, "compare")
    options |= {"runs": arguments.late_at_most, "learned": learned_of(arguments, bundle)}
    return SupervisedPredictor(bundle, arguments.space, **options)


def _predictor(arguments: Namespace) -> Predictor:
    bundle, space = bundle_of(arguments), space_of(arguments.space)
    energy = None if arguments.energy is None else _energy(arguments, bundle)
    options = values_of(arguments, *PLANNED, "early_stop")
    options |= {"energy": energy, "runs": arguments.late_at_most, "learned": learned_of(arguments, bundle)}
    predictor = Predictor(bundle, space, **options)
    if arguments.compare:
        bundle.check_features(space)
    return predictor


def _energy(arguments: Namespace, bundle: Bundle) -> "EnergyBudget":
    from polydom_runtime.policy.energy import EnergyBudget  # only here: most nodes have power enough

    if arguments.energy_costs:
        return EnergyBudget.measured(arguments.energy_costs, arguments.energy, bundle)
    return EnergyBudget(arguments.energy, arguments.watts)


def _target(arguments: Namespace) -> "MqttTarget":
    from polydom_runtime.publishing.target import MqttTarget, check_topic  # only here: most nodes publish nothing

    if arguments.mqtt_discovery is not None:
        check_topic(arguments.mqtt_discovery)
    return MqttTarget.parse(
        arguments.mqtt,
        login=arguments.mqtt_login,
        authorities=arguments.mqtt_ca,
        client_id=arguments.mqtt_client_id,
        qos=arguments.mqtt_qos,
    )


def _publisher(arguments: Namespace, target: "MqttTarget", predictor: AnyPredictor) -> "MqttPublisher":
    from polydom_runtime.publishing.discovery import discovery
    from polydom_runtime.publishing.publisher import MqttPublisher

    prefix = arguments.mqtt_discovery
    retained = {} if prefix is None else discovery(target, predictor.bundle, prefix)
    return MqttPublisher(target, retained=retained, capacity=arguments.mqtt_queue)


def _more(arguments: Namespace, predictor: AnyPredictor) -> dict[str, Any]:
    more: dict[str, Any] = {"reloads": predictor.reloads._asdict()} if follows(predictor) else {}
    if arguments.supervised:
        one = cast("SupervisedPredictor", predictor)
        counts, restarts = predictor.supervised() if follows(predictor) else (one.counts, one.restarts)
        more |= {"answered_by": dict(counts), "restarts": restarts}
    return more


def _answer_each(
    arguments: Namespace, predictor: AnyPredictor, answers: Answers, hooks: list[Callable[[float], object]]
) -> tuple[int, dict[str, Any]]:
    hooks.append(answers.records.on_slack)
    hooks += [answers.publisher.on_slack] if answers.publisher is not None else []
    hooks += [predictor.on_slack] if follows(predictor) else []
    if arguments.period:
        from .periodic import answer_periodically  # only here: it loads all of the loop

        return answer_periodically(arguments, predictor, answers, hooks)
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
            answers.on_answer(number, item, predictor.predict_one(item, arrived_ns=arrived_ns))
            for hook in hooks:
                hook(math.inf)
            number += 1
            if number % COLLECT_EVERY == 0:
                gc.collect()
    if error is not None:
        say(f"the items ended with an error. {raised(error)}")
    return int(error is not None), {}
