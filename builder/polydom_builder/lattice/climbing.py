"""Improvement of the best set, one feature at a time, for scores that additional features may lower."""

from collections.abc import Callable, Mapping


def climb(
    expanded: Mapping[int, float],
    n_features: int,
    score: Callable[[list[int]], list[float]],
    fits: Callable[[int], bool],
) -> dict[int, float]:
    """Add or drop single features of the best set as long as the score rises; return all scores, with the new ones.

    The bounds of the search assume that a superset scores at least as much as its subset, less the tolerance. Where
    this is wrong, a set that differs from the best one in a single feature may score more than all trained sets. If no
    set scores more than the full set, there is no sign of it, and nothing is trained.

    `expanded`: score of each trained set; the full set must be among them. `score`: ``score(masks)`` trains a list of
    sets and returns their scores. `fits`: ``fits(mask)`` tells whether a set fits anywhere in the region.

    The result: `expanded` and the score of each newly trained set.

    At most F trainings for each step that raises the score, and F for the last one.

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
