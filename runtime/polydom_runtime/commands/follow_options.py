"""The options of ``polydom-node run`` for new bundles, which it takes over while it runs."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.references import restored
from polydom_runtime.exceptions import LoopError
from polydom_runtime.prediction import AnyPredictor
from polydom_runtime.predictor import Predictor

from .terminal import say
from .tuned_bundle import trust_of

if TYPE_CHECKING:
    from polydom_runtime.delivery.following_predictor import FollowingPredictor, Single


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of updates to ``run``."""
    group = command.add_argument_group("updates")
    group.add_argument(
        "--follow",
        action="store_true",
        help="take over the bundle that is put in the place of BUNDLE, between two items; SIGHUP looks for it at once",
    )
    group.add_argument(
        "--trial",
        type=int,
        default=1000,
        metavar="N",
        help="the number of answers by a new bundle after which it stays; if too many of them are late or fail, the "
        "bundle before answers again (default 1000; 0: every new bundle stays)",
    )


def check_arguments(arguments: argparse.Namespace) -> None:
    """Check that the options can hold together.

    Raises `LoopError` if they cannot.
    """
    if arguments.follow and arguments.tune is not None:
        raise LoopError("--follow must be without --tune: a tune is of one bundle. Leave one out.")
    if arguments.trial < 0:
        raise LoopError(f"--trial must be at least 0. Got {arguments.trial}.")


def following(
    arguments: argparse.Namespace, first: "Single", make: "Callable[[argparse.Namespace], Single]"
) -> "FollowingPredictor":
    """Return a predictor that takes over new bundles.

    `make`: makes a predictor as `arguments` ask for it.
    """
    from polydom_runtime.delivery.check import check_bundle  # only here, since most nodes follow nothing
    from polydom_runtime.delivery.following_predictor import FollowingPredictor
    from polydom_runtime.delivery.releases import CURRENT
    from polydom_runtime.delivery.rollback import roll_back

    def make_another() -> "Single":
        bundle = load_bundle(arguments.bundle, trust_of(arguments))
        # From here on it is in memory: what is checked is what answers, whatever the folder holds by then.
        later = {**vars(arguments), "deadline": first.deadline, "bundle": bundle, "trust": None}
        if not arguments.supervised:
            options = {"deadline": first.deadline, "policy": arguments.policy}
            more = {"compare": arguments.compare, "trust": arguments.trust}
            check_bundle(arguments.bundle, bundle.sha256, arguments.space, options, **more)
            later["compare"] = False  # it has been compared
        new = make(argparse.Namespace(**later))
        if not isinstance(new, Predictor):
            for item in new.bundle.references.items[:1]:
                new.warm_up(restored(item))
        return new

    def put_back(digest: str) -> None:
        """Let the next start use the bundle before, too, if the bundle is the current release of a folder of them."""
        folder = Path(arguments.bundle)
        if folder.name == CURRENT and folder.is_symlink():
            load = partial(load_bundle, trust=trust_of(arguments))
            say(f"rolled back to {roll_back(folder.parent, expected=digest, load=load).digest[:12]}")

    return FollowingPredictor(first, arguments.bundle, make_another, trial=arguments.trial, on_sent_back=put_back)


def follows(predictor: AnyPredictor) -> "TypeGuard[FollowingPredictor]":
    """Tell whether a predictor takes over new bundles."""
    return hasattr(predictor, "on_slack")
