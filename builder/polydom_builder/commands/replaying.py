"""The options of commands that replay recorded times on a virtual clock, and the table of their answers."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from polydom_builder.simulation.policies import POLICIES
from polydom_runtime.commands.arguments import positive
from polydom_runtime.commands.options import Option
from polydom_runtime.costs import format_seconds
from polydom_runtime.prediction import Policy
from polydom_runtime.tables import TextTable

from .deadlines import deadlines_option
from .tables import print_table, print_text

COLUMNS = ("#deadline", "policy", "#expected score", "#oracle", "#missed", "#items", "#p50", "#p99", "#slow-down")

NOTES = """\
Expected score: mean score, on held-out items, of the models that answered; a late answer counts as 0.
Oracle: the best model for each item, chosen with all real times known in advance.
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
    print_table(TextTable("answers by deadline and policy", COLUMNS, [*map(_cells, rows)]))
    print_text(NOTES)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    scores = f"{row['score']:.4f}", f"{row['oracle']:.4f}"
    times = (*(f"{row['elapsed_share'][q]:.2f}" for q in ("p50", "p99")), f"{row['slowdown']:.2f}")
    return format_seconds(row["deadline"]), row["policy"], *scores, str(row["missed"]), str(row["items"]), *times
