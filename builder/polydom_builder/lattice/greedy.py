"""The paper's Greedy: sequences of feature sets that trade accuracy for cost at one item size."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain

from polydom_builder.exceptions import LatticeError
from polydom_builder.sets.inputs import ScoreSets, check_parameters

from .limits import LimitedScore, Spent

PAPER_LAMBDAS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
"""The λs of the paper, in score per unit of cost. They were tuned by hand, so scale them to the unit of your costs."""

Order = tuple[int, ...]
"""Features in the order in which they are added."""

Price = Callable[[int], float]
"""The cost of a set at the median size."""


def greedy_sequences(
    n_features: int,
    score: ScoreSets,
    cost: Price,
    lambdas: Sequence[float] = PAPER_LAMBDAS,
    *,
    batch: int = 1,
    max_trainings: int | None = None,
    max_seconds: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[list[Order], dict[int, float]]:
    """Add, for each λ, one feature after another, each time the one with the largest Δscore - λ·Δcost.

    Greedy-Acc, most accurate first, is λ = 0; Greedy-Cost, cheapest first, is λ = inf. (The paper's "Special Cases"
    exchanges the two names.) Of equal gains the cheaper feature comes first, then the one with the lower number.

    Returned are the distinct orders in which features are added, in the order of the λs (no order is the beginning of
    another), and the score of each trained set, among them every prefix of every order.

    `score` is called once for each length of the sequences, with the sets that any λ needs, or with `max_seconds` for
    `batch` sets at a time. The sequences end where the next feature exceeds `max_trainings` or the time; the first λs
    come first, and the first features are found in any case, or `LatticeError` is raised.

    At most L·F·(F + 1)/2 trainings for L values of λ; only F for λ = inf, as the choice then needs no score.

    Feature 0 is expensive and accurate, feature 1 is cheap and adds little, and feature 2 lies between them:

    >>> scores = {0: 0.5, 1: 0.9, 2: 0.6, 4: 0.8, 3: 0.91, 5: 0.95, 6: 0.8, 7: 0.95}
    >>> def cost(mask):
    ...     return sum(c for i, c in enumerate((8.0, 1.0, 3.0)) if mask >> i & 1)
    >>> orders, trained = greedy_sequences(3, lambda masks: [scores[m] for m in masks], cost, [0.0, 0.05, math.inf])
    >>> orders
    [(0, 2, 1), (2, 1, 0), (1, 2, 0)]

    With λ = 0.05 feature 0 gains .4 - .05·8 = 0, feature 1 gains .1 - .05·1 = .05, and feature 2 .3 - .05·3 = .15.
    """
    check_parameters(n_features, 1.0, 0.0, batch)
    _check_lambdas(lambdas)
    price = _checked(cost)
    orders: list[Order] = [() for _ in lambdas]
    least = 1 + (n_features if min(lambdas) < math.inf else min(n_features, 1))
    limited = LimitedScore(score, least, "the empty set and the first features", max_trainings, max_seconds, clock)
    for _ in range(max(n_features, 1)):
        rounds = [_contenders(order, n_features, x, price) for order, x in zip(orders, lambdas, strict=True)]
        masks = [mask for mask in dict.fromkeys((0, *chain(*rounds))) if mask not in limited.trained]
        spent = _is_spent(limited, masks, len(masks) if max_seconds is None else batch)
        steps = zip(orders, rounds, lambdas, strict=True)
        orders = [_longer(order, sets, limited.trained, x, price) for order, sets, x in steps]
        if spent:
            break
    distinct = list(dict.fromkeys(orders))
    begins_another = {order for order in distinct for other in distinct if order == other[: len(order)] != other}
    return [order for order in distinct if order not in begins_another], limited.trained


def _is_spent(limited: LimitedScore, masks: list[int], batch: int) -> bool:
    """Train sets as far as the limits allow; tell whether they ended it."""
    try:
        for k in range(0, len(masks), batch):
            limited(masks[k : k + batch])
    except Spent:
        return True
    return False


def _contenders(order: Order, n_features: int, weight: float, price: Price) -> dict[int, int]:
    """Return the sets that may come next, each with the feature that it adds; with λ = inf only the cheapest."""
    now = sum(1 << i for i in order)
    sets = {now | 1 << i: i for i in range(n_features) if not now >> i & 1}
    if weight < math.inf or not sets:
        return sets
    cheapest = min(sets, key=lambda mask: (price(mask), sets[mask]))
    return {cheapest: sets[cheapest]}


def _longer(order: Order, sets: Mapping[int, int], scores: Mapping[int, float], weight: float, price: Price) -> Order:
    """Return the order with the feature of the largest gain, or as it is if not all that may come next are trained."""
    if not sets or not sets.keys() <= scores.keys():
        return order
    only, *others = sets
    if others:  # not with λ = inf, where 0 · inf would be NaN
        only = max(sets, key=lambda mask: (scores[mask] - weight * price(mask), -price(mask), -mask))
    return (*order, sets[only])


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
