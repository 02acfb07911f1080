"""What a bundle says of itself: what it is, for which queries it has the best models, and what its limits left out."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

from polydom_runtime.bundles.bundle_times import MAX_SECONDS
from polydom_runtime.bundles.model_entry import EstimatorName, Score
from polydom_runtime.codec.marks import In, Size, Text, Unsound
from polydom_runtime.costs import HUGE, CostFunction
from polydom_runtime.features import MAX_FEATURES

MAX_WORD_CHARS = 200

Word = Annotated[str, Text(MAX_WORD_CHARS, 0)]
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"


class Identity(NamedTuple):
    """What a bundle says of itself. Each text is empty if it is not known."""

    name: Word = ""
    version: Word = ""
    """`name`, `version`: as the user gave them."""
    built: Annotated[str, Text(MAX_WORD_CHARS, 0, TIME)] = ""
    """The time of the build in UTC, such as ``2026-01-31T12:00:00Z``, if it was stated."""
    builder: Word = ""
    """Who built it, as the user says."""
    data: Annotated[str, Text(MAX_WORD_CHARS, 0, r"[0-9a-f]{64}")] = ""
    """SHA-256 of the items and labels that it was trained on, in hexadecimal."""
    code: Annotated[str, Text(MAX_WORD_CHARS, 0, r"[0-9]{1,9}:[0-9a-f]{64}")] = ""
    """Fingerprint of the code of its features."""
    libraries: Annotated[Mapping[str, str], Size(0, 100)] = {}
    """The versions of the libraries that built it, by name."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.version))) or "no name"

    def described(self, sha256: str) -> dict[str, str]:
        """Return the known facts for people, by subject; `sha256` is that of the index."""
        known = {
            "bundle": str(self),
            "built": ", ".join(filter(None, (self.built, self.builder and f"by {self.builder}"))),
            "SHA-256 of the index": sha256,
            "SHA-256 of the data": self.data,
            "fingerprint of the features' code": self.code,
            "libraries": ", ".join(f"{name} {version}" for name, version in self.libraries.items()),
        }
        return {what: text or "not stated" for what, text in known.items()}


def is_word(text: object) -> bool:
    """Return whether a value may be the name or the version of a bundle, or its builder."""
    return isinstance(text, str) and len(text) <= MAX_WORD_CHARS and text.isprintable()


PairCount = Annotated[int, In(0, 1 << 30)]


class Assumption(NamedTuple):
    """How far trained sets keep the assumption of a search: no set scores more than a superset plus the tolerance."""

    tolerance: float
    n_pairs: PairCount
    """The number of pairs of a trained set and a trained superset; of the first 8,000 sets, if there are more."""
    n_broken: PairCount
    """The number of pairs that break the assumption."""
    worst: Annotated[float, In(0.0, HUGE)]
    """The largest violation."""

    def __str__(self) -> str:
        if not self.n_broken:
            return f"the tolerance of {self.tolerance:g} holds for all {self.n_pairs} pairs of trained sets"
        up = math.ceil(self.worst * 1e3) / 1e3
        return (
            f"the tolerance of {self.tolerance:g} does not hold for {self.n_broken} of {self.n_pairs} pairs of trained "
            f"sets, which differ by up to {self.worst:.3g}; sets that were not trained may be better by as "
            f"much: a tolerance of {up:g} would hold"
        )


class Promise(NamedTuple):
    """The queries for which a bundle has the best models, and how far from the best possible they may be."""

    sizes: Annotated[tuple[float, float], In(0.0, HUGE)]
    """Range of item sizes that was measured."""
    budgets: Annotated[tuple[float, float], In(0.0, math.inf)]
    """Range of deadlines in seconds that the bundle was built for; equal if there is one deadline."""
    alpha: Annotated[float, In(1.0, math.inf)] = 1.0
    tolerance: Annotated[float, In(0.0, math.inf)] = 0.0
    """`alpha`, `tolerance`: α and e of the paper, as the search used them."""
    slowdown: Annotated[float, In(1.0, HUGE)] = 1.0
    """The largest slow-down of the device for which it has the best models at the shortest of its deadlines."""
    late: Annotated[float, In(0.0, 1.0)] = 0.01
    """The promised share of late answers: at most this."""
    stop_loss: Annotated[float, In(0.0, 1.0)] = 0.0
    """How much accuracy may be lost, at most, on the items that are answered early."""
    scoring: Annotated[str, Text(least=0)] = ""
    """The name of the score, as in scikit-learn, or of a callable; empty if it is not known."""
    assumption: Assumption | None = None
    """How far the trained sets kept to what the promise rests on; None if it is not known."""
    margin: Annotated[float | None, In(0.0, HUGE)] = None
    """By how much, with 95 % certainty, the score of another set may be above that of the chosen one, at each size and
    deadline, if sets that were not trained are like those that were; None if it was not estimated."""

    def _check(self) -> None:
        (smallest, largest), (shortest, longest), found = self.sizes, self.budgets, self.assumption
        if not (smallest <= largest and 1.0 / HUGE < largest < HUGE):  # its smallest parts must not become 0
            raise Unsound("have sizes from low to high, the largest one finite, and not tiny", self.sizes)
        if not (shortest <= longest and (0.0 < longest < MAX_SECONDS or longest == math.inf)):  # inf: for any budget
            raise Unsound(f"have budgets from low to high, above 0 and below {MAX_SECONDS:g} seconds", self.budgets)
        if found and not (found.tolerance == self.tolerance and found.n_broken <= found.n_pairs):
            raise Unsound("state the assumption for its tolerance, broken by some of the pairs at most", tuple(found))

    @property
    def covered(self) -> tuple[float, float]:
        """The range of budgets with the best models: the deadlines, the shortest one divided by `slowdown`."""
        return self.budgets[0] / self.slowdown, self.budgets[1]


