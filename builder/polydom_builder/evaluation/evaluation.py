"""What an evaluation found, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from polydom_runtime.commands.outcome import plain_data


class JudgedScore(NamedTuple):
    """How good answers are."""

    score: float | None
    """The score by the scoring of the bundle; None if that cannot be found from labels, as a score by probabilities."""
    low: float | None
    high: float | None
    """The score on new items of this kind lies between `low` and `high`, with a probability of
    `polydom_runtime.bundles.model_entry.CONFIDENCE`; both are None if there is only one group of items."""
    right: float | None
    """The share of right answers; None for a regression."""


class Bin(NamedTuple):
    """Answers of about the same confidence."""

    low: float
    high: float
    """`low`, `high`: the range of their confidences."""
    items: int
    confidence: float
    """The mean of their confidences."""
    right: float
    """The share of right answers."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of the answers of a node."""

    late: int
    late_by: Mapping[str, int]
    """The number of late answers by the time that they took, divided by the deadline."""
    elapsed: Mapping[str, float]
    """Quantiles of the seconds from the arrival of an item to its answer: ``p50``, ``p90``, ``p99``, ``max``."""
    elapsed_share: Mapping[str, float]
    """`elapsed`, divided by the deadline."""
    reasons: Mapping[str, int]
    """The number of answers for each reason; see `polydom_runtime.Prediction`."""


@dataclass(frozen=True, slots=True)
class Part:
    """The answers to all items, or to those of one size band, at one deadline."""

    sizes: tuple[float, float]
    """The smallest and the largest size of the items."""
    items: int
    systems: Mapping[str, JudgedScore]
    """``node``: the timed answers, if there are any; a late one counts as wrong, or as the prior where the score is no
    share of right answers. ``planned``: those that the same policy gives if each unit takes
    its typical time. ``single``: the best set that fits every item. ``cheap_first``: features added cheapest first,
    until the time of the item is used. The last two are by planned costs, with no overrun counted against them."""
    prior: int
    """The number of answers without features."""
    sets: Mapping[str, int]
    """How often each feature set answered, the most frequent first."""
    abstained: int
    """Answers that were withheld; they count in no score."""
    confusion: tuple[tuple[int, ...], ...]
    """A row for each true class, a column for each answer, in the order of the classes of the evaluation; one more of
    both if a label is none of these, or an answer was late. Empty for a regression."""
    reliability: tuple[Bin, ...]
    """Bins of answers by rising confidence; empty if the bundle states none."""
    calibration_error: float | None
    """The calibration error of `reliability`."""
    timing: Timing | None
    """None if nothing was timed."""


@dataclass(frozen=True, slots=True)
class AtDeadline:
    """What a deadline in seconds gives: on all items, and by rising size, if they differ in size."""

    deadline: float
    whole: Part
    bands: tuple[Part, ...]
    stated: float | None = None
    """The score that the table of the bundle states, hot; None if this deadline is not in it."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How good the answers of a bundle are on labelled items."""

    name: str
    version: str
    sha256: str
    """`name`, `version`, `sha256`: those of the bundle."""
    scoring: str
    """The name of the score; empty if it is not known."""
    policy: str
    late: float
    """The promised share of late answers."""
    classes: tuple[Any, ...]
    """The classes of the bundle; empty for a regression."""
    deadlines: tuple[AtDeadline, ...]
    seen: float = 0.0
    """The share of the items that the bundle was built with, as far as is known; it should be 0."""

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation as plain data, all numbers of which are finite; times in seconds."""
        document: dict[str, Any] = plain_data(self)
        return document
