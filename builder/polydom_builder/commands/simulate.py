"""``polydom simulate``: show the answers that a bundle would give on a device, by its recorded times."""

from argparse import Namespace

from polydom_builder.simulation.expected import own_deadlines
from polydom_builder.simulation.policies import compare_policies
from polydom_builder.simulation.recorded import Recorded
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.arguments import duration
from polydom_runtime.commands.bundle_options import BUNDLE
from polydom_runtime.commands.options import Needed, Option
from polydom_runtime.commands.outcome import Outcome
from polydom_runtime.commands.terminal import say
from polydom_runtime.costs import format_seconds
from polydom_runtime.describing.outlook_table import few_answers
from polydom_runtime.exceptions import LoopError
from polydom_runtime.measuring.costs_file import load_costs

from .deadlines import long_enough, say_whose
from .replaying import policies_of, print_replayed, replay_options
from .tables import print_text

OPTIONS = (
    BUNDLE,
    Option("--costs NAME.costs", "the costs file of the device, from polydom-node measure", required=True),
    *replay_options("those of the bundle's table", "the costs file"),
    Option(
        "--period",
        "simulate a loop that sleeps until each item is due, such as 20ms (default: items come back to back)",
        duration,
    ),
    Option(
        "--no-rehearse",
        "with --period: no kept items are answered right before an item",
        needs=Needed("--period", "the time between two items", LoopError),
    ),
    Option("--learn", "let the node learn from its answers (default: it keeps to the times of the bundle)"),
)


def run(arguments: Namespace) -> Outcome:
    """Replay recorded answers on a virtual clock, and print scores, late answers and times."""
    bundle, samples = load_bundle(arguments.bundle), load_costs(arguments.costs)
    regime: Regime = "hot" if arguments.period is None else "rehearsed" if arguments.rehearse else "cold"
    answers = Recorded.of(bundle, samples, regime)
    if regime != "hot":
        asleep, period = format_seconds(samples.items[regime].asleep), format_seconds(arguments.period)
        say(f"simulated with {regime} times after {asleep} asleep, for a period of {period}", "polydom")
        if regime not in bundle.regimes:
            say(f"the bundle has no {regime} times and plans with hot ones; build it again", "polydom")
    asked = long_enough(bundle, arguments.deadline or own_deadlines(bundle, regime), regime)
    say_whose(arguments.costs, samples)
    options = {"slowdown": arguments.slowdown, "learns": arguments.learn, "regime": regime}
    rows = compare_policies(bundle, answers, asked, policies_of(arguments), **options)
    print_replayed(rows)
    if doubt := few_answers(regime, answers.n_answers, bundle.promise.late):
        print_text(doubt)
    return Outcome({"rows": rows})
