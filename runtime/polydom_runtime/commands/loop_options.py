"""The options of ``polydom-node run`` for a loop with a fixed period, as a service."""

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import LoopError
from polydom_runtime.findings import Finding
from polydom_runtime.loop import realtime
from polydom_runtime.loop.loop_counts import LoopSummary, Miss
from polydom_runtime.loop.monitor import Monitor
from polydom_runtime.loop.stop import Stop
from polydom_runtime.loop.wakeups import OVERRUNS, Overrun, Sleeper
from polydom_runtime.loop.watchdogs import WATCHDOG_DEVICE, HardwareWatchdog, ServiceManager, Watchdog

from .arguments import duration, period
from .terminal import say

if TYPE_CHECKING:
    from polydom_runtime.prediction import Answering, Prediction

STATUS_EVERY_NS = 10_000_000_000
PRIORITIES = range(1, 100)
UNASKED = {"overrun": "skip", "spin": 0.0, "priority": None, "cpu": None, "lock_memory": False, "watchdog": None}
"""The options that mean nothing without a period, and what they hold if they are not given."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of the loop to ``run``."""
    group = command.add_argument_group("loop with a fixed period")
    group.add_argument(
        "--period", type=period, help="the time from one item to the next, such as 20ms (default: items as they come)"
    )
    group.add_argument(
        "--overrun",
        type=overrun,
        default="skip",
        metavar="{skip,catch-up,latest}",
        help="the reaction to an item that takes longer than its period: skip the periods that have begun (default), "
        "catch up with all of them, or continue at once with the latest item",
    )
    group.add_argument(
        "--spin", type=duration, default=0.0, help="the time of busy waiting before each period, such as 100us"
    )
    group.add_argument(
        "--no-rehearse",
        dest="rehearse",
        action="store_false",
        help="do not answer kept items before each item: saves energy, but cold code is slower, so answers are less "
        "accurate",
    )
    group.add_argument("--priority", type=priority, metavar="1..99", help="the real-time priority, under SCHED_FIFO")
    group.add_argument("--cpu", type=int, metavar="N", help="the processor to stay on")
    group.add_argument("--lock-memory", action="store_true", help="keep all memory out of the swap space")
    group.add_argument(
        "--watchdog",
        nargs="?",
        const=WATCHDOG_DEVICE,
        metavar="DEVICE",
        help=f"the hardware watchdog, which resets the board if the loop hangs (default DEVICE {WATCHDOG_DEVICE})",
    )


def check_arguments(arguments: argparse.Namespace) -> None:
    """Check that no option of the loop is given without a period.

    Raises `LoopError` if one is.
    """
    given = [f"--{name.replace('_', '-')}" for name, unasked in UNASKED.items() if getattr(arguments, name) != unasked]
    if given and arguments.period is None:
        raise LoopError(f"{given[0]} must come with --period, the time from one item to the next. It is missing.")


def overrun(text: str) -> Overrun:
    """Return a policy for overruns from its name with a hyphen; ArgumentTypeError if there is none of that name.

    >>> overrun("catch-up")
    'catch up'
    """
    for policy in OVERRUNS:
        if text.replace("-", " ") == policy:
            return policy
    raise argparse.ArgumentTypeError(f"must be skip, catch-up or latest. Got {text!r}")


def priority(text: str) -> int:
    """Return a real-time priority; ArgumentTypeError unless it is a whole number from 1 to 99.

    >>> priority("50")
    50
    """
    with suppress(ValueError):
        if int(text) in PRIORITIES:
            return int(text)
    raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 99. Got {text!r}")


class StatusLine:
    """Sends the counts to the service manager every ten seconds; `on_slack` is one of `Monitor`."""

    def __init__(self, manager: ServiceManager, monitor: Monitor) -> None:
        self._manager, self._monitor = manager, monitor
        self._due_ns = 0

    def on_slack(self, seconds_left: float) -> None:
        """Send the counts if ten seconds are over."""
        now = self._monitor.clock()
        if now >= self._due_ns:
            self._due_ns = now + STATUS_EVERY_NS
            counts = self._monitor.counts
            self._manager.status(f"{counts.answered} answers, {counts.late} late, {counts.skipped} periods skipped")


def watchdogs(arguments: argparse.Namespace) -> list[Watchdog]:
    """Return the watchdogs that expect signs of life: the named device, and the service manager if it asks."""
    found: list[Watchdog] = [HardwareWatchdog(arguments.watchdog)] if arguments.watchdog else []
    if manager := ServiceManager.from_environment():
        found.append(manager)  # last, so that it hears "ready" only after the others have started
    return found


def build_loop(
    arguments: argparse.Namespace,
    predictor: "Answering",
    source: Iterable[Any],
    on_answer: Callable[[int, Any, "Prediction"], object],
    *,
    on_miss: Callable[[Miss], object] = lambda miss: None,
    on_slack: Sequence[Callable[[float], object]] = (),
    stop: Stop | None = None,
) -> Monitor:
    """Return the loop that the command line asks for.

    `arguments`: with the options of `add_arguments`. `predictor`, `source`, `on_answer`, `on_miss`, `stop`: as in
    `Monitor`. `on_slack`: called one after another, all with the seconds that remained before the first was called.

    Raises `LoopError` if the time of busy waiting, or the address of the service manager, is not sound.
    """
    hooks, known = list(on_slack), watchdogs(arguments)
    monitor = Monitor(
        source,
        predictor,
        arguments.period,
        on_answer,
        on_miss,
        arguments.overrun,
        on_slack=lambda seconds: [hook(seconds) for hook in hooks],
        watchdogs=known,
        rehearse=arguments.rehearse,
        sleeper=Sleeper(spin=arguments.spin),
        stop=stop,
    )
    hooks += [StatusLine(w, monitor).on_slack for w in known if isinstance(w, ServiceManager)]
    return monitor


def run_loop(arguments: argparse.Namespace, monitor: Monitor) -> LoopSummary:
    """Run the loop as punctually as allowed, until the source ends or a signal stops it.

    A real-time setting that could not be applied is reported on standard error, one line each.
    """
    for finding in realtime.apply(cpu=arguments.cpu, priority=arguments.priority, lock_memory=arguments.lock_memory):
        if finding.level != "ok":
            say(_line(finding))
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


def as_dict(summary: LoopSummary) -> dict[str, Any]:
    """Return the summary for JSON; an unknown number is None."""
    lateness, rehearsals = _known(asdict(summary.lateness)), _known(asdict(summary.rehearsals))
    return {
        "ended": summary.ended,
        **asdict(summary.counts),
        "wake_up_lateness": lateness,
        "rehearsals": rehearsals | {"share": round(summary.rehearsals.share, 4)},
    }


def _known(counts: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(n, float) and not math.isfinite(n) else n for name, n in counts.items()}


def exit_code(summary: LoopSummary) -> int:
    """Return 1 and print the error if the source broke, since the service must be started again; else return 0."""
    if summary.ended != "the source broke":
        return 0
    say(f"the items ended with an error. {summary.counts.errors['source']}")
    return 1


def _line(finding: Finding) -> str:
    return f"{finding.check}: {finding.found}: {finding.why}. To allow it: {finding.fix}."
