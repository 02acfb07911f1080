"""The untrained sets that a search by gain chooses from: all that fit or, of a large lattice, those that may matter."""

from collections.abc import Mapping

import numpy as np

from polydom_builder.sets.inputs import CostsOfSets, weights_of
from polydom_builder.sets.query_grid import QueryGrid
from polydom_builder.sets.region import QueryRegion, costs_at_sizes
from polydom_runtime.arrays import Bools, Floats, Masks

from .set_process import Guesses

WHOLE = 16
"""The most features of a lattice of which all sets are weighed: at most 65,536."""

AT_RANDOM, NEAR_ANSWERS = 4_000, 12_000
"""The sets that are weighed of a larger lattice. `AT_RANDOM`: number of random ones. `NEAR_ANSWERS`: number of those
that differ from an answer by up to two features."""

BLOCK_OF_GAINS = 1 << 24
"""Numbers that are computed at a time, to limit the memory."""


class SetPool:
    """Untrained sets that fit somewhere, all of them if `is_whole`; `fits` has the shape (n_queries, n_sets)."""

    def __init__(self, costs: CostsOfSets, region: QueryRegion, grid: QueryGrid) -> None:
        self._costs, self._region, self._grid = costs, region, grid
        self._n = costs.n_features
        self.is_whole = self._n <= WHOLE
        self._rng = np.random.default_rng(0)
        self._all = self._fitting(np.arange(1, 1 << self._n, dtype=np.int64)) if self.is_whole else None
        self.masks = np.empty(0, dtype=np.int64)
        self.fits = np.empty((len(grid.budgets), 0), dtype=np.bool_)

    def renew(self, trained: Mapping[int, float], answers: Masks) -> None:
        """Choose the sets anew, given the trained ones and the answers to the queries of the grid."""
        masks = self._likely(np.unique(answers)) if self._all is None else self._all
        self.masks = masks[~np.isin(masks, np.fromiter(trained, np.int64, len(trained)))]
        self.fits = self._grid.fits(weights_of(self._costs, self.masks))
        self._leave(np.asarray(self.fits.any(axis=0)))

    def leave_out(self, trained: list[int]) -> Bools:
        """Remove sets that were trained; return which ones stay."""
        stays = ~np.isin(self.masks, trained)
        self._leave(stays)
        return stays

    def levels(self, levels: Floats) -> Floats:
        """Return the lowest level among the queries that each set fits: there it may be missed most."""
        lowest = np.full(len(self.masks), np.inf)
        for level, fits in zip(levels, self.fits, strict=True):
            np.minimum(lowest, level, out=lowest, where=fits)
        return lowest

    def gains(self, guesses: Guesses, levels: Floats) -> Floats:
        """Return the expected gain of each set over the levels, in the mean over all queries; shape ``(n_sets,)``."""
        different, places = np.unique(levels, return_inverse=True)
        there = (places == np.arange(len(different))[:, None]).astype(np.float32)
        total = np.zeros(len(self.masks))
        step = max(BLOCK_OF_GAINS // max(len(different), 1), 1)
        for start in range(0, len(total), step):
            block = slice(start, start + step)
            gains = guesses.take(np.arange(len(total))[block]).gains(different)
            counts = there @ self.fits[:, block].astype(np.float32)  # exact: far fewer than 2^24
            total[block] = (gains * counts).sum(axis=0)
        return total / len(levels)

    def _leave(self, stays: Bools) -> None:
        self.masks, self.fits = self.masks[stays], self.fits[:, stays]

    def _fitting(self, masks: Masks) -> Masks:
        near, most = self._region.sizes[0], self._region.budgets[1]
        return masks[costs_at_sizes(weights_of(self._costs, masks), np.full(len(masks), near)) <= most]

    def _likely(self, answers: Masks) -> Masks:
        """Return single features, sets that differ from an answer by one or two features, and sets at random."""
        singles = 1 << np.arange(self._n, dtype=np.int64)
        once = (answers[:, None] ^ singles).ravel()
        twice = self._rng.choice(once, NEAR_ANSWERS) ^ self._rng.choice(singles, NEAR_ANSWERS)
        shares = self._rng.random((AT_RANDOM, 1))
        drawn = (self._rng.random((AT_RANDOM, self._n)) < shares).astype(np.int64) @ singles
        masks = np.unique(np.concatenate([singles, once, twice, drawn]))
        return self._fitting(masks[masks > 0])
