"""What a node learned, in words and numbers: units that moved, plans, trials, and the margin."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.causes import printable
from polydom_runtime.costs import format_seconds
from polydom_runtime.tables import TextTable

if TYPE_CHECKING:
    from .learned_times import LearnedRow
    from .margin import Margin

MODELS = "(models)"
"""All models of a regime that moved: a bundle may have hundreds."""

TINY = 1e-6
"""Seconds that are added to both times of a ratio: a unit that takes nothing has none."""

MOST_TOLD = 3
"""Units are told by name up to this number, those that moved most first."""

Place = tuple[Regime, str]
"""A regime and a unit in it, as in `MovedUnit`."""


class MovedUnit(NamedTuple):
    """A unit that takes another time in a regime than was shipped."""

    regime: Regime
    unit: str
    """The name of a feature or of a step, ``(before)``, ``(after)``, ``(waking)``, or `MODELS`."""
    n: int
    """How many models; 1 for another unit."""
    factor: float
    offset: float
    """`factor`, `offset`: it takes ``factor * shipped + offset``, in seconds; of models, that of the middle one."""
    seconds: float
    """How long it takes, for an item of the geometric mean of all sizes."""
    ratio: float
    """The same, divided by what was shipped; a microsecond is added to both."""
    since: int | None = None
    """The number of the answer from which plans know it, 0 if it is known from before; None if none does yet."""

    @property
    def more(self) -> float:
        """How many seconds it takes longer than shipped; below 0 if it is quicker."""
        return (self.seconds + TINY) * (1.0 - 1.0 / self.ratio)

    def __str__(self) -> str:
        models = f"{self.n} model{'s' * (self.n > 1)}" if self.unit == MODELS else printable(self.unit)
        return f"{models} {self.ratio:.1f} times as long as shipped, {format_seconds(self.seconds)}"


class LearningSummary(NamedTuple):
    """What a predictor learned so far, on its own or from a file."""

    margin: float
    late: int
    paused: int
    beyond: int
    """`margin`, `late`, `paused`, `beyond`: as of a `Margin`."""
    moved: tuple[MovedUnit, ...]
    """The units that take another time than was shipped."""
    had_slack: bool = False
    """Whether there was time between two items: else nothing is learned but what all units share."""
    answers: int = 0
    """How many answers were learned from."""
    plans: int = 0
    tried: int = 0
    """How many plans were laid out, and units tried outside of answers."""
    longest_slice: float = 0.0
    """The longest work on a plan without a look at the clock, in seconds."""

    @classmethod
    def of(cls, margin: "Margin", moved: tuple[MovedUnit, ...] = (), **work: Any) -> "LearningSummary":
        """Return a summary; `work`: the fields after `moved`."""
        return cls(margin.value, margin.late, margin.paused, margin.beyond, moved, **work)

    def __str__(self) -> str:
        text = (
            f"Learned from {self.answers:,} answers; {counted(self.plans, 'plan')} laid out, "
            f"{counted(self.tried, 'unit')} tried."
            if self.had_slack
            else "No slack: answers came back to back, so no unit was tried, and plans stayed as they were."
        )
        if self.moved:
            text += f" Other times than shipped: {listed(map(_with_place, _by_move(self.moved)))}."
        text += f" The margin is {self.margin:.2f}; late through work {self.late:,}, through pauses {self.paused:,}"
        return f"{text}; {self.beyond:,} that no margin avoids." if self.beyond else f"{text}."

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return self._asdict() | {"moved": [unit._asdict() for unit in self.moved], "text": str(self)}


def moved_units(rows: Iterable["LearnedRow"], since: Mapping[Place, int] | int | None = None) -> tuple[MovedUnit, ...]:
    """Return the units of the rows, with all models of a regime as one; `since`: as in `MovedUnit`."""
    found, models = [], dict[Regime, list[MovedUnit]]()
    for regime, unit, factor, offset, _, seconds in rows:
        one = MovedUnit(regime, str(unit), 1, factor, offset, seconds, ratio_of(factor, offset, seconds))
        if isinstance(unit, str):
            found.append(one)
        elif unit >= 0:  # below, it is the end of an answer without a model
            models.setdefault(regime, []).append(one._replace(unit=MODELS))
    for each in models.values():
        found.append(sorted(each, key=lambda one: one.ratio)[len(each) // 2]._replace(n=len(each)))
    known = since if isinstance(since, Mapping) else dict.fromkeys(((one.regime, one.unit) for one in found), since)
    return tuple(one._replace(since=known.get((one.regime, one.unit))) for one in found)


def ratio_of(factor: float, offset: float, seconds: float) -> float:
    """Return by which factor a time differs from the shipped one.

    >>> round(ratio_of(1.0, 2e-5, 3e-5), 2), ratio_of(2.0, 0.0, 0.0)
    (2.82, 1.0)
    """
    shipped = max((seconds - offset) / factor, 0.0)
    return (seconds + TINY) / (shipped + TINY)


def table_of_moved(title: str, moved: Iterable[MovedUnit]) -> TextTable:
    """Return a table of units that moved."""
    rows = [
        (
            *(one.regime, printable(one.unit) if one.unit != MODELS else f"{one.n} models"),
            *(format_seconds(one.seconds), f"{one.factor:.2f}", f"{1e6 * one.offset:.1f}"),
        )
        for one in moved
    ]
    return TextTable(title, ("regime", "unit", "#takes", "#times", "#µs more"), rows)


def listed(texts: Iterable[str]) -> str:
    """Return the first texts in words, and how many more there are."""
    given = list(texts)
    more = [f"and {len(given) - MOST_TOLD} more"] if len(given) > MOST_TOLD else []
    return "; ".join([*given[:MOST_TOLD], *more])


def counted(n: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _by_move(moved: Iterable[MovedUnit]) -> list[MovedUnit]:
    return sorted(moved, key=lambda one: -abs(one.more))


def _with_place(one: MovedUnit) -> str:
    since = "" if one.since is None else f", since answer {one.since:,}" if one.since else ", from before"
    return f"{one} ({one.regime}{since})"
