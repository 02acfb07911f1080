"""The score of an answer: how sure a model says it is."""

from .tensor_proto import Array


def score_of(scores: Array, label: int) -> float:
    """Return the score of a label; the absolute value of a single score, shared by two classes.

    `scores` (shape (1, n_classes)): probabilities or decision values. `label`: a class number; if there is no such
    class, since the model abstains, it is the largest score.

    Examples
    --------
    >>> import numpy as np
    >>> score_of(np.array([[0.25, 0.75]]), 0), score_of(np.array([[0.25, 0.75]]), 2), score_of(np.array([[-2.0]]), 0)
    (0.25, 0.75, 2.0)
    """
    if scores.size == 1:
        return abs(float(scores.item()))
    return float(scores.item(label)) if 0 <= label < scores.size else float(scores.max())
