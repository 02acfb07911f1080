"""What a predictor answers."""

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

from .bundles.bundle import BundleSpace, Label

Policy = Literal["anytime", "strict"]


class Prediction(NamedTuple):
    """An answer.

    Attributes
    ----------
    label : int, str or bool; float from a regressor
    features : tuple of str
        The feature set of the model that answered, in the order of its columns; empty for the class prior.
    accuracy : float
        Its expected score.
    elapsed_ns : int
        From the call to the answer.
    deadline_met : bool
    reason : str
        ``planned``; ``planned, larger than measured`` for an item beyond the measured range; ``extended`` if time was
        left for a better set than planned; ``confident`` if a smaller set was sure; or why one answered: ``no time for
        NAME``, ``NAME failed``, ``no time for the model``, ``the model failed``, ``size failed``.
    slowdown : float
        How much slower than expected recent items were, at least 1: the time left counted as so much less.
    """

    label: Label | float
    features: tuple[str, ...]
    accuracy: float
    elapsed_ns: int
    deadline_met: bool
    reason: str
    slowdown: float = 1.0


def labels_of(space: BundleSpace) -> Mapping[int | float, Label | float]:
    """Return the label of each class number; for a regressor each finite number is its own.

    Examples
    --------
    >>> dict(labels_of(BundleSpace(("mean",), (1,), ("no", "yes"))))
    {0: 'no', 1: 'yes'}
    """
    return dict(enumerate(space.classes)) if space.classes else _AsIs()


class _AsIs(dict[int | float, Label | float]):
    """Stands for the classes of a regressor."""

    def __missing__(self, number: float) -> float:
        if not math.isfinite(number):
            raise KeyError(number)
        return number
