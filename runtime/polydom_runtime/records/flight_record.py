"""One answer in a flight recording."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlightRecord:
    """One answer.

    Parameters
    ----------
    sequence : int
        1 for the first record ever, then one more for each.
    number : int
        Of the item in its run.
    time_ns : int
        Wall-clock time in nanoseconds since 1970.
    size : float
        n of the item; NaN if it had none.
    slowdown : float
    features : tuple of int
        Positions of the features that were started, in order, those that failed too.
    feature_ns : tuple of int
        What each took, up to the start of the next or of the model.
    before_ns, model_ns, elapsed_ns : int
        From the call to the first feature, from the start of the model to the end, and from the call to the answer.
    answered : tuple of int
        Positions, ascending, of the features of the model that answered; none for the class prior.
    deadline_met : bool
    reason : str
        At most 80 bytes of it.
    label : int or float
        The class number, or the number that a regressor gave.
    """

    sequence: int
    number: int
    time_ns: int
    size: float
    slowdown: float
    features: tuple[int, ...]
    feature_ns: tuple[int, ...]
    before_ns: int
    model_ns: int
    elapsed_ns: int
    answered: tuple[int, ...]
    deadline_met: bool
    reason: str
    label: int | float
