"""By how much the score of a set is too high because the set was chosen for it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats

LEFT_OUT, N_REPEATS = 5, 80
"""One block in so many is left out at a time, and the number of random divisions of the blocks into such parts."""


class Chosen(NamedTuple):
    """A set that was chosen, and the sets that it was chosen among, as their rows in the table of parts."""

    row: int
    among: NDArray[np.intp]


def optimism(parts: Floats, shares: Floats, choices: Sequence[Chosen]) -> Floats:
    """Return by how much the score of each chosen set is too high, shape ``(n_choices,)``; at least 0.

    A choice prefers sets that had luck on the items. So it is made again by four fifths of the blocks. The last fifth
    had no part in this, and shows what a choice by scores is worth. What the original choice scores more there than the
    new one is luck. A set without rivals is chosen again each time, and loses nothing.

    `parts` (shape (n_sets, n_blocks)): the score of each set on each block of held-out items. Blocks are independent of
    each other. `shares` (shape (n_blocks,)): how much each block counts in a score; more than 0. There are at least
    two.

    After the bootstrap bias corrected cross-validation of Tsamardinos, Greasidou and Borboudakis (2018), with two
    changes. A bootstrap sample doubles the variance of scores, so choices by it are worse than the original one, and it
    corrects too much; choices by four fifths are nearly as good. And both choices are compared on the same blocks, so
    that most of the noise cancels out. O(n_repeats · n_sets · (n_blocks + n_choices)).

    Examples
    --------
    The first two sets are equally good, and the second had luck on the last block. The third is much worse:

    >>> parts = np.array([[0.8, 0.6, 0.7, 0.7], [0.6, 0.8, 0.7, 0.9], [0.1, 0.2, 0.1, 0.0]])
    >>> optimism(parts, np.full(4, 0.25), [Chosen(1, np.array([0, 1, 2])), Chosen(1, np.array([1, 2]))]).round(2)
    array([0.1, 0. ])
    """
    outside = _left_out(len(shares))
    inside = shares[:, None] * (1.0 - outside)
    outside *= shares[:, None]
    chosen_by, scored_by, times = parts @ inside, parts @ (outside / outside.sum(axis=0)), np.arange(inside.shape[1])
    highest, lost = chosen_by.max(axis=1), []
    for row, among in choices:
        rivals = among[highest[among] >= chosen_by[row].min()]  # no other set is ever chosen; most are much worse
        again = scored_by[rivals[chosen_by[rivals].argmax(axis=0)], times]
        lost.append(max(float((scored_by[row] - again).mean()), 0.0))
    return np.array(lost)


def _left_out(n_blocks: int) -> Floats:
    """Return which blocks are left out each time, as 0 and 1, shape ``(n_blocks, n_times)``."""
    rng, n_parts = np.random.default_rng(0), min(LEFT_OUT, n_blocks)
    divisions = [rng.permutation(n_blocks) % n_parts for _ in range(N_REPEATS)]
    return np.concatenate([np.arange(n_parts) == of[:, None] for of in divisions], axis=1).astype(np.float64)
