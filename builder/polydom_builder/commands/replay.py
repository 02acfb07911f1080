"""``polydom replay``: show the answers that a bundle would have given in a flight recording."""

import argparse

from polydom_builder.simulation.flights import flown, trials_of_flight
from polydom_builder.simulation.report import POLICIES, rehearse
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.costs import format_seconds
from polydom_runtime.records.flight_file import load_flight

from .arguments import add_replaying
from .rehearsal_table import print_rehearsal
from .tables import print_text


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom replay``."""
    command.add_argument("file", metavar="FLIGHT", help="the file that polydom-node run --record wrote")
    command.add_argument(
        "--bundle", required=True, metavar="BUNDLE", help="the bundle folder, which need not be that of the recording"
    )
    add_replaying(command, deadlines="the recorded one", slower_than="the recording")


def run(arguments: argparse.Namespace) -> Outcome:
    """Answer the recorded items once more on a virtual clock; print the results beside the recorded ones.

    Raises `BundleFormatError`, `RecordingError` if the bundle or the recording is not sound. Raises `FitError` if the
    recording shares no feature with the bundle, or has no item with a size.
    """
    bundle, flight = load_bundle(arguments.bundle), load_flight(arguments.file)
    trials = trials_of_flight(bundle, flight)
    policies = POLICIES if arguments.policy is None else (arguments.policy,)
    asked = arguments.deadline or [flight.header.deadline]
    rows = rehearse(bundle, trials, asked, policies, slowdown=arguments.slowdown)
    recorded = flown(flight)
    deadline = format_seconds(recorded["deadline"])
    print_text(
        f"recorded: {recorded['items']} items at {deadline}, {recorded['policy']}: {recorded['missed']} missed, "
        f"slow-down up to {recorded['slowdown']:.2f}\n"
    )
    print_rehearsal(rows)
    return Outcome({"recorded": recorded, "replayed": rows})
