"""Counting the answers of a run."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.causes import shown
from polydom_runtime.histogram import Histogram
from polydom_runtime.items.sources import UNLABELLED
from polydom_runtime.policy.deadline import ANOTHER_CLOCK
from polydom_runtime.prediction import OTHER_FORM, Prediction
from polydom_runtime.records.answer_scores import late_label, score_counter
from polydom_runtime.records.metrics import (
    MAX_COUNTED_SETS,
    MAX_ERRORS,
    MAX_REASONS,
    NO_FEATURES,
    BoundedCounter,
    labelled,
)

if TYPE_CHECKING:
    from polydom_runtime.describing.kept_promise import KeptPromise
    from polydom_runtime.items.digests import SeenItems
    from polydom_runtime.learning.runs import Runs

LATE_BY = (1.1, 1.5, 2.0, 5.0, 10.0)
"""Late answers are counted by the time that they took, divided by the deadline: up to each of these, or more."""


def late_class(share: float) -> int:
    """Return the position in `LATE_BY` of a late answer's time divided by the deadline."""
    return bisect_left(LATE_BY, share)


def named_late(counts: Sequence[int]) -> dict[str, int]:
    """Return how many late answers took how long, by words for each position of `late_class`, where there are any.

    >>> named_late([2, 0, 0, 0, 0, 1])
    {'up to 1.1': 2, 'more than 10': 1}
    """
    names = *(f"up to {share:g}" for share in LATE_BY), f"more than {LATE_BY[-1]:g}"
    return {name: n for name, n in zip(names, counts, strict=True) if n}


def expected_priors(bundle: Bundle, deadline: float) -> float:
    """Return the share of answers by the prior that replays showed at the nearest deadline, in the worst regime."""
    regimes = bundle.times, *(there.times for there in bundle.regimes.values())
    return max((near.prior_share for times in regimes if (near := times.outlook_near(deadline))), default=0.0)


