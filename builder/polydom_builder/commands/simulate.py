"""``polydom simulate``: show the answers that a bundle would give on a device, by its recorded times."""

import argparse
import json

from polydom_builder.simulation.report import POLICIES, as_table, deadlines_of, rehearse, trials_of
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.measuring.costs_file import load_costs

from .arguments import add_replaying, count


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom simulate``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")
    command.add_argument(
        "--costs", required=True, metavar="NAME.costs", help="the costs file of the device, from polydom-node measure"
    )
    add_replaying(command, deadlines="five within the range of the bundle", slower_than="the costs file")
    command.add_argument("--no-adapt", action="store_true", help="simulate a node that does not estimate its slow-down")
    command.add_argument("--count", type=count, default=2000, help="the number of items (default 2000)")
    command.add_argument("--seed", type=count, default=1, help="the random seed of sizes and times (default 1)")


def run(arguments: argparse.Namespace) -> None:
    """Answer items of the bundle's sizes on a virtual clock, and print scores, misses and times.

    Raises
    ------
    BundleFormatError, MeasurementError
        If the bundle or the costs file is not sound.
    FitError
        If the costs are not those of the bundle's features.
    """
    bundle = load_bundle(arguments.bundle)
    trials = trials_of(bundle, load_costs(arguments.costs), arguments.count, arguments.seed)
    policies = POLICIES if arguments.policy is None else (arguments.policy,)
    asked = arguments.deadline or deadlines_of(bundle, 5)
    rows = rehearse(bundle, trials, asked, policies, arguments.slowdown, not arguments.no_adapt)
    print(json.dumps(rows, indent=2) if arguments.json else as_table(rows))
