"""``polydom replay``: show the answers that a bundle would have given in a flight recording."""

from argparse import Namespace

from polydom_builder.simulation.flights import flown, recorded_flight
from polydom_builder.simulation.policies import compare_policies
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.options import Option
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.costs import format_seconds
from polydom_runtime.records.flight_file import load_flight

from .replaying import policies_of, print_replayed, replay_options
from .tables import print_text

OPTIONS = (
    Option("file FLIGHT", "the file that polydom-node run --record wrote"),
    Option("--bundle BUNDLE", "the bundle folder, which need not be that of the recording", required=True),
    *replay_options("the recorded one", "the recording"),
)


def run(arguments: Namespace) -> Outcome:
    """Answer the recorded items once more on a virtual clock; print the results beside the recorded ones."""
    bundle, flight = load_bundle(arguments.bundle), load_flight(arguments.file)
    answers, asked = recorded_flight(bundle, flight), arguments.deadline or [flight.header.deadline]
    rows = compare_policies(bundle, answers, asked, policies_of(arguments), slowdown=arguments.slowdown, learns=True)
    recorded = flown(flight)
    print_text(
        f"recorded: {recorded['items']} items at {format_seconds(recorded['deadline'])}, {recorded['policy']}: "
        f"{recorded['missed']} missed, slow-down up to {recorded['slowdown']:.2f}\n"
    )
    print_replayed(rows)
    return Outcome({"recorded": recorded, "replayed": rows})
