"""The models that a bundle ships if not all that are best somewhere fit its limits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from polydom_builder.costs.model_limits import costs_of_models, keeps
from polydom_builder.index.model_choice import Choices, best_choice, greedy_choice
from polydom_builder.sets.expected_queries import ExpectedQueries
from polydom_builder.sets.region import QueryRegion
from polydom_runtime.arrays import Bools, Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.bundles.promise import Amount, LeftOut, Limits, Shipping
from polydom_runtime.tables import format_bytes

from .assembly import indexed, quickest_models
from .export import Order, models_to_export

FEW_MODELS, MORE_MODELS = (1, 2, 4, 8), (16, 32, 64)
"""Numbers of models with which good choices are looked for: few models may need other sets than those of the index."""

Which = tuple[Order, str]
"""A model: the order of its features, and its estimator."""


def promising_models(
    best: Sequence[Which],
    trained: Iterable[tuple[Which, Candidate]],
    prior: float,
    limits: Limits,
    grid: ExpectedQueries,
    quickest: str,
) -> list[Which]:
    """Return the models that may be shipped within the limits.

    These are the best ones as far as `max_models` reaches, and good choices of few models among all `trained` sets of
    few features, with the scores of the search. `prior`: the score of the answer without features. `quickest`: the
    estimator that prefixes have models of.
    """
    if not (limits.max_models or limits.max_bytes):
        return [*best]
    known = dict(trained)
    models = models_to_export([*known], quickest)
    worth = np.full((len(models), len(grid.sizes) * len(grid.deadlines)), prior)
    worth[[model in known for model in models]] = grid.worth([known[m] for m in models if m in known], prior)
    numbers = {order: number for number, (order, name) in enumerate(models) if name == quickest}
    choices = _choices([order for order, _ in models], numbers, worth, prior)
    counts = [count for count in FEW_MODELS if count <= (limits.max_models or count)]
    few = [models[number] for count in counts for number in np.flatnonzero(_some(choices, count)).tolist()]
    return [*dict.fromkeys([*((order[: limits.max_models or None], name) for order, name in best), *few])]


def within_limits(
    draft: Bundle, region: QueryRegion, limits: Limits, sizes: Sequence[float], searched: Mapping[Which, Candidate]
) -> Bundle:
    """Return the bundle with its index, and with the models that lose least of the mean score within the limits.

    `draft`: the bundle with every model that may be shipped, without an index. `sizes`: the sizes of expected items.
    `searched`: the models that are best somewhere, with the scores of the search, for those that were not exported.
    """
    whole, prior = indexed(draft, region), draft.prior.accuracy
    candidates = [draft.candidate(number) for number in range(len(draft.models))]
    grid = ExpectedQueries.of(sizes, region.sizes, draft.promise.budgets, [c.cost for c in candidates])
    orders, quickest = [model.order for model in draft.models], quickest_models(draft.models)
    choices = _choices(orders, quickest, grid.worth(candidates, prior), prior)

    bundle, bound = whole, np.inf
    if not keeps(limits, _files(whole)):
        bundle, bound = _best_part(draft, region, limits, choices)
    absent = {model: searched[model] for model in sorted(searched.keys() - _models(draft))}
    shipped, all_there = _of(draft, bundle), _of(draft, whole)
    best = choices.worth[all_there].max(axis=0, initial=prior)
    best = np.maximum(best, grid.worth([*absent.values()], prior).max(axis=0, initial=prior))
    score = choices.score(shipped)
    full = max(score, float(best.mean()))
    usual = min((model.seconds, model.estimator) for model in draft.models)[1] if absent and draft.models else ""
    every = _models(whole) | {*models_to_export([*absent], usual)}
    return replace(
        bundle,
        shipping=Shipping(
            limits,
            len(every - _models(bundle)),
            len(every),
            score,
            full,
            max(score, min(bound, full)),
            tuple(
                LeftOut(c.mask, c.accuracy, c.cost, c.estimator) for c in (*_missing(whole, bundle), *absent.values())
            ),
            _curve(draft, choices, all_there, full),
            grid.sizes,
            grid.deadlines,
        ),
    )


def only_prior_text(bundle: Bundle) -> str:
    """Return a warning that limits left out all models; empty if there are models, or limits left out none."""
    stated = bundle.shipping
    if bundle.models or not stated.n_left_out:
        return ""
    prior, sizes = bundle.prior.accuracy, ""
    if smallest := next((amount for amount in stated.curve if amount.score > prior), None):
        models = f"{smallest.models} model{'s' * (smallest.models > 1)}"
        sizes = f" A good choice of {models} has files of {format_bytes(smallest.size_bytes)}."
    return (
        f"no useful model fits {stated.limits}, so the bundle has no model, and every answer is the prior: the mean "
        f"score is {prior:.3f} instead of {stated.whole:.3f}.{sizes} Allow more, or choose a smaller estimator."
    )


def _best_part(draft: Bundle, region: QueryRegion, limits: Limits, choices: Choices) -> tuple[Bundle, float]:
    """Return the bundle with the best models within the limits, and a bound on its mean score."""
    costs, most = costs_of_models(limits, _files(draft))
    chosen, bound = best_choice(replace(choices, costs=costs, limits=most))
    models = tuple(draft.models[number] for number in np.flatnonzero(chosen).tolist())
    return indexed(replace(draft, models=models), region), bound


def _choices(orders: Sequence[Order], quickest: Mapping[Order, int], worth: Floats, prior: float) -> Choices:
    """Return choices whose only limit is a number of models; none but the first is allowed.

    A model is chosen only with the quickest ones of all prefixes of its order.
    """
    parents = np.array([quickest.get(order[:-1], -1) for order in orders], dtype=np.int64)
    weights = np.full(worth.shape[1], 1.0 / worth.shape[1])
    return Choices(parents, worth, prior, weights, *costs_of_models(Limits(1), [1] * len(orders)))


def _some(choices: Choices, count: int) -> Bools:
    """Return a good choice of a number of models."""
    return greedy_choice(replace(choices, limits=np.array([count])))[0]


def _files(bundle: Bundle) -> list[int]:
    return [model.size_bytes for model in bundle.models]


def _of(draft: Bundle, bundle: Bundle) -> Bools:
    """Return which models of a draft a bundle has."""
    there = _models(bundle)
    return np.array([(model.order, model.estimator) in there for model in draft.models], dtype=np.bool_)


def _missing(whole: Bundle, bundle: Bundle) -> list[Candidate]:
    """Return the candidates of a bundle of which another one has no model."""
    there, models = _models(bundle), [(number, whole.models[number]) for number in whole.stored.shipped]
    return [whole.candidate(number) for number, model in models if (model.order, model.estimator) not in there]


def _models(bundle: Bundle) -> set[Which]:
    return {(model.order, model.estimator) for model in bundle.models}


def _curve(draft: Bundle, choices: Choices, every: Bools, full: float) -> tuple[Amount, ...]:
    """Return the scores of good choices of rising numbers of models, and at last of all models together."""
    sizes = np.array(_files(draft), dtype=np.int64)
    points: list[Amount] = []
    for chosen in (*(_some(choices, count) for count in (*FEW_MODELS, *MORE_MODELS) if count < every.sum()), every):
        if not points or chosen.sum() > points[-1].models:
            best = max([choices.score(chosen), *(point.score for point in points)])
            points.append(Amount(int(chosen.sum()), int(sizes[chosen].sum()), min(best, full)))
    return tuple(points)
