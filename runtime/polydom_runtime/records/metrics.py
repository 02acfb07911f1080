"""Metrics of a node since its start: counts, times of the stages, misses and reasons, in memory of constant size."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from polydom_runtime.histogram import Histogram

if TYPE_CHECKING:
    from polydom_runtime.bundles.promise import Identity
    from polydom_runtime.learning.summary import LearningSummary
    from polydom_runtime.prediction import Prediction
    from polydom_runtime.publishing.publisher import PublishingCounts
    from polydom_runtime.stages import Trace

TIME_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
MAX_REASONS, MAX_COUNTED_SETS, MAX_ERRORS = 200, 100, 50
"""Different reasons, feature sets and errors that are counted; all others are counted together."""

OTHER, NO_FEATURES = "(other)", "(prior)"

K = TypeVar("K", bound=Hashable)


class Named(Protocol):
    """The part of a bundle that metrics need: the names of its features, and which bundle it is."""

    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def identity(self) -> "Identity": ...  # noqa: D102
    @property
    def sha256(self) -> str: ...  # noqa: D102


def known_as(bundle: Named) -> dict[str, str]:
    """Return the name and the version of a bundle, and the SHA-256 of its index, for records."""
    return {"name": bundle.identity.name, "version": bundle.identity.version, "sha256": bundle.sha256}


class Watched(Protocol):
    """The part of a predictor that metrics need. A recording has no more, and ``polydom-node flight`` counts it."""

    @property
    def bundle(self) -> Named: ...  # noqa: D102
    @property
    def deadline(self) -> float: ...  # noqa: D102
    @property
    def failures(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def out(self) -> frozenset[str]: ...  # noqa: D102


class Publishing(Protocol):
    """The part of a publisher that metrics need."""

    @property
    def counts(self) -> "PublishingCounts": ...  # noqa: D102


class BoundedCounter(Generic[K]):
    """Counts keys, at most `most` different ones; further keys are counted together in `n_other`.

    >>> counter = BoundedCounter(1)
    >>> for key in "aba":
    ...     counter.add(key)
    >>> counter.counts, counter.n_other
    ({'a': 2}, 1)
    """

    __slots__ = ("_most", "counts", "n_other")

    def __init__(self, most: int) -> None:
        self._most = most
        self.counts: dict[K, int] = {}
        self.n_other = 0

    def add(self, key: K) -> None:
        """Count a key."""
        if key in self.counts:
            self.counts[key] += 1
        elif len(self.counts) < self._most:
            self.counts[key] = 1
        else:
            self.n_other += 1


class Metrics:
    """Counts over all answers since the start, for as long as the node runs.

    `slowdown`, `largest_slowdown`: how much slower than measured this machine was at the last item, and at worst.
    `elapsed`, `waited`: times from the arrival of the item to the answer, and to the call. `stages`: times from
    the start of each feature to that of the next one or the model.
    """

    def __init__(self, predictor: Watched) -> None:
        self.watched, self.names = predictor, predictor.bundle.names
        self.misses = self.abstained = 0
        self.slowdown = self.largest_slowdown = 1.0
        self.elapsed, self.waited, self.model = Histogram(), Histogram(), Histogram()
        self.stages = tuple(Histogram() for _ in predictor.bundle.names)
        self._adds = tuple(stage.add for stage in self.stages)  # looked up once, not for every item
        self.publisher: Publishing | None = None
        self._reasons = BoundedCounter[str](MAX_REASONS)
        self._sets = BoundedCounter[tuple[str, ...]](MAX_COUNTED_SETS)
        self._errors = BoundedCounter[str](MAX_ERRORS)

    def watch(self, predictor: Watched) -> None:
        """Go on with the answers of another predictor; times of features of the same name are counted together."""
        known = dict(zip(self.names, self.stages, strict=True))
        self.watched, self.names = predictor, predictor.bundle.names
        self.stages = tuple(known.get(name) or Histogram() for name in self.names)
        self._adds = tuple(stage.add for stage in self.stages)

    def add(self, prediction: "Prediction", trace: "Trace") -> None:
        """Count an answer, without new objects; an incomplete trace, as of a killed worker, adds no times of stages."""
        self.elapsed.add(prediction.elapsed_ns)
        self.waited.add(prediction.waited_ns)
        if not prediction.deadline_met:
            self.misses += 1
        self.abstained += prediction.label is None
        self._reasons.add(prediction.reason)
        self._sets.add(prediction.features)
        if prediction.error:
            self._errors.add(prediction.error)
        self.slowdown = s = prediction.slowdown
        if s > self.largest_slowdown:
            self.largest_slowdown = s
        features, marks = trace.features, trace.marks
        if len(marks) == len(features) + 3:
            start, adds = marks[1], self._adds
            for feature, end in zip(features, marks[2:], strict=False):
                adds[feature](end - start)
                start = end
            self.model.add(marks[-1] - marks[-2])

    @property
    def bundle_changes(self) -> dict[str, int]:
        """The number of new bundles by their fate; empty if the predictor takes none over."""
        reloads = getattr(self.watched, "reloads", None)
        return {} if reloads is None else {k: n for k, n in reloads._asdict().items() if k != "error"}

    @property
    def learning(self) -> "LearningSummary | None":
        """What the predictor learned; None of a recording."""
        learning = getattr(self.watched, "learning", None)
        found: LearningSummary | None = learning and learning()
        return found

    @property
    def publishing(self) -> dict[str, int]:
        """The counts of the publisher by name; empty if there is none."""
        return {} if self.publisher is None else self.publisher.counts._asdict()

    @property
    def reasons(self) -> dict[str, int]:
        """The number of answers for each reason."""
        return labelled(self._reasons, str)

    @property
    def errors(self) -> dict[str, int]:
        """The number of items on which each error was the first one."""
        return labelled(self._errors, str)

    @property
    def answers(self) -> dict[str, int]:
        """The number of answers by each feature set."""
        return labelled(self._sets, lambda names: "+".join(names) or NO_FEATURES)

    def as_dict(self) -> dict[str, Any]:
        """Return all metrics for JSON, times in seconds; an unknown number is None, never NaN or infinite."""
        return {
            "bundle": known_as(self.watched.bundle),
            "items": self.elapsed.count,
            "deadline": self.watched.deadline,
            "misses": self.misses,
            "abstained": self.abstained,
            "slowdown": finite(self.slowdown),
            "largest_slowdown": finite(self.largest_slowdown),
            "elapsed": time_summary(self.elapsed),
            "waited": time_summary(self.waited),
            "model": time_summary(self.model),
            "stages": {name: time_summary(stage) for name, stage in zip(self.names, self.stages, strict=True)},
            "features": self.answers,
            "reasons": self.reasons,
            "errors": self.errors,
            "bundle_changes": self.bundle_changes,
            "failures": dict(self.watched.failures),
            "out": sorted(self.watched.out),
            "learning": None if (learning := self.learning) is None else learning.to_json(),
            "mqtt": self.publishing,
        }


def time_summary(histogram: Histogram) -> dict[str, float | int | None]:
    """Return the count, the total, the quantiles and the maximum; times are in seconds."""
    quantiles = dict(zip(TIME_QUANTILES, histogram.quantiles(list(TIME_QUANTILES.values())), strict=True))
    count = histogram.count
    return {
        "count": count,
        "total": histogram.total_ns / 1e9,
        **{name: finite(float(f"{ns / 1e9:.6g}")) for name, ns in quantiles.items()},
        "max": histogram.longest_ns / 1e9 if count else None,
    }


def finite(value: float) -> float | None:
    """Return the number if it is finite, else None: JSON has neither NaN nor infinity."""
    return value if math.isfinite(value) else None


def labelled(counter: BoundedCounter[K], label: Callable[[K], str]) -> dict[str, int]:
    """Return the counts by label, the most frequent first; those that were counted together are `OTHER`."""
    counts = Counter({OTHER: counter.n_other} if counter.n_other else {})
    for key, n in counter.counts.items():
        counts[label(key)] += n  # two sets have the same label if a name contains the +
    return dict(counts.most_common())
