"""Checks that a margin follows from what it rests on: the errors of trained sets and the guesses of the others."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.special import ndtr

from polydom_builder.lattice.proof import Grounds, Proof
from polydom_builder.sets.set_costs import TabledCosts
from polydom_runtime.arrays import Bools, Floats, Masks
from polydom_runtime.bundles.checks import TIE
from polydom_runtime.costs import basis_terms
from polydom_runtime.tables import percent

from .proof_checks import BRUTE_FORCE_FEATURES, set_weights

CERTAINTY = 0.95
"""At each query the margin must hold with this certainty, and at this share of queries the check must confirm it."""

N_CHECKED, CHECK_DRAWS = 200, 2000

ROOM, ROOM_OF_RANGE = 0.1, 0.005
"""Shares of the margin (`ROOM`) and of the range of scores (`ROOM_OF_RANGE`) that are added to a margin for the
randomness of draws and queries."""

AT_RANDOM, NEAR_KEPT = 4000, 12_000
"""The sets that are weighed if there are many features. `AT_RANDOM`: number of random ones. `NEAR_KEPT`: number of
those that differ from a kept set a little."""

MOST_SURPRISE = 2.5
"""The largest `surprise` allowed; about 1 is expected, and processes fitted to few sets reach 1.7."""

SEED = 7

CONSTANT = 10.0
"""Prior variance of what all sets have in common."""

NEAREST = 1e-6
"""A score near or above the ceiling counts as one that lies this share of the unit below it."""

GUESSES_AT_ONCE = 4096
"""Sets that are guessed at a time, to limit the memory."""

INTEGRATION_POINTS = 32
"""Numerical integration over an error of a score takes this number of its values."""


@dataclass(frozen=True, slots=True)
class SetGuesses:
    """A Gaussian process over feature sets, given the scores t of the trained ones on its own scale.

    This is deliberately other code than that of the search, so that an error there is not repeated here.
    """

    grounds: Grounds
    trained: Masks
    """Shape (n_trained,). The masks of the trained sets."""
    root: Floats
    """Shape (n_trained, n_trained). The lower triangle whose product with itself is the covariance."""
    solved: Floats
    """Shape (n_trained,). How many deviations each t lies off, guessed from those before it."""

    @classmethod
    def of(cls, proof: Proof, grounds: Grounds) -> "SetGuesses | None":
        """Return the guesses after the trained sets of a proof; None if they cannot be computed."""
        n = len(proof.expanded)
        covariance = _covariances(grounds, proof.expanded, proof.expanded) + grounds.shape[4] * np.eye(n)
        values = _values(grounds, proof.scores)
        try:
            root = cholesky(covariance, lower=True)
            return cls(grounds, proof.expanded, root, solve_triangular(root, values, lower=True))
        except (LinAlgError, ValueError):  # of a covariance that is singular, or not finite
            return None

    def surprise(self) -> float:
        """Return the mean squared deviation of each set from its guess by those before; about 1 if the process fits."""
        return float(np.minimum(self.solved * self.solved, 9.0).mean())

    def chances_below(self, masks: Masks, scores: Floats) -> Floats:
        """Return log P(score of a set <= a score), with an error of the typical size; ``(n_scores, n_sets)``."""
        places, weights = np.polynomial.hermite_e.hermegauss(INTEGRATION_POINTS)
        levels = scores[:, None] - self.grounds.noise * places
        limits = np.where(levels < self.grounds.scale[0], _values(self.grounds, levels), np.inf)
        found = np.empty((len(scores), len(masks)))
        for start in range(0, len(masks), GUESSES_AT_ONCE):
            block = slice(start, start + GUESSES_AT_ONCE)
            means, deviations = self._guessed(masks[block])
            for row, limit in enumerate(limits):
                chances = ndtr((limit - means[:, None]) / deviations[:, None]) @ (weights / weights.sum())
                found[row, block] = np.log(np.maximum(chances, 1e-300))
        return found

    def _guessed(self, masks: Masks) -> tuple[Floats, Floats]:
        noise = self.grounds.shape[4]
        rows = solve_triangular(self.root, _covariances(self.grounds, self.trained, masks), lower=True)
        means = rows.T @ self.solved
        left = _alone(self.grounds, masks) - (rows * rows).sum(axis=0)
        return means, np.sqrt(np.maximum(left, 0.0) + noise)


def _values(grounds: Grounds, scores: Floats) -> Floats:
    ceiling, unit, mean, deviation = grounds.scale
    values: Floats = -(np.log(np.maximum((ceiling - scores) / unit, NEAREST)) + mean) / deviation
    return values


def _covariances(grounds: Grounds, some: Masks, others: Masks) -> Floats:
    """Return the covariances of the t of sets: a constant, sums of features that saturate, and a part of near sets."""
    scale, slope, local, length, _ = grounds.shape
    common = np.bitwise_count(some[:, None] & others).astype(np.float64)
    apart = np.bitwise_count(some[:, None] ^ others).astype(np.float64)
    own, theirs = 1.0 + slope * np.bitwise_count(some)[:, None], 1.0 + slope * np.bitwise_count(others)
    saturating = np.arcsin(np.minimum((0.5 + slope * common) / np.sqrt(own) / np.sqrt(theirs), 1.0))
    covariances: Floats = CONSTANT + scale * saturating + local * np.exp(-apart / length)
    return covariances


def _alone(grounds: Grounds, masks: Masks) -> Floats:
    """Return the variances of sets."""
    scale, slope, local, _, _ = grounds.shape
    sizes = slope * np.bitwise_count(masks)
    variances: Floats = CONSTANT + scale * np.arcsin((0.5 + sizes) / (1.0 + sizes)) + local
    return variances


@dataclass(frozen=True, slots=True)
class _Asked:
    """Queries, each with the row of the kept set that answers (-1 if none does), and which sets fit."""

    answers: "np.ndarray[tuple[int], np.dtype[np.intp]]"
    trained: Bools
    untrained: Bools


def margin_faults(proof: Proof) -> Iterator[str]:
    """Check the margin of a proof, if there is one; yield a line for each fault.

    The parts must average to the scores, the typical error must be that of the parts, the process must fit the scores,
    and at nearly all random queries no set may exceed the answer by more than the margin, with 95 % certainty. Not
    checked are the parts themselves, and whether untrained sets are like the trained ones. O(n_trained³ + n_trained² ·
    n_sets) for up to 16 features; of more, part of the sets are weighed.
    """
    if proof.grounds is None:
        return
    with np.errstate(all="ignore"):  # of numbers that are absurd; what follows from them is no certainty
        yield from _part_faults(proof, proof.grounds)
        guesses = SetGuesses.of(proof, proof.grounds)
        if guesses is None:
            yield "the process that guesses the scores of untrained sets cannot be computed"
            return
        if not (off := guesses.surprise()) <= MOST_SURPRISE:
            yield (
                "the process that guesses scores does not fit: the squares of the deviations by which trained sets "
                f"lie off are {off:.3g} in the mean, and not about 1"
            )
        yield from _uncertain(proof, proof.grounds, guesses)


def margin_text(grounds: Grounds | None) -> str:
    """Say which part of a margin was checked and which cannot be; empty without one."""
    if grounds is None:
        return ""
    weighed = "" if grounds.all_weighed else ", of which the search weighed a part,"
    return (
        f"margin of {grounds.margin:.2g} computed again for {N_CHECKED} queries; that untrained sets{weighed} are like "
        "the trained ones is assumed, and cannot be checked"
    )


def _part_faults(proof: Proof, grounds: Grounds) -> Iterator[str]:
    means, errors = grounds.parts @ grounds.shares, np.sqrt((_moves(grounds) ** 2).sum(axis=1))
    # A score that is no mean over items differs from the mean of its parts by less than its error; an R² is at least 0.
    off = np.minimum(np.abs(means - proof.scores), np.where(proof.scores == 0.0, np.maximum(means, 0.0), np.inf))
    rounding = TIE * np.abs(proof.scores).max(initial=0.0)  # one score near 0 may be the difference of large numbers
    for row in np.flatnonzero(~(off <= errors + rounding)).tolist():
        yield f"set {proof.expanded[row]:#b} scores {proof.scores[row]:.9g}, but its parts average to {means[row]:.9g}"


def _uncertain(proof: Proof, grounds: Grounds, guesses: SetGuesses) -> Iterator[str]:
    """Look for queries at which the margin is less certain than it should be, and compare the typical error."""
    rng = np.random.default_rng(SEED)
    masks = _weighed(proof, rng)
    asked, moves = _asked(proof, masks, rng), _moves(grounds)
    typical = _typical_error(proof, asked, moves)
    least = 10.0 * TIE * float(np.abs(proof.scores).max())  # smaller differences of scores are none
    if not 0.5 * typical - least <= grounds.noise <= 2.0 * typical + least:
        yield f"the typical error is {typical:.3g} by the parts, but stated as {grounds.noise:.3g}"
    allowed = (1.0 + ROOM) * grounds.margin + ROOM_OF_RANGE * float(np.ptp(proof.scores)) + least
    width = max(moves.shape[1] - 1, 1)
    drawn = np.sqrt(width / rng.chisquare(width, (CHECK_DRAWS, 1))) * (
        rng.normal(size=(CHECK_DRAWS, moves.shape[1])) @ moves.T
    )
    scores = drawn + proof.scores
    answers, places = np.unique(asked.answers, return_inverse=True)
    below = guesses.chances_below(masks, proof.scores[answers] + allowed)
    certain = np.zeros(N_CHECKED)
    for query in np.flatnonzero(asked.answers >= 0).tolist():
        here, there = asked.trained[query], asked.untrained[query]
        kept = (scores[:, here].max(axis=1) <= scores[:, asked.answers[query]] + allowed).mean()
        certain[query] = kept * np.exp(below[places[query], there].sum())
    if (certain >= CERTAINTY).mean() < CERTAINTY:
        yield (
            f"the margin of {grounds.margin:.3g} is too small: at {(certain < CERTAINTY).sum()} of {N_CHECKED} sizes "
            f"and budgets it holds with less than {percent(CERTAINTY)} certainty, down to {percent(certain.min())}"
        )


def _moves(grounds: Grounds) -> Floats:
    """Return the errors of scores that each block makes, as standard deviations, shape ``(n_trained, n_blocks)``."""
    n = len(grounds.shares)
    apart = grounds.parts - (grounds.parts @ grounds.shares)[:, None]
    moves: Floats = apart * grounds.shares * np.sqrt(grounds.inflation * n / max(n - 1, 1)) * (n > 1)
    return moves


def _weighed(proof: Proof, rng: np.random.Generator) -> Masks:
    """Return the untrained sets to weigh: all whose cost is known or, of many features, a part of them."""
    n = proof.costs.n_features
    if isinstance(proof.costs, TabledCosts):
        found = proof.costs.masks
        found = (
            rng.choice(found, AT_RANDOM + NEAR_KEPT, replace=False) if len(found) > 1 << BRUTE_FORCE_FEATURES else found
        )
    elif n <= BRUTE_FORCE_FEATURES:
        found = np.arange(1 << n)
    else:
        singles = 1 << np.arange(n)
        once = (proof.kept[:, None] ^ singles).ravel()
        near = np.unique(np.concatenate([once, rng.choice(once, NEAR_KEPT) ^ rng.choice(singles, NEAR_KEPT)]))
        some = (rng.random((AT_RANDOM, n)) < rng.random((AT_RANDOM, 1))) @ singles
        found = np.concatenate([rng.permutation(near)[:NEAR_KEPT], some])
    return np.setdiff1d(found, proof.expanded)


def _asked(proof: Proof, masks: Masks, rng: np.random.Generator) -> _Asked:
    """Return random queries over the logarithms of sizes, and of budgets from the cheapest set to all features."""
    n, (least, most) = len(proof.expanded), proof.region.budgets
    every = np.concatenate([proof.expanded, masks])
    weights, able = set_weights(proof, every), np.isin(proof.expanded, proof.kept)
    low, high = np.log1p(proof.region.sizes).tolist()
    sizes = np.expm1(rng.uniform(low, high, N_CHECKED)).clip(*proof.region.sizes)
    answers, fitting = np.full(N_CHECKED, -1), np.zeros((N_CHECKED, len(every)), dtype=np.bool_)
    for row, terms in enumerate(basis_terms(sizes)):
        costs = weights @ terms
        low = np.clip(costs[every != 0].min(initial=most), least, most)
        high = np.clip(costs.max(), low, most)
        budget = low * (high / low) ** rng.random() if low > 0.0 else rng.uniform(low, high)
        fitting[row] = (costs <= budget * (1.0 + TIE)) | (every == 0)
        if (rows := np.flatnonzero(fitting[row, :n] & able)).size:
            answers[row] = rows[proof.scores[rows].argmax()]
    return _Asked(answers, fitting[:, :n], fitting[:, n:])


def _typical_error(proof: Proof, asked: _Asked, moves: Floats) -> float:
    """Return the median error of the difference of a trained set and the best one where it fits and that is worst."""
    best = np.where(asked.trained, proof.scores, -np.inf).argmax(axis=1)
    errors = []
    for row, fits in enumerate(asked.trained.T):
        rivals = best[fits]
        if rivals.size and (rival := rivals[proof.scores[rivals].argmin()]) != row:
            errors.append(np.sqrt(((moves[row] - moves[rival]) ** 2).sum()))
    return float(np.median(errors)) if errors else 0.0
