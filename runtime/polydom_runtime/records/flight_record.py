"""One answer in a flight recording."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlightRecord:
    """One answer."""

    sequence: int
    """1 for the first record of the ring, then one more for each."""
    number: int
    """The number of the item in its run."""
    time_ns: int
    """Wall-clock time in nanoseconds since 1970."""
    size: float
    """n of the item; NaN if it had none."""
    slowdown: float
    """The estimate of how much slower than measured the machine was."""
    features: tuple[int, ...]
    """Positions of the features that were started, in order, including those that failed."""
    feature_ns: tuple[int, ...]
    """Nanoseconds of each of these features, up to the start of the next one or of the model."""
    before_ns: int
    model_ns: int
    elapsed_ns: int
    """Nanoseconds from the call to the first feature, from the start of the model to its end, and from the arrival of
    the item to the answer."""
    answered: tuple[int, ...]
    """Positions, ascending, of the features of the model that answered; empty for the class prior."""
    deadline_met: bool
    reason: str
    """The reason that the prediction gave, cut to 80 bytes."""
    label: int | float | None
    """The class number, or the number that a regressor predicted; None if the answer was withheld."""
    waited_ns: int = 0
    """Nanoseconds from the arrival to the call."""
    error: str = ""
    """What failed first on the item, and how, cut to 120 bytes."""
    confidence: float | None = None
    """The probability that the label is right; None if it is not known."""
