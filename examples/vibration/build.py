"""The host's part: two bundles from the same windows, one that knows what errors cost and one that counts them."""

from collections.abc import Sequence
from pathlib import Path

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polydom_builder import AnswerRules, PolyDomSearch, SearchLimits
from polydom_runtime import Bundle, CostSamples

from .features import space
from .machine import HITS, SOUND, Signal

QUANTILE = 0.99  # a desktop or a virtual machine also does other work, so one answer in 100 may be late
MISS, WRONG_PART, FALSE_ALARM = 20.0, 2.0, 1.0
COSTS_OF_ERRORS = {
    **{(fault, SOUND): MISS for fault in HITS},  # (true label, said label): cost
    **{(SOUND, fault): FALSE_ALARM for fault in HITS},
    **{(fault, other): WRONG_PART for fault in HITS for other in HITS if other != fault},
}


def build(
    folder: Path,
    windows: tuple[Sequence[Signal], Sequence[str], Sequence[int]],
    costs: CostSamples,
    deadline: float,
    costs_of_errors: dict[tuple[str, str], float] | None,
    trainings: int,
) -> Bundle:
    """Search and export a bundle.

    `folder`: of the bundle. `windows`: the machine is the group: a bundle has to do well on machines that it has not
    heard. `costs`: the times of the features on the node. `deadline`: seconds. `costs_of_errors`: if not given, all
    errors are alike. `trainings`: the most feature sets to train.
    """
    items, labels, groups = windows
    search = PolyDomSearch(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        space,
        deadline=deadline,
        answers=AnswerRules(costs_of_errors=costs_of_errors),
        cv=3,
        quantile=QUANTILE,
        limits=SearchLimits(max_trainings=trainings),
        memory=str(folder.parent / "cache"),
    )
    search.fit(items, labels, groups=groups, costs=costs)
    return search.export(folder, name=folder.stem)
