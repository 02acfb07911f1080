"""``polydom simulate``: show the answers that a bundle would give on a device, by its recorded times."""

import argparse

from polydom_builder.simulation.report import POLICIES, deadlines_of, rehearse, trials_of
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.regimes import Regime
from polydom_runtime.commands.arguments import duration
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import say
from polydom_runtime.costs import format_seconds
from polydom_runtime.exceptions import LoopError
from polydom_runtime.measuring.cost_samples import CostSamples
from polydom_runtime.measuring.costs_file import load_costs

from .arguments import add_replaying, count
from .deadlines import long_enough
from .rehearsal_table import print_rehearsal


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom simulate``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")
    command.add_argument(
        "--costs", required=True, metavar="NAME.costs", help="the costs file of the device, from polydom-node measure"
    )
    add_replaying(command, deadlines="five within the range of the bundle", slower_than="the costs file")
    command.add_argument(
        "--period",
        type=duration,
        help="simulate a loop that sleeps until each item is due, such as 20ms (default: items come back to back)",
    )
    command.add_argument(
        "--no-rehearse", action="store_true", help="with --period: no kept items are answered right before an item"
    )
    command.add_argument("--no-adapt", action="store_true", help="simulate a node that does not estimate its slow-down")
    command.add_argument("--count", type=count, default=2000, help="the number of items (default 2000)")
    command.add_argument("--seed", type=count, default=1, help="the random seed of sizes and times (default 1)")


def run(arguments: argparse.Namespace) -> Outcome:
    """Answer items of the bundle's sizes on a virtual clock, and print scores, misses and times.

    Raises `BundleFormatError`, `MeasurementError` if the bundle or the costs file is not sound. Raises `FitError` if
    the costs are not those of the bundle's features, or lack the times of answers after a sleep. Raises `DeadlineError`
    if all deadlines are shorter than dispatch alone takes. Raises `LoopError` if rehearsal is ruled out where there is
    no period.
    """
    bundle, samples = load_bundle(arguments.bundle), load_costs(arguments.costs)
    regime = _regime(arguments.period, arguments.no_rehearse)
    trials = trials_of(bundle, samples, arguments.count, arguments.seed, regime)
    if regime != "hot":
        _say_what_is_simulated(bundle, samples, regime, arguments.period)
    policies = POLICIES if arguments.policy is None else (arguments.policy,)
    asked = long_enough(bundle, arguments.deadline or deadlines_of(bundle, 5), regime)
    rows = rehearse(
        bundle, trials, asked, policies, slowdown=arguments.slowdown, adapt=not arguments.no_adapt, regime=regime
    )
    print_rehearsal(rows)
    return Outcome({"rows": rows})


def _regime(period: float | None, no_rehearse: bool) -> Regime:
    if period is None and no_rehearse:
        raise LoopError("--no-rehearse must come with --period, the time between two items. It is missing.")
    if period is None:
        return "hot"
    return "cold" if no_rehearse else "rehearsed"


def _say_what_is_simulated(bundle: Bundle, samples: CostSamples, regime: Regime, period: float) -> None:
    """Say after which sleep the times were measured, and whether the bundle plans with such times."""
    asleep, asked = format_seconds(samples.items[regime].asleep), format_seconds(period)
    say(f"simulated with {regime} times after {asleep} asleep, for a period of {asked}", "polydom")
    if regime not in bundle.regimes:
        say(f"the bundle has no {regime} times and plans with hot ones; build it again", "polydom")
