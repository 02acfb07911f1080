"""New bundles, which ``polydom-node run --follow`` takes over while it runs."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.references import restored
from polydom_runtime.delivery.check import try_bundle
from polydom_runtime.delivery.following_predictor import FollowingPredictor, Single
from polydom_runtime.delivery.releases import CURRENT
from polydom_runtime.delivery.rollback import roll_back
from polydom_runtime.predictor import Predictor

from .bundle_options import loader_of, trust_of
from .terminal import say

if TYPE_CHECKING:
    from polydom_runtime.learning.learned_file import Learned


def following(arguments: Namespace, first: Single, make: Callable[[Namespace], Single]) -> FollowingPredictor:
    """Return a predictor that takes over new bundles; `make` makes a predictor as `arguments` ask for it."""

    def make_another(learned: "Learned | None") -> Single:
        bundle = load_bundle(arguments.bundle, trust_of(arguments))
        # From here on it is in memory: what is checked is what answers, whatever the folder holds by then.
        later = {**vars(arguments), "deadline": first.deadline, "bundle": bundle, "trust": None}
        later["learned"] = learned
        if not arguments.supervised:
            options = {"deadline": first.deadline, "policy": arguments.policy}
            more = {"compare": arguments.compare, "trust": arguments.trust}
            try_bundle(arguments.bundle, bundle.sha256, arguments.space, options, **more)
            later["compare"] = False  # it has been compared
        new = make(Namespace(**later))
        if not isinstance(new, Predictor):
            for item in new.bundle.references.items[:1]:
                new.warm_up(restored(item))
        return new

    def put_back(digest: str) -> None:
        """Let the next start use the bundle before, too, if the bundle is the current release of a folder of them."""
        folder = Path(arguments.bundle)
        if folder.name == CURRENT and folder.is_symlink():
            done = roll_back(folder.parent, expected=digest, load=loader_of(arguments))
            say(f"rolled back to {done.digest[:12]}")

    return FollowingPredictor(first, arguments.bundle, make_another, trial=arguments.trial, on_sent_back=put_back)
