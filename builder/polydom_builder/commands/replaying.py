"""The options of commands that replay recorded times on a virtual clock, and the table of their answers."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from polydom_builder.simulation.policies import POLICIES
from polydom_runtime.bundles.bundle_times import Outlook
from polydom_runtime.commands.arguments import positive
from polydom_runtime.commands.options import Option
from polydom_runtime.describing.outlook_table import COLUMNS, MEANING, outlook_cells
from polydom_runtime.prediction import Policy
from polydom_runtime.tables import TextTable

from .deadlines import deadlines_option
from .tables import print_table, print_text

FIGURES = ("#oracle", "#p50", "#p99", "#slow-down")

NOTES = f"""\
{MEANING}.
oracle: the best model for each item, chosen with all real times known in advance, without pauses.
p50, p99: of the time that elapsed, divided by the deadline."""


def replay_options(deadlines: str, recorded: str) -> tuple[Option, ...]:
    """Return the options; the help names the `deadlines` that are taken otherwise, and where times are `recorded`."""
    slower = f"the factor by which the device is slower than in {recorded} (default 1)"
    return (
        deadlines_option(deadlines),
        Option("--policy", "the policy of the node (default: both in turn)", choices=POLICIES),
        Option("--slowdown", slower, positive, 1.0),
    )


def policies_of(arguments: Namespace) -> Sequence[Policy]:
    """Return the policies that a command asks for."""
    return POLICIES if arguments.policy is None else (arguments.policy,)


def print_replayed(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows of `compare_policies`."""
    deadline, *others, _ = COLUMNS
    columns = deadline, "policy", *others, *FIGURES
    print_table(TextTable("answers by deadline and policy", columns, [*map(_cells, rows)]))
    print_text(NOTES)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    deadline, *others, _ = outlook_cells(Outlook(*(row[name] for name in Outlook._fields)))
    times = (*(f"{row['elapsed_share'][q]:.2f}" for q in ("p50", "p99")), f"{row['slowdown']:.2f}")
    return deadline, row["policy"], *others, f"{row['oracle']:.3f}", *times
