"""The sets that a search by gain keeps, and how much better another set may be than those that answer."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import astuple

import numpy as np

from polydom_builder.sets.covers import Costs
from polydom_builder.sets.inputs import CostsOfSets, weights_of
from polydom_builder.sets.query_grid import QueryGrid
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.arrays import Bools, Floats

from .by_gain import CHANCE, Gained
from .candidates import rising
from .grounds import Grounds
from .paired_errors import PairedErrors

DRAWS = 400

LIKELY = 1e-4
FAR = 4.0
"""Untrained sets that are less likely than `LIKELY` to come within so many typical errors of those in their place are
not drawn: with its error such a set hardly exceeds them."""


def select_within_noise(
    expanded: Mapping[int, float], costs: CostsOfSets, region: QueryRegion, errors: PairedErrors, times: float = 1.0
) -> list[int]:
    """Drop each trained set that a cheaper kept set covers and that is better by no more than the noise.

    This is the one-standard-error rule of Breiman et al. (1984): among models that cannot be told apart, the simplest.

    `expanded`: score of each trained set. `times` (>= 0): the standard errors that make up the noise; with 0 only sets
    that are not better are dropped.

    The result: masks, cheap sets first. Sets that fit nowhere are left out, except the empty set.
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

    Drawn are the errors of the scores of trained sets, block by block, so that those of similar sets are similar; and
    the scores of untrained sets as they are guessed, with a typical error. It is the largest of the 0.95 quantiles over
    a grid of queries.

    `kept`: the sets that answer.
    """
    rng, grid = np.random.default_rng(0), QueryGrid.of(region, costs)
    trained, untrained = list(found.expanded), found.untrained
    scores = np.array(list(found.expanded.values()))
    fits = _fits(grid, costs, trained) | (np.array(trained) == 0)
    answers = _answers(scores, fits, np.isin(trained, kept))
    drawn = scores + _errors(rng, errors, trained)

    others = grid.fits(weights_of(costs, untrained.masks))
    levels = np.where(others, scores[answers][:, None], np.inf).min(axis=0, initial=np.inf)
    likely = untrained.guesses.above(levels - FAR * found.noise) > LIKELY
    guesses, others = untrained.guesses.take(likely), others[:, likely]
    guessed = guesses.scale.lowered(guesses.means + rng.normal(size=(DRAWS, len(guesses.means))) * guesses.deviations)
    guessed = guessed + found.noise * rng.normal(size=guessed.shape)

    worst = 0.0
    for answer, here, there in zip(answers.tolist(), fits, others, strict=True):
        ahead = (drawn[:, here] - drawn[:, [answer]]).max(axis=1)
        unseen = (guessed[:, there] - scores[answer]).max(axis=1, initial=-np.inf)
        worst = max(worst, float(np.quantile(np.maximum(ahead, unseen), 1.0 - CHANCE)))
    return worst


def grounds_of(found: Gained, margin: float, errors: PairedErrors) -> Grounds:
    """Return what a margin rests on, from the arguments of `margin_of`."""
    parts = errors.parts(list(found.expanded)).reshape(-1, len(errors.shares))
    untrained = found.untrained
    scale, shape = astuple(untrained.guesses.scale), astuple(untrained.shape)
    return Grounds(margin, parts, errors.shares, errors.inflation, found.noise, scale, shape, untrained.all_weighed)


def warn_if_all_is_noise(expanded: Mapping[int, float], errors: PairedErrors) -> None:
    """Warn if even the best set cannot be told from the answer without features, and say how many items could do it.

    It is told apart if it scores more by two standard errors. These fall with the square root of the number of items.
    """
    best = max(expanded, key=expanded.__getitem__)
    lead, error = expanded[best] - expanded[0], float(errors.of([best], 0)[0])
    if 0.0 < lead < 2.0 * error:
        warnings.warn(
            f"Nothing can be told apart: the best feature set scores {lead:.2g} more than the answer without features, "
            f"which may be chance (standard error {error:.2g}). More items are needed, about "
            f"{(2.0 * error / lead) ** 2:.0f} times as many, and of more groups if there are groups.",
            stacklevel=4,
        )


def _fits(grid: QueryGrid, costs: CostsOfSets, masks: Sequence[int]) -> Bools:
    return grid.fits(weights_of(costs, np.array(masks, dtype=np.int64)))


def _answers(scores: Floats, fits: Bools, able: Bools) -> "np.ndarray[tuple[int, ...], np.dtype[np.intp]]":
    """Return the row of the kept set that answers each query."""
    found: np.ndarray[tuple[int, ...], np.dtype[np.intp]] = np.where(fits & able, scores, -np.inf).argmax(axis=1)
    return found


def _errors(rng: np.random.Generator, errors: PairedErrors, masks: Sequence[int]) -> Floats:
    """Return drawn errors of scores, shape ``(DRAWS, n_sets)``; of few blocks some are large, as with Student's t."""
    moves = errors.moves(masks)
    n = max(moves.shape[1] - 1, 1)
    widths = np.sqrt(n / rng.chisquare(n, size=(DRAWS, 1)))
    drawn: Floats = widths * (rng.normal(size=(DRAWS, moves.shape[1])) @ moves.T)
    return drawn
