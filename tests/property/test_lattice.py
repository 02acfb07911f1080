"""Laws of the lattice searches and of *covers*."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples.paper.algorithms.layers import expand_layers
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.region import costs_at_sizes
from polydom_builder.sets.set_costs import SetCosts
from tests.draws import draws
from tests.property import strategies as own
from tests.property.lattice_oracle import ROUNDING, score_of, worst_ratio

law = settings(max_examples=draws(25, 80), derandomize=True)


@law
@given(st.data(), own.set_costs(), own.alphas, own.tolerances, st.integers(1, 4))
def test_best_first_answers_within_alpha(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float, batch: int
) -> None:
    """Whatever the region, alpha, tolerance and batch, some trained set answers each query within alpha."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))

    trained = expand_best_first(costs, region, score_of(scores), alpha=alpha, tolerance=tolerance, batch=batch)

    assert worst_ratio(trained, scores, costs, region) <= alpha * (1 + ROUNDING)


@law
@given(st.data(), own.set_costs(), own.alphas, own.tolerances)
def test_layers_answer_within_alpha(data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float) -> None:
    """Whatever the region, some set that the layered search trains answers each query within alpha."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))

    trained = expand_layers(costs.n_features, score_of(scores), alpha=alpha, tolerance=tolerance)

    assert worst_ratio(trained, scores, costs, region) <= alpha * (1 + ROUNDING)


@law
@given(st.data(), own.set_costs(max_features=4), own.alphas, own.tolerances, st.integers(1, 4))
def test_searches_report_the_scores_they_got(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float, batch: int
) -> None:
    """Both searches train the empty and the full set, and return what `score` returned."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))
    slack: dict[str, Any] = {"alpha": alpha, "tolerance": tolerance}

    best_first = expand_best_first(costs, region, score_of(scores), batch=batch, **slack)
    layers = expand_layers(costs.n_features, score_of(scores), **slack)

    for trained in (best_first, layers):
        assert {0, len(scores) - 1} <= trained.keys()
        assert {mask: scores[mask] for mask in trained} == trained


@law
@given(st.data(), own.set_costs(min_features=2), own.alphas, st.integers(2, 4))
def test_batches_are_incomparable(data: st.DataObject, costs: SetCosts, alpha: float, batch: int) -> None:
    """No set of a round contains another, save the first round of the empty and the full set."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features))
    rounds: list[list[int]] = []

    def score(masks: list[int]) -> NDArray[np.float64]:
        rounds.append(masks)
        return scores[masks]

    expand_best_first(costs, region, score, alpha=alpha, batch=batch)

    for masks in rounds[1:]:
        assert len(masks) <= batch
        assert all(a & ~b for a in masks for b in masks if a != b)


@law
@given(st.data(), own.set_costs(min_features=2))
def test_covers_is_never_claimed_falsely(data: st.DataObject, costs: SetCosts) -> None:
    """A set that is said to cover another fits wherever that fits."""
    region = data.draw(own.regions(costs))
    prepared = Costs(costs.weights(np.arange(1 << costs.n_features)), region)
    row = data.draw(st.integers(0, len(prepared.weights) - 1))

    claimed = np.flatnonzero(prepared.covered_by(prepared, row))

    assert not _violated(prepared, row, claimed).any()


@law
@given(st.data(), own.set_costs(min_features=2))
def test_covers_chains_soundly(data: st.DataObject, costs: SetCosts) -> None:
    """If A is said to cover B and B to cover C, then A fits wherever C fits."""
    region = data.draw(own.regions(costs))
    prepared = Costs(costs.weights(np.arange(1 << costs.n_features)), region)
    row = data.draw(st.integers(0, len(prepared.weights) - 1))

    middle = np.flatnonzero(prepared.covered_by(prepared, row))
    reached = np.unique(np.concatenate([np.flatnonzero(prepared.covered_by(prepared, b)) for b in middle.tolist()]))

    assert not _violated(prepared, row, reached).any()


@law
@given(st.data(), own.set_costs(min_features=2))
def test_a_subset_covers(data: st.DataObject, costs: SetCosts) -> None:
    """R ⊂ S implies that R covers S."""
    region = data.draw(own.regions(costs))
    masks = np.arange(1 << costs.n_features)
    prepared = Costs(costs.weights(masks), region)
    row = data.draw(st.sampled_from(masks.tolist()))

    assert prepared.covered_by(prepared, row)[(masks & row) == row].all()


@law
@given(st.data(), own.set_costs())
def test_reach_is_the_last_size_that_fits(data: st.DataObject, costs: SetCosts) -> None:
    """At the reach the cost fits, a little beyond it does not."""
    region = data.draw(own.regions(costs))
    weights = costs.weights(np.arange(1 << costs.n_features))
    budget = data.draw(st.floats(0.0, 1e4))

    reach = region.reach(weights, budget)

    low, high = (np.full(len(weights), n) for n in region.sizes)
    nowhere, inside = np.isneginf(reach), ~np.isneginf(reach)
    assert (nowhere == (costs_at_sizes(weights, low) > budget)).all()
    assert (costs_at_sizes(weights[inside], reach[inside]) <= budget).all()
    beyond = np.minimum(reach[inside] * (1 + 1e-9) + 1e-9, high[inside])
    assert (
        (costs_at_sizes(weights[inside], beyond) >= budget * (1 - ROUNDING)) | (reach[inside] == high[inside])
    ).all()


def _violated(prepared: Costs, row: int, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which sets fit at some of many sizes where the set in `row` neither fits as well nor the lowest budget."""
    low, high = prepared.region.budgets
    sizes = np.append(np.random.default_rng(0).uniform(*prepared.region.sizes, 200), prepared.region.sizes)
    violated = np.zeros(len(rows), dtype=bool)
    for n in sizes:
        theirs = costs_at_sizes(prepared.weights[rows], np.full(len(rows), n))
        own_cost = costs_at_sizes(prepared.weights[[row]], np.array([n]))[0]
        allowed = np.maximum(theirs, low) * (1 + ROUNDING)
        violated |= (theirs <= high * (1 - ROUNDING)) & (own_cost > allowed)
    return violated
