"""Checks at every deadline: nobody is ahead of any-time, and answers are late at most as promised."""

from collections.abc import Sequence

import numpy as np

from examples.paper.results import Row, where
from polydom_runtime.costs import format_seconds

from .gaps import gaps
from .markdown import markdown_table
from .measuring import QUANTILE
from .replay import ANY_TIME, CHECKED, NO_ESTIMATE, STRICT
from .systems import LAMBDAS

MOST_BELOW = 0.005
"""Half a point of promised score: to be below another system by that is noise."""

MOST_LEFT = 2 / 3
"""The share of the earlier gap to the oracle that may be left."""

HEAD = ("what must hold", "regime", "deadlines", "broken at")


def check_table(rows: Sequence[Row]) -> str:
    """Return all checks as Markdown; in the last column, every deadline at which one is broken."""
    lines: list[Sequence[str]] = []
    for regime in dict.fromkeys(str(row["regime"]) for row in rows):
        mine = where(rows, regime=regime)
        n_deadlines = str(len(where(mine, system=ANY_TIME)))
        for other in (STRICT, *LAMBDAS, NO_ESTIMATE):
            what = f"any-time is at most {100 * MOST_BELOW:g} points below {other}"
            lines.append((what, regime, n_deadlines, _listed(below(mine, other))))
        for system in CHECKED:
            what = f"at most {100 * (1 - QUANTILE):.2g} % of the answers of {system} are late"
            lines.append((what, regime, n_deadlines, _listed(late(mine, system))))
    for what, before, now in shrunk(rows):
        held = "nowhere" if now <= MOST_LEFT * before else f"{now / before:.0%} left"
        lines.append(("at least a third less of the gap to the oracle", what, "3 shortest", held))
    return markdown_table(HEAD, lines)


def below(rows: Sequence[Row], other: str) -> list[str]:
    """Return where any-time is promised less than another system, and by how much."""
    found = []
    for mine, theirs in zip(where(rows, system=ANY_TIME), where(rows, system=other), strict=True):
        lead = float(theirs["estimated"]) - float(mine["estimated"])
        if lead > MOST_BELOW:
            found.append(f"{_place(mine)} by {100 * lead:.1f}")
    return found


def late(rows: Sequence[Row], system: str) -> list[str]:
    """Return where more answers of a system are late than promised."""
    return [
        f"{_place(row)}: {row['late']} of {row['answers']}"
        for row in where(rows, system=system)
        if float(row["late"]) > (1.0 - QUANTILE) * float(row["answers"]) + 1e-9
    ]


def shrunk(rows: Sequence[Row]) -> list[tuple[str, float, float]]:
    """Return the mean gaps to the oracle before and now, hot and at a period, where they were replayed."""
    _, (hot_before, hot, cold_before, rehearsed, _) = gaps(rows)[-1]
    pairs = [("hot", hot_before, hot), ("at a period", cold_before, rehearsed)]
    return [(what, before, now) for what, before, now in pairs if not np.isnan(before - now)]


def _place(row: Row) -> str:
    return f"{row['task']} {format_seconds(float(row['deadline']))}"


def _listed(places: Sequence[str]) -> str:
    return "; ".join(places) or "nowhere"
