"""``polydom compare``: what changed between two bundles or two costs files."""

import argparse

from polydom_builder.comparison import Limits, compare_files
from polydom_runtime.commands.arguments import positive
from polydom_runtime.commands.exit_code import ExitCode
from polydom_runtime.commands.outcome import Outcome

from .arguments import loss
from .comparison_tables import print_comparison
from .tables import print_text


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom compare``."""
    command.add_argument("before", metavar="BEFORE", help="the old bundle folder or costs file")
    command.add_argument("after", metavar="AFTER", help="the new one, of the same kind")
    command.add_argument(
        "--max-score-loss",
        type=loss,
        metavar="LOSS",
        help="exit with 1 if the score of an answer falls by more, such as 0.01 (bundles only)",
    )
    command.add_argument(
        "--max-time-growth",
        type=positive,
        metavar="RATIO",
        help="exit with 1 if a time grows by a larger ratio, such as 1.1, and by more than noise if that is known",
    )
    command.add_argument(
        "--max-size-growth",
        type=positive,
        metavar="RATIO",
        help="exit with 1 if the bytes of all models grow by a larger ratio, such as 1.2 (bundles only)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    """Print what changed; exit code 1 if it is worse than allowed, with a line for each excess.

    Raises `PolyDomError` if a file is not sound, or the two cannot be compared.
    """
    found = compare_files(arguments.before, arguments.after)
    limits = Limits(arguments.max_score_loss, arguments.max_time_growth, arguments.max_size_growth)
    exceeded = limits.exceeded(found)
    print_comparison(found)
    if exceeded:
        print_text("\n".join(f"exceeded: {line}" for line in exceeded))
    return Outcome({**found.as_dict(), "exceeded": exceeded}, ExitCode.WRONG if exceeded else ExitCode.DONE)
