"""The results in Markdown: every system at every deadline, and the share of the possible gain that any-time makes."""

from collections.abc import Sequence

import numpy as np

from examples.paper.results import Row, column, where
from polydom_runtime.costs import format_seconds

from .checks import check_table
from .gaps import gap_table
from .markdown import rows_as_table
from .replay import ANY_TIME, NO_ESTIMATE, ORACLE, STRICT, SYSTEMS

KINDS = {
    "tested": "on the test items",
    "estimated": "as promised (the mean held-out score of the models that answered)",
}

REGIMES = {"hot": "back to back", "rehearsed": "at a period, rehearsed", "cold": "at a period, not rehearsed"}
"""The regimes in words."""

SHOWN = tuple(name for name in SYSTEMS if name != NO_ESTIMATE)
"""The columns of the tables of scores."""

FACTS_COLUMNS = (
    "*Smallest* and *largest* are item sizes. *Rounds* is how often everything was timed at twelve sizes. *Answers* is "
    "how many answers to items as they come were timed: back to back, rehearsed, not rehearsed. *Trained* is the "
    "number of feature sets that the search of Poly-Dom trained; *trained by all* also counts those of the other "
    "systems. *Candidates* and *models* are in the bundle of Poly-Dom. The *prior score* is the score without "
    "features, the *full set score* the score with all features, the *best score* that of the best trained set. "
    "*Seconds* is the time of the whole task in the run that wrote the table."
)
"""Explains the columns of the table of facts."""

MIN_GAP = 0.005
"""Half a point of score: if strict is nearer to the oracle than this, a share of the gap has no meaning."""


def as_markdown(rows: Sequence[Row], facts: Sequence[Row]) -> str:
    """Return all tables, in the order of ``docs/anytime.md``; `facts` has a row for each task."""
    names = list(dict.fromkeys(str(row["task"]) for row in rows))
    regimes = list(dict.fromkeys(str(row["regime"]) for row in rows))
    parts = ["# Score against deadline"]
    for regime in regimes:
        parts += [f"## In short: {REGIMES[regime]}", _summary(where(rows, regime=regime))]
    parts += ["## The gap to the oracle at the three shortest deadlines", gap_table(rows)]
    parts += ["## What must hold", check_table(rows), "## The scores in full"]
    for regime in regimes:
        for name in names:
            for kind, title in KINDS.items():
                mine = where(rows, task=name, regime=regime)
                parts += [f"### {name}, {REGIMES[regime]}: score {title}", _scores(mine, kind)]
    parts += ["## What was built", FACTS_COLUMNS, rows_as_table(facts)]
    return "\n\n".join(parts) + "\n"


def closed_gap(rows: Sequence[Row], kind: str) -> float:
    """Return the mean share of the gap between strict and the oracle that any-time closes in a task; NaN without a gap.

    >>> scores = {"oracle": 0.9, "any-time": 0.8, "strict": 0.7}
    >>> rows = [{"system": name, "deadline": 1.0, "tested": score} for name, score in scores.items()]
    >>> round(closed_gap(rows, "tested"), 3)
    0.5
    """
    best, ours, least = (np.array(column(where(rows, system=name), kind)) for name in (ORACLE, ANY_TIME, STRICT))
    open_gaps = best - least >= MIN_GAP
    if not open_gaps.any():
        return float("nan")
    return float(((ours - least)[open_gaps] / (best - least)[open_gaps]).mean())


def worst_loss(rows: Sequence[Row], kind: str) -> tuple[float, str]:
    """Return the largest lead of another system over any-time at any deadline, and its name; without the oracle."""
    ours = np.array(column(where(rows, system=ANY_TIME), kind))
    others = [name for name in SHOWN if name not in (ORACLE, ANY_TIME)]
    losses = {name: float((np.array(column(where(rows, system=name), kind)) - ours).max()) for name in others}
    worst = max(losses, key=losses.__getitem__)
    return losses[worst], worst


def _summary(rows: Sequence[Row]) -> str:
    lines: list[Row] = []
    for name in dict.fromkeys(str(row["task"]) for row in rows):
        mine = where(rows, task=name)
        line: Row = {"task": name}
        for kind in KINDS:
            loss, other = worst_loss(mine, kind)
            line[f"gap closed, {kind}"] = _percent(closed_gap(mine, kind))
            line[f"most below another, {kind}"] = f"{100 * loss:.1f} points ({other})" if loss > 0.0 else "never"
        for system in (ANY_TIME, STRICT):
            ours = where(mine, system=system)
            line[f"late, {system}"] = f"{sum(column(ours, 'late')):.0f} of {sum(column(ours, 'answers')):.0f}"
        lines.append(line)
    return rows_as_table(lines)


def _scores(rows: Sequence[Row], kind: str) -> str:
    lines: list[Row] = []
    for deadline in sorted({float(row["deadline"]) for row in rows}):
        here = where(rows, deadline=deadline)
        line: Row = {"deadline": format_seconds(deadline)}
        for system in SHOWN:
            (row,) = where(here, system=system)
            late = f" ({row['missed']} late)" if row["missed"] else ""
            line[system] = f"{100 * float(row[kind]):.1f}{late}"
        lines.append(line)
    return rows_as_table(lines)


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.0f} %"
