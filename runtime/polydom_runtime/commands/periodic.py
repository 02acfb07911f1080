"""The loop of ``polydom-node run`` with a fixed period, as a service."""

import math
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from polydom_runtime.costs import format_seconds
from polydom_runtime.loop import realtime
from polydom_runtime.loop.loop_counts import LoopSummary
from polydom_runtime.loop.monitor import Monitor
from polydom_runtime.loop.throttle_watch import ThrottleWatch
from polydom_runtime.loop.wakeups import Sleeper
from polydom_runtime.loop.watchdogs import HardwareWatchdog, ServiceManager, Watchdog
from polydom_runtime.prediction import AnyPredictor
from polydom_runtime.predictor import Predictor

from .answers import Answers, follows
from .terminal import say

STATUS_EVERY_NS = 10_000_000_000


def answer_periodically(
    arguments: Namespace, predictor: AnyPredictor, answers: Answers, hooks: list[Callable[[float], object]]
) -> tuple[int, dict[str, Any]]:
    """Answer all items, with `hooks` between two; return the exit code, and the part of the summary about the loop."""
    if isinstance(predictor, Predictor) or follows(predictor):
        hooks.append(ThrottleWatch(predictor.expect_slowdown).on_slack)
    watchdogs: list[Watchdog] = [HardwareWatchdog(arguments.watchdog)] if arguments.watchdog else []
    manager = ServiceManager.from_environment()
    if manager is not None:
        watchdogs.append(manager)  # last, so that it hears "ready" only after the others have started
    monitor = Monitor(
        *(answers.source, predictor, arguments.period, answers.on_answer),
        overrun=arguments.overrun,
        on_slack=lambda seconds: [hook(seconds) for hook in hooks],
        watchdogs=watchdogs,
        rehearse=arguments.rehearse,
        sleeper=Sleeper(spin=arguments.spin),
        stop=answers.stop,
    )
    if manager is not None:
        hooks.append(StatusLine(manager, monitor).on_slack)
    summary = run_loop(arguments, monitor)
    if broke := summary.ended == "the source broke":  # then the service must be started again
        say(f"the items ended with an error. {summary.counts.errors['source']}")
    failures, errors = summary.counts.failures, summary.counts.errors
    for part in (lost := [part for part in ("predictor", "on_answer") if part in failures]):
        say(f"{part} failed {failures[part]:,} times. The first time: {errors[part]}")
    return int(broke or bool(lost)), {"loop": loop_data(summary)}


class StatusLine:
    """Sends the counts to the service manager every ten seconds; `on_slack` is one of `Monitor`."""

    def __init__(self, manager: ServiceManager, monitor: Monitor) -> None:
        self._manager, self._monitor, self._due_ns = manager, monitor, 0

    def on_slack(self, seconds_left: float) -> None:
        """Send the counts if ten seconds are over."""
        now = self._monitor.clock()
        if now >= self._due_ns:
            self._due_ns = now + STATUS_EVERY_NS
            counts = self._monitor.counts
            self._manager.status(f"{counts.answered} answers, {counts.late} late, {counts.skipped} periods skipped")


def run_loop(arguments: Namespace, monitor: Monitor) -> LoopSummary:
    """Run the loop as punctually as the system allows; report refused settings and skipped rehearsals on stderr."""
    for f in realtime.apply(cpu=arguments.cpu, priority=arguments.priority, lock_memory=arguments.lock_memory):
        if f.level != "ok":
            say(f"{f.check}: {f.found}: {f.why}. To allow it: {f.fix}.")
    summary = monitor.run()
    if arguments.rehearse and not monitor.rehearsals.fit:
        needed = format_seconds(monitor.rehearsals.usual_ns * 1e-9)
        say(
            f"no rehearsals: the period must leave {needed} beside the deadline, which one takes. It "
            "leaves less, so items were answered with cold code. Give a longer period or a shorter deadline."
        )
    elif skipped := summary.rehearsals.skipped:
        why = ", ".join(f"{n} since {reason}" for reason, n in summary.rehearsals.skipped_since.items())
        say(f"{skipped} rehearsals were skipped, so their items may have met cold code: {why}")
    return summary


def loop_data(summary: LoopSummary) -> dict[str, Any]:
    """Return the summary for JSON; an unknown number is None."""
    return {
        "ended": summary.ended,
        **asdict(summary.counts),
        "wake_up_lateness": _known(asdict(summary.lateness)),
        "rehearsals": _known(asdict(summary.rehearsals)) | {"share": round(summary.rehearsals.share, 4)},
    }


def _known(counts: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(n, float) and not math.isfinite(n) else n for name, n in counts.items()}
