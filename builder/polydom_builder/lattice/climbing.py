"""Improving the best set one feature at a time, where more features do not always score more."""

from collections.abc import Callable, Mapping


def climb(
    expanded: Mapping[int, float],
    n_features: int,
    score: Callable[[list[int]], list[float]],
    fits: Callable[[int], bool],
) -> dict[int, float]:
    """Add or drop single features of the best set while that scores higher; return all scores, new ones included.

    The bounds of the search take it that a superset scores at least as much, less the tolerance. Where that does not
    hold, a set better than all that were trained may be a step away. Nothing is trained where it does: where the full
    set is the best.

    Parameters
    ----------
    expanded : mapping of int to float
        Score of each trained set, the full one among them.
    n_features : int
    score : callable
        Trains some sets.
    fits : callable
        Tells whether a set fits anywhere.

    Notes
    -----
    F trainings a step, less those known; as many steps as improve.

    Examples
    --------
    >>> scores = [0.1, 0.5, 0.6, 0.4, 0.2, 0.3, 0.9, 0.7]
    >>> climb({0: 0.1, 3: 0.4, 2: 0.6, 7: 0.5}, 3, lambda masks: [scores[m] for m in masks], lambda mask: True)
    {0: 0.1, 3: 0.4, 2: 0.6, 7: 0.5, 6: 0.9, 4: 0.2}
    """
    known = dict(expanded)
    full = (1 << n_features) - 1
    best = max(known, key=lambda mask: (known[mask], -mask.bit_count()))
    while known[best] > known[full]:
        near = [best ^ 1 << i for i in range(n_features)]
        new = [mask for mask in near if mask not in known and fits(mask)]
        known |= zip(new, score(new) if new else [], strict=True)
        following = max((m for m in near if m in known), key=known.__getitem__, default=best)
        if known[following] <= known[best]:
            break
        best = following
    return known
