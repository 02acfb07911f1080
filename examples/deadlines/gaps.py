"""The gap between the oracle and any-time at the shortest deadlines, now and before."""

from collections.abc import Sequence

import numpy as np

from examples.paper.results import Row, column, where

from .markdown import markdown_table
from .replay import ANY_TIME, BEFORE, ORACLE

N_SHORTEST = 3

GAP_HEAD = ("task", "back to back: before", "now", "at a period: before", "rehearsed", "not rehearsed")


def mean_gap(rows: Sequence[Row], system: str, kind: str = "estimated") -> float:
    """Return how far a system is below the oracle in a task at the shortest deadlines; NaN if it was not replayed.

    >>> pairs = {0.1: 0.6, 0.2: 0.5, 0.3: 0.4, 0.4: 0.0}
    >>> rows = [{"system": "oracle", "deadline": d, "estimated": 0.9} for d in pairs]
    >>> rows += [{"system": "any-time", "deadline": d, "estimated": 0.9 - gap} for d, gap in pairs.items()]
    >>> round(mean_gap(rows, "any-time"), 3)
    0.5
    """
    shortest = sorted(set(column(rows, "deadline")))[:N_SHORTEST]
    best, ours = (
        [float(row[kind]) for row in where(rows, system=name) if row["deadline"] in shortest]
        for name in (ORACLE, system)
    )
    return float(np.mean(np.array(best) - np.array(ours))) if ours else float("nan")


def gaps(rows: Sequence[Row], kind: str = "estimated") -> list[tuple[str, list[float]]]:
    """Return for each task its gaps, in the order of `GAP_HEAD`, and then their mean over the tasks.

    An earlier version did not rehearse. At a period its bundles are replayed with the times after a sleep, so its gap
    is that to the oracle with these times.
    """
    wanted = (("hot", BEFORE), ("hot", ANY_TIME), ("cold", BEFORE), ("rehearsed", ANY_TIME), ("cold", ANY_TIME))
    found = [
        (name, [mean_gap(where(rows, task=name, regime=regime), system, kind) for regime, system in wanted])
        for name in dict.fromkeys(str(row["task"]) for row in rows)
    ]
    return [*found, ("mean", np.mean([values for _, values in found], axis=0).tolist())]


def gap_table(rows: Sequence[Row], kind: str = "estimated") -> str:
    """Return the gaps as Markdown, in points of score."""
    lines = [(name, *("–" if np.isnan(v) else f"{100 * v:.1f}" for v in values)) for name, values in gaps(rows, kind)]
    return markdown_table(GAP_HEAD, lines)
