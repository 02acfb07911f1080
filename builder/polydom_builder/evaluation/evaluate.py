"""The evaluation of a bundle on labelled items."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.exceptions import ExportError
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.commands.tally import LATE_BY, late_class, named_late
from polydom_runtime.items.digests import SeenItems
from polydom_runtime.prediction import Policy, Prediction, policy_for
from polydom_runtime.records.answer_scores import late_label

from .baselines import Baselines, shipped
from .evaluation import AtDeadline, Bin, Evaluation, Part, Timing
from .judging import ItemNumbers, Judged
from .labelled import Labelled, check_labels
from .predictions import AnswerItems, planned_answers

OF_ELAPSED = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


def evaluate(
    bundle: Bundle,
    test: Labelled,
    deadlines: Sequence[float],
    *,
    policy: Policy = "anytime",
    answering: AnswerItems | None = None,
    baselines: Baselines | None = None,
    n_bands: int = 4,
) -> Evaluation:
    """Compare the answers of a bundle to labelled items with the truth, by deadline and by size.

    `bundle`: the bundle as it was read: what `PolyDomSearch.export` returns has no models in it. `test`: items that the
    bundle was not built with. `deadlines`: seconds. `answering`: the function that times the answers, by the same
    policy; nothing is timed without it. `baselines`: the baselines; by default those that the models of the bundle
    allow. `n_bands`: the most bands of sizes.

    Raises `ItemError` if the labels are not such as the bundle answers with.
    """
    check_labels(bundle, test.labels)
    seen = SeenItems(bundle.references.seen)
    for item in test.items:
        seen.add(item)
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
        told = {"node": in_time(bundle, timed)} if timed is not None else {}
        told |= {"planned": [a.label for a in planned]}
        told |= {"single": baselines.single(deadline), "cheap_first": baselines.cheap_first(deadline)}
        judged = {name: Judged(bundle, labels, test.labels, test.groups) for name, labels in told.items()}
        parts = Parts(judged, timed or planned, test.sizes, deadline, is_timed=timed is not None)
        row = bundle.times.outlook_at(deadline)
        return AtDeadline(deadline, parts.of(everything), tuple(map(parts.of, bands)), row and row.score)

    identity, scoring, found = bundle.identity, bundle.promise.scoring, tuple(map(at, deadlines))
    about = identity.name, identity.version, bundle.sha256, scoring, policy, bundle.promise.late
    return Evaluation(*about, bundle.space.classes, found, seen.share)


def in_time(bundle: Bundle, answers: Sequence[Prediction]) -> list[Any]:
    """Return the labels of answers, with what counts in place of each late one."""
    late = late_label(bundle)
    return [answer.label if answer.deadline_met else late for answer in answers]


def size_bands(sizes: Sequence[float], count: int) -> list[NDArray[np.intp]]:
    """Return the positions of the items of each band, by rising size; none if all sizes are the same.

    The bands hold about the same number of items each; items of one size are in one band.

    >>> [band.tolist() for band in size_bands([9.0, 1.0, 2.0, 8.0], 2)]
    [[1, 2], [0, 3]]
    """
    n = np.asarray(sizes, dtype=np.float64)
    edges = np.unique([*np.quantile(n, np.linspace(0.0, 1.0, count + 1), method="higher")[:-1], np.inf])
    bands = [np.flatnonzero((low <= n) & (n < high)) for low, high in pairwise(edges.tolist())]
    return bands if len(bands) > 1 else []


@dataclass(frozen=True, slots=True)
class Parts:
    """Sums up parts of the answers at one deadline."""

    systems: Mapping[str, Judged]
    """The answers of each system, by its name; the first ones are `answers`."""
    answers: Sequence[Prediction]
    sizes: Sequence[float]
    """`answers`, `sizes`: shape (n_items,), in the order of the items."""
    deadline: float
    """Seconds."""
    is_timed: bool
    """Whether the times of the answers are real ones."""

    def of(self, chosen: ItemNumbers) -> Part:
        """Return the part of the items at these positions."""
        own = next(iter(self.systems.values()))
        answers = [self.answers[k] for k in chosen.tolist()]
        sizes = [self.sizes[k] for k in chosen.tolist()]
        sure = [a.confidence if a.deadline_met or not self.is_timed else None for a in self.answers]
        reliability = own.reliability(chosen, sure)
        return Part(
            sizes=(min(sizes), max(sizes)),
            items=len(answers),
            systems={name: judged.score(chosen) for name, judged in self.systems.items()},
            prior=sum(not a.features for a in answers),
            sets=_counted("+".join(a.features) for a in answers),
            abstained=sum(a.label is None for a in answers),
            confusion=own.confusion(chosen),
            reliability=reliability,
            calibration_error=mean_gap(reliability),
            timing=self._timing(answers) if self.is_timed else None,
        )

    def _timing(self, answers: Sequence[Prediction]) -> Timing:
        elapsed = np.array([a.elapsed_ns for a in answers]) * 1e-9
        met = np.array([a.deadline_met for a in answers])
        late = np.bincount(
            [late_class(s) for s in (elapsed[~met] / self.deadline).tolist()], minlength=len(LATE_BY) + 1
        )
        quantiles = dict(zip(OF_ELAPSED, np.quantile(elapsed, list(OF_ELAPSED.values())).tolist(), strict=True))
        return Timing(
            late=int(late.sum()),
            late_by=named_late(late.tolist()),
            elapsed=quantiles,
            elapsed_share={name: seconds / self.deadline for name, seconds in quantiles.items()},
            reasons=_counted(a.reason for a in answers),
        )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())


def mean_gap(bins: Sequence[Bin]) -> float | None:
    """Return how far confidences are from shares of right answers, in the mean over answers; None without answers.

    Examples
    --------
    >>> round(mean_gap([Bin(0.8, 0.9, 30, 0.85, 0.75), Bin(0.9, 1.0, 10, 0.95, 0.99)]), 3)
    0.085
    """
    n_items = sum(one.items for one in bins)
    return sum(abs(one.confidence - one.right) * one.items for one in bins) / n_items if n_items else None