MAX_LIMIT = 1 << 50
"""The largest limit, and the largest number that a limit is about."""

LimitedCount = Annotated[int, In(0, MAX_LIMIT)]
Grid = Annotated[tuple[float, ...], Size(0, 1000), In(0.0, HUGE)]

ROUNDING = 1e-9
"""Mean scores may be rounded by this much."""


class Limits(NamedTuple):
    """Limits for all models of a bundle together: their number, bytes of files and memory. 0 means no limit."""

    max_models: LimitedCount = 0
    max_bytes: LimitedCount = 0
    """The bytes of their files."""
    memory_bytes: LimitedCount = 0
    """The memory of the device."""

    def __str__(self) -> str:
        words = {
            f"{self.max_models} model{'s' * (self.max_models > 1)}": self.max_models,
            _amount(self.max_bytes): self.max_bytes,
            f"the device's memory of {_amount(self.memory_bytes)}": self.memory_bytes,
        }
        return " and ".join(text for text, limit in words.items() if limit)


NO_LIMITS = Limits()


def _amount(size_bytes: int) -> str:
    if size_bytes < 1e6:
        return f"{size_bytes / 1e3:.4g} kB"
    return f"{size_bytes / 1e6:.4g} MB" if size_bytes < 1e10 else f"{size_bytes / 1e9:.3g} GB"


class LeftOut(NamedTuple):
    """A set that is best somewhere, with an estimator, but has no model of it because of a limit."""

    mask: Annotated[int, In(1, 2**MAX_FEATURES - 1)]
    accuracy: Score
    cost: CostFunction
    estimator: EstimatorName = ""


class Amount(NamedTuple):
    """A number of models, the bytes of their files, and the mean score with a good choice of this number."""

    models: LimitedCount
    size_bytes: LimitedCount
    score: Score


class Shipping(NamedTuple):
    """What is shipped. Nothing of it is known without a curve.

    Mean scores are over all pairs of `sizes` and `deadlines`, of the best set that fits by worst cases.
    """

    limits: Limits = NO_LIMITS
    n_left_out: LimitedCount = 0
    n_models: LimitedCount = 0
    """`n_left_out`, `n_models`: the number of models that the limits left out, and of all without limits."""
    score: Score = 0.0
    whole: Score = 0.0
    """`score`, `whole`: the mean score of the bundle, and that without limits."""
    bound: Score = 0.0
    """No choice within the limits has a higher mean score."""
    left_out: Annotated[tuple[LeftOut, ...], Size(0, 10_000)] = ()
    curve: Annotated[tuple[Amount, ...], Size(0, 100)] = ()
    """Amounts by rising number of models; the last one is that of all."""
    sizes: Grid = ()
    deadlines: Grid = ()
    """`sizes`, `deadlines`: item sizes, each as likely as the others, and seconds."""

    def _check(self) -> None:
        if not self.curve:
            if self != Shipping():
                raise Unsound("have a curve, if anything is known of it", "none")
            return
        for name, values in (
            ("score, bound and whole", (self.score, self.bound, self.whole)),
            ("scores of the curve", [amount.score for amount in self.curve]),
            ("sizes", self.sizes),
            ("deadlines", self.deadlines),
        ):
            if not _rise(values):
                raise Unsound(f"have {name} that rise", values)
        if any(a.models >= b.models for a, b in pairwise(self.curve)):
            raise Unsound("have numbers of models that rise along the curve", [amount.models for amount in self.curve])
        if not len(self.left_out) <= self.n_left_out <= self.n_models or (self.n_left_out and not any(self.limits)):
            counts = len(self.left_out), self.n_left_out, self.n_models
            raise Unsound("leave out some of all models, because of a limit", (self.limits, counts))
        if len({not left.estimator for left in self.left_out}) > 1:
            raise Unsound("name the estimator of each set that is left out, or of none", "of some")

    def __str__(self) -> str:
        if not self.curve:
            return "it is not stated whether models were left out"
        if not self.n_left_out:
            return "no model was left out"
        other = "no other choice of these models scores more"
        if self.bound > self.score + ROUNDING:
            other = f"no choice of these models scores more than {self.bound:.4g}"
        return (
            f"{self.n_left_out} of {self.n_models} models were left out to keep {self.limits}: the mean score over "
            f"sizes and deadlines is {self.score:.4g} instead of {self.whole:.4g}, and {other}"
        )

    @property
    def scores(self) -> tuple[float, ...]:
        """All scores, to check their range."""
        known = (self.score, self.whole, self.bound) if self.curve else ()
        return *known, *(left.accuracy for left in self.left_out), *(amount.score for amount in self.curve)


def _rise(values: Sequence[float]) -> bool:
    """Return whether there are values, none of which is less than the one before, up to rounding."""
    return bool(values) and all(a - ROUNDING <= b for a, b in pairwise(values))
