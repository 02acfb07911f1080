"""The paper's Greedy: sequences of feature sets that trade accuracy for cost at one item size."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from polydom_builder.exceptions import LatticeError

from .inputs import Score, ask, check_parameters

PAPER_LAMBDAS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
"""The λs of the paper, in score per unit of cost. They were tuned by hand, so scale them to the unit of your costs."""

Order = tuple[int, ...]
"""Features in the order in which they are added."""

Price = Callable[[int], float]
"""The cost of a set at the median size."""


def greedy_sequences(
    n_features: int, score: Score, cost: Price, lambdas: Sequence[float] = PAPER_LAMBDAS
) -> tuple[list[Order], dict[int, float]]:
    """Add, for each λ, one feature after another, each time the one with the largest Δscore - λ·Δcost.

    Greedy-Acc, most accurate first, is λ = 0; Greedy-Cost, cheapest first, is λ = inf. (The paper's "Special Cases"
    exchanges the two names.) Of equal gains the cheaper feature comes first, then the one with the lower number.

    Parameters
    ----------
    n_features : int
    score : callable
        ``score(masks)`` trains a list of sets and returns their scores. It is called once for each length of the
        sequences, with the sets that any of the λs needs, each once: they can all be trained in parallel.
    cost : callable
        ``cost(mask)`` is the cost of a set at the median size, in the unit that the λs are given for.
    lambdas : sequence of float, >= 0
        λ, in score per unit of cost; ``math.inf`` is allowed.

    Returns
    -------
    orders : list of tuple of int
        The distinct orders in which all features are added, in the order of the λs.
    scores : dict of int to float
        Score of each trained set, with the empty set and every prefix of every order.

    Raises
    ------
    LatticeError
        If there is no λ, a λ is negative or NaN, or a score or cost is not finite.

    Notes
    -----
    At most one training for each λ, each step and each feature that may be added in it: L·F·(F + 1)/2 for L values of
    λ. Only F for λ = inf, as the choice then needs no score.

    Examples
    --------
    Feature 0 is expensive and accurate, feature 1 is cheap and adds little, and feature 2 lies between them:

    >>> scores = {0: 0.5, 1: 0.9, 2: 0.6, 4: 0.8, 3: 0.91, 5: 0.95, 6: 0.8, 7: 0.95}
    >>> def cost(mask):
    ...     return sum(c for i, c in enumerate((8.0, 1.0, 3.0)) if mask >> i & 1)
    >>> orders, trained = greedy_sequences(3, lambda masks: [scores[m] for m in masks], cost, [0.0, 0.05, math.inf])
    >>> orders
    [(0, 2, 1), (2, 1, 0), (1, 2, 0)]

    With λ = 0.05 feature 0 gains .4 - .05·8 = 0, feature 1 gains .1 - .05·1 = .05, and feature 2 .3 - .05·3 = .15.
    """
    check_parameters(n_features, 1.0, 0.0)
    _check_lambdas(lambdas)
    price = _checked(cost)
    orders: list[Order] = [() for _ in lambdas]
    scores = dict(zip([0], ask(score, [0], 1.0), strict=True)) if n_features == 0 else {}
    for _ in range(n_features):
        rounds = [_contenders(order, n_features, x, price) for order, x in zip(orders, lambdas, strict=True)]
        masks = sorted({0}.union(*rounds) - scores.keys())
        scores.update(zip(masks, ask(score, masks, 1.0), strict=True))
        chosen = [_best(sets, scores, x, price) for sets, x in zip(rounds, lambdas, strict=True)]
        orders = [(*order, sets[mask]) for order, sets, mask in zip(orders, rounds, chosen, strict=True)]
    return list(dict.fromkeys(orders)), scores


def _contenders(order: Order, n_features: int, weight: float, price: Price) -> dict[int, int]:
    """Return the sets that may come next, each with the feature that it adds; with λ = inf only the cheapest."""
    now = sum(1 << i for i in order)
    sets = {now | 1 << i: i for i in range(n_features) if not now >> i & 1}
    if weight < math.inf:
        return sets
    cheapest = min(sets, key=lambda mask: (price(mask), sets[mask]))
    return {cheapest: sets[cheapest]}


def _best(sets: Iterable[int], scores: Mapping[int, float], weight: float, price: Price) -> int:
    """Return the set with the largest gain; all extend the same set, so score - λ·cost ranks them as the gain does."""
    only, *others = sets
    if not others:
        return only  # also with λ = inf, where 0 · inf would be NaN
    return max((only, *others), key=lambda mask: (scores[mask] - weight * price(mask), -price(mask), -mask))


def _checked(cost: Price) -> Price:
    """Return `cost` with a cache and a check that every cost is finite."""

    @cache
    def price(mask: int) -> float:
        value = float(cost(mask))
        if not math.isfinite(value):
            raise LatticeError(
                f"Every cost at the median size must be finite. Got {value} for the set {mask:#b}. Fit the costs again."
            )
        return value

    return price


def _check_lambdas(lambdas: Sequence[float]) -> None:
    if len(lambdas) == 0 or not all(weight >= 0.0 for weight in lambdas):
        raise LatticeError(
            f"Greedy must have at least one λ, each >= 0. Got {list(lambdas)}. Use PAPER_LAMBDAS, or 0 for the most "
            "accurate feature first and math.inf for the cheapest."
        )
