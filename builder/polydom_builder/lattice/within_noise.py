"""The sets that a search by gain keeps, and how much better another set may be than those that answer."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, weights_of
from polydom_builder.sets.query_grid import QueryGrid
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.arrays import Bools, Floats

from .by_gain import CHANCE, Gained
from .candidates import rising
from .proof import Grounds

DRAWS = 400

LIKELY = 1e-4
FAR = 4.0
"""Untrained sets that are less likely than `LIKELY` to come within `FAR` typical errors of those in their place are not
drawn: with its error such a set hardly exceeds them."""


@dataclass(frozen=True, slots=True)
class PairedErrors:
    """Standard errors, from what each block of held-out items contributes to the scores; 0 where nothing is known."""

    parts: Callable[[Sequence[int]], Floats]
    """Returns what each block contributes to the scores of trained sets, shape ``(n_sets, n_blocks)``."""
    shares: Floats
    """Shape (n_blocks,). How much each block counts in a score; they sum to 1."""
    inflation: float = 1.0
    """>= 1. The factor of the variance for the part that folds share; see `Trainer.inflation`."""

    def of(self, masks: Sequence[int], rival: int) -> Floats:
        """Return the standard error of the difference of each set and a rival, shape ``(n_sets,)``."""
        moves = self.moves(masks) - self.moves([rival])
        errors: Floats = np.sqrt((moves * moves).sum(axis=1))
        return errors

    def moves(self, masks: Sequence[int]) -> Floats:
        """Return the standard deviations by which each block moves the score of each set, ``(n_sets, n_blocks)``."""
        table = self.parts(masks).reshape(len(masks), len(self.shares))
        n = len(self.shares)
        factor = np.sqrt(self.inflation * n / (n - 1)) if n > 1 else 0.0
        known = np.isfinite(table).all(axis=1)
        moves = np.zeros_like(table)
        moves[known] = (table[known] - (table[known] @ self.shares)[:, None]) * self.shares * factor
        return moves

    def are_known(self, masks: Sequence[int]) -> bool:
        """Tell whether there are two blocks or more, and the scorer gives each a number for each set."""
        return len(self.shares) > 1 and bool(np.isfinite(self.parts(masks)).all())

    def typical(self, rivals: Mapping[int, int]) -> float:
        """Return the median standard error of the differences of sets and their rivals; 0 without any."""
        found = [float(self.of([mask], rival)[0]) for mask, rival in rivals.items()]
        return float(np.median(found)) if found else 0.0


def select_within_noise(
    expanded: Mapping[int, float], costs: CostsOfSets, region: QueryRegion, errors: PairedErrors, times: float = 1.0
) -> list[int]:
    """Drop each trained set that a cheaper kept set covers and that is better by at most `times` standard errors.

    This is the one-standard-error rule of Breiman et al. (1984): among models that cannot be told apart, the simplest.
    Sets that fit nowhere are left out, except the empty set.
    """
    masks = np.array(list(expanded), dtype=np.int64)
    weights = weights_of(costs, masks)
    order = rising(masks, weights, region)
    masks, prepared = masks[order], Costs(weights[order], region)
    scores = np.array([expanded[mask] for mask in masks.tolist()])
    dropped: Bools = np.isneginf(prepared.far) & (masks != 0)
    kept = []
    for row, mask in enumerate(masks.tolist()):
        if dropped[row]:
            continue
        kept.append(mask)
        later = row + 1 + np.flatnonzero(~dropped[row + 1 :])
        later = later[prepared.take(later).covered_by(prepared, row)]
        noise = times * errors.of(masks[later].tolist(), mask) if times else 0.0
        dropped[later] = scores[later] - scores[row] <= noise
    return kept


def margin_of(
    found: Gained, kept: Sequence[int], costs: CostsOfSets, region: QueryRegion, errors: PairedErrors
) -> float:
    """Return by how much, at most, another set is better than the kept one that answers: with 95 % at each query.

    It is the largest 0.95 quantile over a grid of queries. Drawn are the errors of trained sets, block by block, so
    that those of similar sets are similar, and the guessed scores of untrained sets with a typical error.
    """
    rng, grid = np.random.default_rng(0), QueryGrid.of(region, costs)
    trained = list(found.expanded)
    scores = np.array(list(found.expanded.values()))
    fits = grid.fits(weights_of(costs, np.array(trained))) | (np.array(trained) == 0)
    answers = np.where(fits & np.isin(trained, kept), scores, -np.inf).argmax(axis=1)
    drawn = scores + _errors(rng, errors, trained)

    others = grid.fits(weights_of(costs, found.untrained))
    levels = np.where(others, scores[answers][:, None], np.inf).min(axis=0, initial=np.inf)
    likely = found.guesses.above(levels - FAR * found.noise) > LIKELY
    guesses, others = found.guesses.take(likely), others[:, likely]
    guessed = guesses.scale.lowered(guesses.means + rng.normal(size=(DRAWS, len(guesses.means))) * guesses.deviations)
    guessed = guessed + found.noise * rng.normal(size=guessed.shape)

    worst = 0.0
    for answer, here, there in zip(answers.tolist(), fits, others, strict=True):
        ahead = (drawn[:, here] - drawn[:, [answer]]).max(axis=1)
        unseen = (guessed[:, there] - scores[answer]).max(axis=1, initial=-np.inf)
        worst = max(worst, float(np.quantile(np.maximum(ahead, unseen), 1.0 - CHANCE)))
    return worst


def grounds_of(found: Gained, margin: float, errors: PairedErrors) -> Grounds:
    """Return a margin with what it rests on."""
    parts = errors.parts(list(found.expanded)).reshape(-1, len(errors.shares))
    scale, shape = astuple(found.guesses.scale), astuple(found.shape)
    return Grounds(margin, parts, errors.shares, errors.inflation, found.noise, scale, shape, found.all_weighed)


def warn_if_all_is_noise(expanded: Mapping[int, float], errors: PairedErrors) -> None:
    """Warn if even the best set cannot be told from the answer without features, and how many items could do it."""
    best = max(expanded, key=expanded.__getitem__)
    lead, error = expanded[best] - expanded[0], float(errors.of([best], 0)[0])
    if 0.0 < lead < 2.0 * error:
        warnings.warn(
            f"Nothing can be told apart: the best feature set scores {lead:.2g} more than the answer without features, "
            f"which may be chance (standard error {error:.2g}). More items are needed, about "
            f"{(2.0 * error / lead) ** 2:.0f} times as many, and of more groups if there are groups.",
            stacklevel=4,
        )


def _errors(rng: np.random.Generator, errors: PairedErrors, masks: Sequence[int]) -> Floats:
    """Return drawn errors of scores, shape ``(DRAWS, n_sets)``; of few blocks some are large, as with Student's t."""
    moves = errors.moves(masks)
    n = max(moves.shape[1] - 1, 1)
    widths = np.sqrt(n / rng.chisquare(n, size=(DRAWS, 1)))
    drawn: Floats = widths * (rng.normal(size=(DRAWS, moves.shape[1])) @ moves.T)
    return drawn
