"""The evaluation of a bundle on labelled items."""

from collections.abc import Sequence

import numpy as np

from polydom_builder.exceptions import ExportError
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.prediction import Policy, policy_for

from .answering import Answering
from .bands import size_bands
from .baselines import Baselines, shipped
from .evaluation import AtDeadline, Evaluation
from .judging import Judged
from .labelled import Labelled
from .parts import Parts
from .planned import planned_answers


def evaluate(
    bundle: Bundle,
    test: Labelled,
    deadlines: Sequence[float],
    *,
    policy: Policy = "anytime",
    answering: Answering | None = None,
    baselines: Baselines | None = None,
    n_bands: int = 4,
) -> Evaluation:
    """Compare the answers of a bundle to labelled items with the truth, by deadline and by size.

    `bundle`: as it was read: what `PolyDomSearch.export` returns has no models in it. `test`: items that the bundle was
    not built with. `deadlines`: seconds. `answering`: what times the answers, such as `here` or `Node.answering`, with
    the same policy. Nothing is timed if not given. `baselines`: those that the models of the bundle allow, if not
    given. `n_bands`: into how many bands of sizes the items are divided, at most.

    Raises `DeadlineError` if a deadline is shorter than dispatch alone takes. Raises `ExportError` if a node cannot
    answer the items.
    """
    policy, baselines = policy_for(bundle, policy), baselines or shipped(bundle, test)
    everything, bands = np.arange(len(test.items)), size_bands(test.sizes, n_bands)

    def at(deadline: float) -> AtDeadline:
        planned = planned_answers(bundle, test, deadline, policy)
        timed = None if answering is None else answering(deadline)
        if timed is not None and len(timed) != len(test.items):
            raise ExportError(
                f"The node must answer all {len(test.items)} items. It answered {len(timed)}. Give a source that "
                "yields the same items each time."
            )
        told = {"node": [a.label for a in timed]} if timed is not None else {}
        told |= {"planned": [a.label for a in planned]}
        told |= {"single": baselines.single(deadline), "cheap_first": baselines.cheap_first(deadline)}
        judged = {name: Judged(bundle, labels, test.labels, test.groups) for name, labels in told.items()}
        parts = Parts(judged, timed or planned, test.sizes, deadline, is_timed=timed is not None)
        return AtDeadline(deadline, parts.of(everything), tuple(map(parts.of, bands)))

    identity = bundle.identity
    return Evaluation(
        identity.name,
        identity.version,
        bundle.sha256,
        bundle.promise.scoring,
        policy,
        bundle.space.classes,
        tuple(map(at, deadlines)),
    )
