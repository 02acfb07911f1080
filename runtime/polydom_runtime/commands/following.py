"""New bundles, which ``polydom-node run --follow`` takes over while it runs."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.references import restored
from polydom_runtime.delivery.check import try_bundle
from polydom_runtime.delivery.following_predictor import FollowingPredictor, Single
from polydom_runtime.delivery.on_trial import NOT_KEPT, begin, on_trial, proved_before, root_of, take_back
from polydom_runtime.delivery.releases import current_digest, release_path
from polydom_runtime.delivery.rollback import roll_back
from polydom_runtime.exceptions import PolyDomError
from polydom_runtime.predictor import Predictor

from .bundle_options import loader_of, trust_of
from .terminal import say

if TYPE_CHECKING:
    from polydom_runtime.learning.learned_file import Learned


def following(arguments: Namespace, make: Callable[[Namespace], Single]) -> FollowingPredictor:
    """Return a predictor that takes over new bundles; `make` makes a predictor as `arguments` ask for it."""
    first, before, counted = _first(arguments, make)

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

    def put_back(digest: str, now: str) -> None:
        """Let the next start use the bundle that answers now, too, if they are releases."""
        if (root := root_of(arguments.bundle)) is not None:
            _roll_back(arguments, root, digest, now)

    made = FollowingPredictor(first, arguments.bundle, make_another, trial=arguments.trial, on_sent_back=put_back)
    made.resume_trial(before, counted=counted)
    return made


def _first(arguments: Namespace, make: Callable[[Namespace], Single]) -> tuple[Single, Single | None, bool]:
    """Make the first predictor, and if its release is on trial, the one to go back to; tell whether a start is counted.

    A release that is on trial may end this process, too, so its start is counted first. One that cannot be used, or has
    ended too many, is passed over.
    """
    root = root_of(arguments.bundle) if arguments.trial else None
    if root is None or current_digest(root) not in on_trial(root) or (proved := proved_before(root)) is None:
        return make(arguments), None, False
    try:
        before = make(Namespace(**{**vars(arguments), "bundle": str(release_path(root, proved))}))
    except PolyDomError as e:
        say(f"the current release is on trial, and the one before cannot be used instead. {e}")
        return make(arguments), None, False
    digest, known = "", None
    try:
        digest, known = begin(root)
    except PolyDomError as e:
        say(f"{NOT_KEPT}. {e}")
    try:
        if known is not None and known.failure:
            say(f"{digest[:12]} is not used: {known.failure}")
            _roll_back(arguments, root, digest, proved)
            return before, None, False
        try:
            return make(Namespace(**{**vars(arguments), "deadline": before.deadline})), before, known is not None
        except BaseException:  # also a signal
            if known is not None:
                take_back(root, digest, known, known.answers)
            raise
    except PolyDomError as e:
        say(f"{proved[:12]} answers, the release before the current one. {e}")
        return before, None, False


def _roll_back(arguments: Namespace, root: Path, failed: str, now: str) -> None:
    done = roll_back(root, to=now, expected=failed, load=loader_of(arguments))
    say(f"rolled back to {done.digest[:12]}")
