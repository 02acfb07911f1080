"""A rehearsal of a bundle as a table."""

from collections.abc import Sequence
from typing import Any

from polydom_runtime.costs import format_seconds

from .tables import print_table, print_text

COLUMNS = ("deadline", "policy ", "expected score", "oracle", "missed", "items", "p50", "p99", "slow-down")

NOTES = """\
Expected score: mean score, on held-out items, of the models that answered; a late answer counts as 0.
Oracle: the best model for each item, chosen with all real times known in advance.
p50, p99: of the time that elapsed, divided by the deadline."""


def print_rehearsal(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows of `rehearse`."""
    print_table("answers by deadline and policy", COLUMNS, [*map(_cells, rows)])
    print_text(NOTES)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    scores = f"{row['score']:.4f}", f"{row['oracle']:.4f}"
    times = (*(f"{row['elapsed_share'][q]:.2f}" for q in ("p50", "p99")), f"{row['slowdown']:.2f}")
    return format_seconds(row["deadline"]), row["policy"], *scores, str(row["missed"]), str(row["items"]), *times
