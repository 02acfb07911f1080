"""The part of the demo that sleeps: the node answers items in a loop at a fixed period, and the same ones at once."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polydom_builder.evaluation.answering import Node
from polydom_runtime.items.packed import write_packed

LOOP_ITEMS = "loop.npz"
"""The name of the file of these items."""


class Pace(NamedTuple):
    """The loop of the demo."""

    period: float = 0.02
    """Seconds from one item to the next."""
    items: int = 250
    """The number of test items that it answers."""


class Looped(NamedTuple):
    """The results of the loop at one deadline."""

    items: int
    late: int
    in_time: float
    """The share of answers that were right and in time."""
    at_once: float
    """The same for the same items without sleeps between them."""
    rehearsing: float
    """The share of the time that was spent on rehearsals."""


def write_loop_items(out: Path, items: list[Any], labels: list[Any], count: int) -> list[Any]:
    """Write some of the items, drawn at random, for `run_loop`; return their labels."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(items))[:count]).tolist()
    some = [labels[k] for k in chosen]
    write_packed(out / LOOP_ITEMS, [items[k] for k in chosen], some)
    return some


def run_loop(node: Node, items: Path, deadline: float, pace: Pace, labels: list[Any]) -> Looped | None:
    """Answer the items in a loop, and once more without sleeps; None if the deadline is not shorter than the period.

    Raises `ExportError` if the node cannot run the bundle.
    """
    if deadline >= pace.period:
        return None
    answers, summary = node.run(items, deadline, period=pace.period)
    at_once, _ = node.run(items, deadline)
    late = sum(not answer["deadline_met"] for answer in answers)
    share = float(summary["loop"]["rehearsals"]["share"])
    return Looped(len(answers), late, _right_and_in_time(answers, labels), _right_and_in_time(at_once, labels), share)


def _right_and_in_time(answers: list[dict[str, Any]], labels: list[Any]) -> float:
    """Return the share of right answers in time; an item that was skipped counts as wrong."""
    right = sum(bool(answer["deadline_met"] and answer["label"] == labels[answer["item"]]) for answer in answers)
    return right / len(labels)
