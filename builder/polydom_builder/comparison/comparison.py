"""The result of a comparison, each value before and after, and how much worse the second one may be."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from polydom_builder.exceptions import ComparisonError
from polydom_runtime.costs import CostFunction, format_seconds
from polydom_runtime.records.metrics import finite

TimeKind = Literal["typical", "worst case"]


class Fact(NamedTuple):
    """A value of both files."""

    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Units:
    """Names only in the second file, only in the first, and in both."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    same: tuple[str, ...]

    @classmethod
    def of(cls, before: Sequence[str], after: Sequence[str]) -> "Units":
        """Sort the names of two files into these groups."""
        return cls(
            tuple(name for name in after if name not in before),
            tuple(name for name in before if name not in after),
            tuple(name for name in before if name in after),
        )


@dataclass(frozen=True, slots=True)
class SetChange:
    """The score of a feature set that is shipped, by an estimator if that has a name; None where it is not."""

    features: tuple[str, ...]
    before: float | None
    after: float | None
    estimator: str = ""


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """The sets that the indexes choose for one size and deadline, their scores, and the names of their estimators."""

    deadline: float
    size: float
    features: Fact
    score: Fact
    estimators: Fact

    @property
    def loss(self) -> float:
        """The fall of the score; negative if it rose."""
        return float(self.score.before - self.score.after)


@dataclass(frozen=True, slots=True)
class ReplayChange:
    """The expected score at one deadline, hot, as the table of each bundle states it."""

    deadline: float
    score: Fact

    @property
    def loss(self) -> float:
        """The fall of the score; negative if it rose."""
        return float(self.score.before - self.score.after)


@dataclass(frozen=True, slots=True)
class TimeChange:
    """The time of a unit at one size, in seconds."""

    unit: str
    kind: TimeKind
    size: float
    before: float
    after: float
    noise: float | None = None
    """The ratio up to which a change may be chance, at least 1; None if it is not known."""

    @property
    def growth(self) -> float:
        """The time after, divided by the time before."""
        return growth(self.before, self.after)

    @property
    def is_beyond_noise(self) -> bool | None:
        """Whether the change is larger than chance; None if that is not known."""
        return None if self.noise is None else not 1.0 / self.noise <= self.growth <= self.noise


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed between two bundles, or two costs files."""

    kind: Literal["bundles", "costs"]
    facts: Mapping[str, Fact]
    """Values by their names."""
    units: Units
    """The features, or the measured units."""
    times: tuple[TimeChange, ...]
    """The times of units in both files."""
    sets: tuple[SetChange, ...] = ()
    """The feature sets that at least one of two bundles ships."""
    answers: tuple[AnswerChange, ...] = ()
    """The answers of two bundles at some sizes and deadlines."""
    worst: AnswerChange | None = None
    """The answer that loses most of its score, of those at all sizes that both know, and at all deadlines of either."""
    replays: tuple[ReplayChange, ...] = ()
    """Expected scores at the deadlines that the tables of both have."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: pairs are ``[before, after]``, a number that is not finite is None."""
        plain = asdict(self)
        for name in ("answers", "replays"):
            for row, change in zip(plain[name], getattr(self, name), strict=True):
                row["loss"] = change.loss
        if self.worst is not None:
            plain["worst"]["loss"] = self.worst.loss
        for row, time in zip(plain["times"], self.times, strict=True):
            row |= {"growth": finite(time.growth), "is_beyond_noise": time.is_beyond_noise}
        return plain


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """How much worse the second file may be; None sets no limit."""

    score_loss: float | None = None
    """How much the score of an answer may fall at any size and deadline, and the mean score of any replay."""
    time_growth: float | None = None
    """The largest ratio of the times of a unit or an answer. Growth that may be noise does not count."""
    size_growth: float | None = None
    """The largest ratio of the bytes of all models."""

    def exceeded(self, found: Comparison) -> list[str]:
        """Return a line for each excess.

        Raises `ComparisonError` if a limit is not one of this kind of comparison, or the scores are of different
        scorings.
        """
        if found.kind == "costs" and (self.score_loss, self.size_growth) != (None, None):
            raise ComparisonError("Limits of costs files must be --max-time-growth only. Leave the others out.")
        return [*self._scores(found), *self._times(found), *self._sizes(found)]

    def _scores(self, found: Comparison) -> Iterator[str]:
        if self.score_loss is None:
            return
        for what in ("scoring", "costs of errors"):
            before, after = found.facts[what]
            if before != after:
                raise ComparisonError(
                    f"For --max-score-loss both bundles must have the same {what}. Got {before or 'none'} and "
                    f"{after or 'none'}. Build both with the same, or leave the limit out."
                )
        worst, more = found.worst, f"more than {self.score_loss:g}"
        if worst is not None and worst.loss > self.score_loss:
            where = f"{format_seconds(worst.deadline)} and size {worst.size:g}"
            yield f"the score at {where} falls by {worst.loss:.4g}, {more}"
        for replay in found.replays:
            if replay.loss > self.score_loss:
                where = f"{format_seconds(replay.deadline)}, hot,"
                yield f"the expected score at {where} falls by {replay.loss:.4g}, {more}"

    def _times(self, found: Comparison) -> Iterator[str]:
        if self.time_growth is None:
            return
        for time in found.times:
            if time.growth > self.time_growth and time.is_beyond_noise is not False:
                what = f"the {time.kind} time of {time.unit} at size {time.size:g}"
                yield f"{what} grows to {time.growth:.3g} times, more than {self.time_growth:g}"

    def _sizes(self, found: Comparison) -> Iterator[str]:
        if self.size_growth is not None and (ratio := growth(*found.facts["model bytes"])) > self.size_growth:
            yield f"the bytes of all models grow to {ratio:.3g} times, more than {self.size_growth:g}"


