"""``polydom deadline``: tell which deadline is sensible for a bundle, what half of it costs, and what each one buys."""

from argparse import Namespace

from polydom_builder.exceptions import FitError
from polydom_builder.simulation.expected import with_outlook_of
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.bundle_options import BUNDLE
from polydom_runtime.commands.options import Needed, Option
from polydom_runtime.commands.outcome import ExitCode, Outcome
from polydom_runtime.describing.knee import knees, verdict
from polydom_runtime.describing.outlook_table import outlook_table, times_of_regimes
from polydom_runtime.measuring.costs_file import load_costs

from .deadlines import deadlines_option, long_enough, say_whose
from .tables import print_table, print_text

OPTIONS = (
    BUNDLE,
    Option("--costs NAME.costs", "the costs file of a device (default: the times that the bundle was built with)"),
    deadlines_option("those of the bundle's table", Needed("--costs", "the times to replay at them", FitError)),
)


def run(arguments: Namespace) -> Outcome:
    """Print the knee of each regime, and the table that it is from."""
    bundle = load_bundle(arguments.bundle)
    asked = arguments.deadline or ()
    if arguments.costs:
        say_whose(arguments.costs, samples := load_costs(arguments.costs))
        bundle = with_outlook_of(bundle, samples, asked and long_enough(bundle, asked))
    print_text("\n".join([*verdict(bundle), ""]))
    found = knees(bundle)
    print_table(outlook_table(bundle))
    tables = {regime: times.outlook for regime, times in times_of_regimes(bundle).items()}
    return Outcome({"knees": found, "outlook": tables}, ExitCode.DONE if found else ExitCode.WRONG)
