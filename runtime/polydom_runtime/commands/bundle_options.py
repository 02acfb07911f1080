"""The options of commands that use a bundle, and the bundle that they name."""

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle, loaded

from .arguments import duration, runs
from .options import Option

if TYPE_CHECKING:
    from polydom_runtime.learning.learned_file import Learned
    from polydom_runtime.trust.trust import Trust

BUNDLE = Option("bundle BUNDLE", "the bundle folder")
SPACE = Option("space MODULE:SPACE", "the feature space of the bundle")
PLAN = (
    Option("--deadline", "the deadline of each item, such as 2ms (default: the bundle's longest)", duration),
    Option(
        "--policy",
        "the use of the time: anytime plans again after each feature, strict plans once, by worst cases (default "
        "anytime)",
        default="anytime",
        choices=("anytime", "strict"),
    ),
)
RUNS = Option(
    "--late-at-most m/K",
    "the number of late answers that are allowed among any K in a row, such as 1/20 (default: only the share of late "
    "answers is limited)",
    runs,
)
LEARNED = Option(
    "--learned NAME.learned",
    "the file of what was learned on this machine, with which plans begin (default: the times of the bundle)",
)
TRUST = Option(
    "--trust KEYS",
    "a file of public keys, one of which must have signed the bundle; may be given several times (default: the files "
    "that POLYDOM_TRUST names, or no signature is needed)",
    action="append",
)
ANSWERS = (
    *(BUNDLE, SPACE),
    Option(
        "--items ITEMS",
        "the items: a packed .npz file, MODULE:FUNCTION, or - for lines of JSON on standard input",
        required=True,
    ),
    *(*PLAN, LEARNED, TRUST),
)


def bundle_of(arguments: Namespace) -> Bundle:
    """Read the bundle of a command, unless it is loaded already."""
    return loaded(arguments.bundle, trust_of(arguments))


def learned_of(arguments: Namespace, bundle: Bundle) -> "Learned | None":
    """Return what the file of a command holds of this machine, if it names one that does; or what is loaded already."""
    if not isinstance(arguments.learned, str):
        return cast("Learned | None", arguments.learned)
    from polydom_runtime.learning.learned_file import recalled_from  # only here: most nodes begin as shipped

    kept = recalled_from(arguments.learned, bundle)
    return None if kept is None else kept.learned


def trust_of(arguments: Namespace) -> "Trust | None":
    """Read the trusted keys of a command; None if it names no file of them."""
    if arguments.trust is None:
        return None
    from polydom_runtime.trust.trust import Trust  # only here, since most nodes demand no signature

    return Trust.from_files(arguments.trust)


def loader_of(arguments: Namespace) -> Callable[[Path], Bundle]:
    """Return a function that loads bundles as a command demands."""
    return partial(load_bundle, trust=trust_of(arguments))
