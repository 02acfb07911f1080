"""Cost functions fitted to time samples: one for typical times and one for worst cases."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import linprog, nnls

from polydom_builder.exceptions import FitError
from polydom_runtime.arrays import Floats
from polydom_runtime.costs import BASIS, CostFunction, basis_terms
from polydom_runtime.measuring.tails import tail_quantile

Basis = tuple[int, ...]

MAX_GROWING_TERMS = 2
GOOD_ENOUGH = 1.1
"""A basis with fewer terms is taken if its held-out error is at most this factor times the least one, plus 0.01."""


@dataclass(frozen=True, slots=True)
class CostFit:
    """Two fits of the same samples."""

    typical: CostFunction
    """Non-negative least squares on the median at each size (the paper's fit), in relative error."""
    worst: CostFunction
    """The tightest cost function that is, at every measured size, at least the chosen quantile of the samples and of
    their fitted tail; see `polydom_runtime.measuring.tails`."""
    slack: Floats
    """Shape (n_sizes,). How far `worst` lies above the samples' quantile at each size, as a fraction of it."""
    inflation: Floats
    """Shape (n_sizes,). How far the quantile of the fitted tail lies above that of the samples, as a fraction of it:
    few samples cannot show the rarest times. It is a part of the slack."""


def fit_cost(sizes: Floats, samples: Floats, quantile: float = 0.999, typical: Floats | None = None) -> CostFit:
    """Fit the samples of one unit.

    `sizes` has shape (n_sizes,). `samples` (shape (n_sizes, n_rounds)): seconds. `quantile`: the quantile of the worst
    case, above 0 and at most 1. `typical` (shape (n_sizes, n_rounds)): samples that show the typical time more exactly,
    such as those of blocks of calls; `samples` if not given.

    Raises `FitError` if a sample is not a positive, finite time, or the solver finds no worst case.

    Examples
    --------
    >>> sizes = np.array([10.0, 100.0, 1000.0, 10000.0])
    >>> samples = (2e-6 + 1e-9 * sizes)[:, None] * np.array([1.0, 1.0, 1.5])
    >>> fit = fit_cost(sizes, samples, quantile=1.0)
    >>> print(fit.typical, "|", fit.worst)
    2 µs + 1 ns·n | 3 µs + 1.5 ns·n
    """
    if samples.size == 0 or not (np.isfinite(samples).all() and (samples > 0.0).all()):
        raise FitError("Cost samples must be positive, finite times. Measure again: the clock must not run backwards.")
    medians = np.median(samples if typical is None else typical, axis=1)
    seen, high = np.quantile(samples, quantile, axis=1), tail_quantile(samples, quantile)
    basis = choose_basis(sizes, medians)
    worst = cover(sizes, high, basis)
    slack = np.array([worst(n) for n in sizes]) / seen - 1.0
    return CostFit(_least_squares(sizes, medians, basis), worst, slack, high / seen - 1.0)


def choose_basis(sizes: Floats, targets: Floats) -> Basis:
    """Return the smallest set of growth terms that predicts held-out sizes well.

    Each size is held out once, the first and the last too, so that a basis is also judged by its extrapolation.
    """
    errors = {basis: _held_out_error(sizes, targets, basis) for basis in _bases(len(sizes))}
    limit = min(errors.values()) * GOOD_ENOUGH + 0.01
    return min((b for b in errors if errors[b] <= limit), key=lambda b: (len(b), errors[b]))


def _bases(n_sizes: int) -> Iterator[Basis]:
    for growing in range(min(MAX_GROWING_TERMS, n_sizes - 2) + 1 if n_sizes > 2 else 1):
        yield from ((0, *terms) for terms in combinations(range(1, len(BASIS)), growing))


def _held_out_error(sizes: Floats, targets: Floats, basis: Basis) -> float:
    if len(sizes) < 3:
        return 0.0
    errors = []
    for k in range(len(sizes)):
        rest = np.arange(len(sizes)) != k
        cost = _least_squares(sizes[rest], targets[rest], basis)
        errors.append(abs(cost(float(sizes[k])) / targets[k] - 1.0))
    return float(np.mean(errors))


def _scaled_terms(sizes: Floats, basis: Basis) -> tuple[Floats, Floats]:
    """Return the terms scaled to at most 1, since n³ beside 1 would ruin the solvers, and the scales."""
    terms = basis_terms(sizes)[:, list(basis)]
    scales = np.maximum(terms.max(axis=0), 1e-300)
    return terms / scales, scales


def _least_squares(sizes: Floats, targets: Floats, basis: Basis) -> CostFunction:
    terms, scales = _scaled_terms(sizes, basis)
    weights, _ = nnls(terms / targets[:, None], np.ones(len(targets)))
    return _cost(weights / scales, basis)


def cover(sizes: Floats, targets: Floats, basis: Basis) -> CostFunction:
    """Return the tightest cost function of some growth terms that is at least the target at every size.

    A linear programme: minimise the sum of the relative slacks, subject to fit >= targets and weights >= 0.

    `sizes`, `targets` have shape (n_sizes,). `basis`: the positions of the growth terms in `BASIS`.

    Raises `FitError` if the solver finds no such function.
    """
    terms, scales = _scaled_terms(sizes, basis)
    rows = terms / targets[:, None]
    solution = linprog(rows.sum(axis=0), A_ub=-rows, b_ub=-np.ones(len(targets)), bounds=(0.0, None), method="highs")
    if not solution.success or solution.x is None:
        raise FitError(f"The worst-case fit must have a solution. The solver said: {solution.message}.")
    # The solver is exact to 1e-7. The scaling makes the fit at least the targets in floating point too.
    weights = solution.x / (rows @ solution.x).min() * (1.0 + 1e-12)
    return _cost(weights / scales, basis)


def _cost(weights: Floats, basis: Basis) -> CostFunction:
    full = np.zeros(len(BASIS))
    full[list(basis)] = np.maximum(weights, 0.0)
    a, b, c, d, e, f = full.tolist()
    return CostFunction((a, b, c, d, e, f))
