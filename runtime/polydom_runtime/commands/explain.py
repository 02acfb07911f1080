"""``polydom-node explain``: tell how the answer to one item comes about."""

import argparse
from itertools import islice
from typing import Any

from polydom_runtime.exceptions import ItemError
from polydom_runtime.explaining.text import explanation_text
from polydom_runtime.items.json_lines import UNREADABLE
from polydom_runtime.items.sources import Arrived, iterate, space_of
from polydom_runtime.predictor import Predictor

from .arguments import add_deadline, add_trust, add_tune
from .outcome import Outcome
from .terminal import show
from .tuned_bundle import bundle_of


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``polydom-node explain``."""
    command.add_argument("bundle", metavar="BUNDLE", help="the bundle folder")
    command.add_argument("space", metavar="MODULE:SPACE", help="the feature space of the bundle")
    command.add_argument(
        "--item", required=True, metavar="ITEMS#i", help="item i, from 0, of a packed .npz file or MODULE:FUNCTION"
    )
    add_deadline(command)
    add_tune(command)
    add_trust(command)


def run(arguments: argparse.Namespace) -> Outcome:
    """Answer the item, with warm code, and print the explanation.

    Raises `ItemError` if there is no such item. Raises `PolyDomError` if the bundle or the feature space cannot be
    used.
    """
    item, space = item_of(arguments.item), space_of(arguments.space)
    predictor = Predictor(bundle_of(arguments), space, deadline=arguments.deadline, policy=arguments.policy)
    predictor.warm_up(item)
    found = predictor.explain(item)
    show(explanation_text(found))
    return Outcome(found)


def item_of(reference: str) -> Any:
    """Return the item that ``ITEMS#i`` names.

    Raises `ItemError` if it names none.
    """
    source, _, number = reference.rpartition("#")
    if not source or not number.isdecimal():
        raise ItemError(f"The item must be written ITEMS#i, such as test.npz#0. Got {reference!r}.")
    items = (item for item, _ in iterate(source) if item is not None and item is not UNREADABLE)
    for item in islice(items, int(number), None):
        return item.item if isinstance(item, Arrived) else item
    raise ItemError(f"{source} must have more than {number} items. It has fewer. Give a smaller number.")