class Tally:
    """Counts over all answers of a run by a bundle, in bounded memory; `runs` if late ones in a row are limited."""

    def __init__(self, deadline: float, bundle: Bundle, runs: "Runs | None" = None) -> None:
        self.deadline_ns, self.runs = deadline * 1e9, runs
        self.elapsed, self.waited = Histogram(), Histogram()
        self.items = self.unreadable = self.failed = self.abstained = self.priors = self.another_clock = 0
        self.expected_priors = expected_priors(bundle, deadline)
        self.late_at_most, self.paused, self._paused = bundle.promise.late, 0, 0
        self.scoring, self.score = bundle.promise.scoring, score_counter(bundle)
        self._late = late_label(bundle)
        self.seen: SeenItems | None = None
        self._digests, self._classes = bundle.references.seen, bundle.space.classes
        self.features = BoundedCounter[str](MAX_COUNTED_SETS)
        self.reasons, self.missed = BoundedCounter[str](MAX_REASONS), BoundedCounter[str](MAX_REASONS)
        self.late_by = [0] * (len(LATE_BY) + 1)
        self.errors = BoundedCounter[str](MAX_ERRORS)

    def add(self, answer: Prediction, label: Any, paused: int) -> None:
        """Count one answer.

        `label`: the true label, or `UNLABELLED`. `paused`: the late answers of the bundle that paused so far.
        """
        self.items += 1
        self.paused += max(paused - self._paused, 0)
        self._paused = paused
        self.elapsed.add(answer.elapsed_ns)
        self.waited.add(answer.waited_ns)
        self.features.add("+".join(answer.features) or NO_FEATURES)
        self.reasons.add(answer.reason)
        if not answer.features:
            self.priors += 1
            self.failed += answer.reason.endswith((" failed", OTHER_FORM))
        if answer.error:
            self.errors.add(answer.error)
            self.another_clock += answer.error == ANOTHER_CLOCK
        if not answer.deadline_met:
            self.missed.add(answer.reason)
            self.late_by[late_class(answer.elapsed_ns / self.deadline_ns)] += 1
        if self.runs is not None:
            self.runs.add(not answer.deadline_met)
        self.abstained += answer.label is None
        if label is not UNLABELLED:
            self.score.add(answer.label if answer.deadline_met else self._late, label)

    @property
    def is_sound(self) -> bool:
        """Whether all items and times of arrival could be used, and not all items failed."""
        return not (self.unreadable or self.another_clock) and (not self.items or self.failed < self.items)

    @property
    def said(self) -> Iterator[str]:
        """What people should know of the answers, in sentences."""
        if not self.kept.is_kept:
            yield f"{self.kept}"
        if self.runs is not None and self.runs.broken:
            yield f"{self.runs.outcome}"
        if self.priors > (self.expected_priors + self.late_at_most) * self.items:
            yield self.priors_text
        if self.score.n_strange:
            yield self.strange_text
        if self.seen is not None and self.seen.text:
            yield self.seen.text
        if n := self.another_clock:
            yield (
                f"{n:,} of {self.items:,} times of arrival were of another clock, or items waited for more than a "
                "minute: these deadlines ran from the call. Give integer nanoseconds of time.perf_counter_ns."
            )

    def look(self, item: Any) -> None:
        """Look whether a labelled item is one that the bundle was built with."""
        if self.seen is None:
            from polydom_runtime.items.digests import SeenItems  # only here: most items have no labels

            self.seen = SeenItems(self._digests)
        self.seen.add(item)

    @property
    def strange_text(self) -> str:
        """How many labels are none that the bundle can answer with, in words."""
        score, classes = self.score, self._classes
        one = f"{score.n_strange:,} labels, such as {shown(score.strange)} ({type(score.strange).__name__}), are"
        if not classes:
            return f"{one} no finite numbers: they count in no score."
        names = ", ".join(repr(label) for label in classes[:3]) + ", ..." * (len(classes) > 3)
        return f"{one} no classes of the bundle, {names} ({type(classes[0]).__name__}): no answer to them is right."

    @property
    def priors_text(self) -> str:
        """How many answers were the prior's, in words."""
        from polydom_runtime.tables import percent  # only here: a node needs it at its end

        counts = f"{self.priors:,} of {self.items:,} answers were the prior, which knows nothing of the item"
        share, expected = percent(self.priors / max(self.items, 1)), percent(self.expected_priors)
        return f"{counts}: {share}; expected are at most {expected}."

    @property
    def kept(self) -> "KeptPromise":
        """How the promised share of late answers was kept."""
        from polydom_runtime.describing.kept_promise import KeptPromise  # only here: a node needs it at its end

        return KeptPromise(sum(self.late_by), self.items, self.late_at_most, self.paused)

    def summary(self) -> dict[str, Any]:
        """Return the counts; times are shares of the deadline, and the score is None if counts cannot tell it."""
        score, runs = self.score.value(self.scoring), self.runs
        return {
            "items": self.items,
            "unreadable": self.unreadable,
            "deadline": self.deadline_ns * 1e-9,
            **self.score.summary(),
            "scoring": self.scoring or None,
            "score": float(f"{score:.6g}") if score is not None and math.isfinite(score) else None,
            "strange_labels": self.score.n_strange,
            "seen": None if self.seen is None else round(self.seen.share, 6),
            "abstained": self.abstained,
            "priors": {"answers": self.priors, "expected": self.expected_priors, "text": self.priors_text},
            "another_clock": self.another_clock,
            "missed": sum(self.late_by),
            "misses": {"reasons": labelled(self.missed, str), "elapsed_share": named_late(self.late_by)},
            "promise": self.kept.to_json(),
            "late_at_most": None if runs is None else runs.outcome._asdict() | {"text": str(runs.outcome)},
            "elapsed_share": self._shares(self.elapsed),
            "waited_share": self._shares(self.waited),
            "features": labelled(self.features, str),
            "reasons": labelled(self.reasons, str),
            "errors": labelled(self.errors, str),
        }

    def _shares(self, times: Histogram) -> dict[str, float]:
        p50, p99 = times.quantiles([0.5, 0.99]) if self.items else (0.0, 0.0)
        named = {"p50": p50, "p99": p99, "max": times.longest_ns}
        return {name: round(ns / self.deadline_ns, 4) for name, ns in named.items()}
