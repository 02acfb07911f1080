"""How an answer came about: what was done, with which time left, and which sets did not fit."""

from dataclasses import dataclass

from polydom_runtime.features import members
from polydom_runtime.policy.states import Move
from polydom_runtime.prediction import Prediction
from polydom_runtime.trace import Trace


@dataclass(frozen=True, slots=True)
class Work:
    """A feature that was begun, or the model."""

    name: str
    """Of the feature; empty for the model."""
    left_ns: int
    """The time left when it was begun."""
    took_ns: int
    """Up to the begin of what came next."""
    worst_ns: int | None = None
    """Its worst case at the size of the item, with the step that it had to compute first, on a machine as slow as it
    was taken to be; None if it is not known."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A set that did not answer."""

    features: tuple[str, ...]
    estimator: str
    """Empty if there is only one."""
    accuracy: float
    """Its expected score."""
    needs_ns: int
    """The planned time of its whole answer at the size of the item, on a machine as slow as it was taken to be; for the
    strict policy its worst case."""
    lacks_ns: int
    """By how much this exceeds the time that there was for the item; at most 0 if it fits."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How an answer came about.

    Parameters
    ----------
    answer : Prediction
    size : float
        Of the item; NaN if it has none.
    deadline_ns : int
        From the arrival of the item.
    work : tuple of Work
        In the order of time; the model comes last.
    planned : tuple of str or None
        The set that was worked towards first; empty if nothing but the prior fitted, None if it is not known.
    better, cheaper : tuple of Alternative
        Sets that score more than the answer's, and those that score less and need less time; the nearest first. A set
        is left out if another one scores as much in less time. Empty if the bundle is not known, or the item has no
        size.
    record : int or None
        The number of the record in a flight recording.
    """

    answer: Prediction
    size: float
    deadline_ns: int
    work: tuple[Work, ...]
    planned: tuple[str, ...] | None = None
    better: tuple[Alternative, ...] = ()
    cheaper: tuple[Alternative, ...] = ()
    record: int | None = None

    def __str__(self) -> str:
        """Return the table that ``polydom-node explain`` prints."""
        from .text import explanation_text

        return explanation_text(self)

    @classmethod
    def of(
        cls, answer: Prediction, trace: Trace, names: tuple[str, ...], deadline_ns: int, first: Move | str | None = ""
    ) -> "Explanation":
        """Return what is known without the bundle.

        Parameters
        ----------
        answer : Prediction
        trace : Trace
            Of this answer.
        names : tuple of str
            Of all features.
        deadline_ns : int
        first : Move, None or str
            The first decision; None if it was to answer, a text if it is not known.
        """
        planned = None if isinstance(first, str) else tuple(names[i] for i in members(first.target if first else 0))
        begun = [mark - trace.marks[0] + answer.waited_ns for mark in trace.marks[1:]]
        what = [*(names[position] for position in trace.features), ""]
        work = (Work(n, deadline_ns - a, b - a) for n, a, b in zip(what, begun, begun[1:], strict=False))
        return cls(answer, trace.size, deadline_ns, tuple(work), planned)
