"""The answers to some of the items, summed up."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polydom_runtime.commands.tally import LATE_BY, late_class, named_late
from polydom_runtime.prediction import Prediction

from .evaluation import Part, Timing, calibration_error
from .judging import Chosen, Judged

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


@dataclass(frozen=True, slots=True)
class Parts:
    """Sums up parts of the answers at one deadline."""

    systems: Mapping[str, Judged]
    """The first one is that of `answers`."""
    answers: Sequence[Prediction]
    sizes: Sequence[float]
    """Shape (n_items,). Of the items."""
    deadline: float
    """Seconds."""
    is_timed: bool
    """Whether the times of the answers are real ones."""

    def of(self, chosen: Chosen) -> Part:
        """Return what is to be said of some items: their positions."""
        own = next(iter(self.systems.values()))
        answers = [self.answers[k] for k in chosen.tolist()]
        sizes = [self.sizes[k] for k in chosen.tolist()]
        reliability = own.reliability(chosen, [a.confidence for a in self.answers])
        return Part(
            sizes=(min(sizes), max(sizes)),
            items=len(answers),
            systems={name: judged.score(chosen) for name, judged in self.systems.items()},
            prior=sum(not a.features for a in answers),
            sets=_counted("+".join(a.features) for a in answers),
            abstained=sum(a.label is None for a in answers),
            confusion=own.confusion(chosen),
            reliability=reliability,
            calibration_error=calibration_error(reliability),
            timing=self._timing(own, chosen, answers) if self.is_timed else None,
        )

    def _timing(self, own: Judged, chosen: Chosen, answers: Sequence[Prediction]) -> Timing:
        elapsed = np.array([a.elapsed_ns for a in answers]) * 1e-9
        met = np.array([a.deadline_met for a in answers])
        late = np.bincount(
            [late_class(s) for s in (elapsed[~met] / self.deadline).tolist()], minlength=len(LATE_BY) + 1
        )
        quantiles = dict(zip(QUANTILES, np.quantile(elapsed, list(QUANTILES.values())).tolist(), strict=True))
        return Timing(
            late=int(late.sum()),
            late_by=named_late(late.tolist()),
            right_in_time=float((own.right[chosen] & met).mean()) if own.bundle.space.classes else None,
            elapsed=quantiles,
            elapsed_share={name: seconds / self.deadline for name, seconds in quantiles.items()},
            reasons=_counted(a.reason for a in answers),
        )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())
