"""``polydom-node explain``: tell how the answer to one item comes about."""

from argparse import Namespace
from itertools import islice
from typing import Any

from polydom_runtime.exceptions import ItemError
from polydom_runtime.items.sources import bare_items, iterate, space_of
from polydom_runtime.predictor import Predictor

from .bundle_options import BUNDLE, LEARNED, PLAN, SPACE, TRUST, bundle_of, learned_of
from .options import Option
from .outcome import Outcome
from .terminal import show

OPTIONS = (
    *(BUNDLE, SPACE),
    Option("--item ITEMS#i", "item i, from 0, of a packed .npz file or MODULE:FUNCTION", required=True),
    *(*PLAN, LEARNED, TRUST),
)


def run(arguments: Namespace) -> Outcome:
    """Answer the item, with warm code, and print the explanation."""
    item, space, bundle = item_of(arguments.item), space_of(arguments.space), bundle_of(arguments)
    options = {"deadline": arguments.deadline, "policy": arguments.policy, "learned": learned_of(arguments, bundle)}
    predictor = Predictor(bundle, space, **options)
    predictor.warm_up(item)
    found = predictor.explain(item)
    show(str(found))
    return Outcome(found)


def item_of(reference: str) -> Any:
    """Return the item that ``ITEMS#i`` names."""
    source, _, number = reference.rpartition("#")
    if not source or not number.isdecimal():
        raise ItemError(f"The item must be written ITEMS#i, such as test.npz#0. Got {reference}.")
    for item in islice(bare_items(iterate(source)), int(number), None):
        return item
    raise ItemError(f"{source} must have more than {number} items. The first one is number 0. Give a smaller number.")