def growth(before: float, after: float) -> float:
    """Return a size or time divided by the one before.

    >>> growth(2.0, 3.0), growth(0.0, 0.0), growth(0.0, 1.0)
    (1.5, 1.0, inf)
    """
    return after / before if before else 1.0 if after == before else math.inf


def time_changes(
    kind: TimeKind,
    before: Mapping[str, CostFunction],
    after: Mapping[str, CostFunction],
    sizes: Sequence[float],
    noise: Mapping[str, float] | None = None,
) -> tuple[TimeChange, ...]:
    """Return the times of common units at some sizes."""
    return tuple(
        TimeChange(unit, kind, size, before[unit](size), after[unit](size), noise.get(unit) if noise else None)
        for unit in before
        if unit in after
        for size in sizes
    )


def common_sizes(before: Sequence[float], after: Sequence[float], count: int) -> list[float]:
    """Return sizes from the smallest to the largest that both know, at equal ratios.

    `before`, `after`: rising sizes; the first and the last one count. `count`: the number of sizes, unless both know
    only one.

    Raises `ComparisonError` if no size is in both ranges.
    """
    low, high = max(before[0], after[0]), min(before[-1], after[-1])
    if low > high:
        both = " and ".join(f"{sizes[0]:g} to {sizes[-1]:g}" for sizes in (before, after))
        raise ComparisonError(f"Both must be for some of the same item sizes. Got {both}. Nothing can be compared.")
    if low == high or not low:
        return sorted({low, high})
    return [low, *(low * (high / low) ** (k / (count - 1)) for k in range(1, count - 1)), high]


def check_common(what: str, units: Units, ignored: Iterable[str] = ()) -> None:
    """Raise `ComparisonError` if two have no unit in common."""
    if not {*units.same} - {*ignored}:
        names = f"{', '.join(units.removed)}, and {', '.join(units.added)}"
        raise ComparisonError(f"Both must have a {what} in common. Got {names}. Nothing can be compared.")
