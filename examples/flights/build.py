"""The host's part: a bundle for a range of deadlines, whose answers say how sure they are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polydom_builder import AnswerRules, PolyDomSearch, SearchLimits
from polydom_runtime import Bundle, FeatureSpace, load_bundle, measure


def build(
    folder: Path,
    space: FeatureSpace,
    windows: tuple[Sequence[Any], Sequence[str], Sequence[Any] | None],
    deadlines: Sequence[float],
    seconds: float,
    trainings: int,
    scoring: str = "accuracy",
) -> Bundle:
    """Measure the features here, search, and export a bundle.

    `folder`: of the bundle. `windows`: the flight is the group: a bundle has to do well on flights that it has not
    seen. `deadlines`: seconds, rising. `seconds`: for the measurement. `trainings`: the most feature sets to train.
    """
    items, labels, groups = windows
    search = PolyDomSearch(
        make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=1000)),
        space,
        deadline=(deadlines[0], deadlines[-1]),
        scoring=scoring,
        cv=3,
        quantile=0.99,  # a desktop or a virtual machine also does other work, so one answer in 100 may be late
        answers=AnswerRules(confidence=True),
        limits=SearchLimits(max_trainings=trainings),
        memory=str(folder.parent / "cache"),
    )
    search.fit(items, labels, groups=groups, costs=measure(space, items, seconds=seconds, quantile=0.99))
    search.export(folder, name=folder.stem)
    return load_bundle(folder)
