"""Laws of the candidate selection, end to end from the searches."""

from typing import Any
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.paper.algorithms.layers import expand_layers
from polydom_builder.lattice import feasible
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.lattice.candidates import select_candidates
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.set_costs import SetCosts
from tests.draws import draws
from tests.property import strategies as own
from tests.property.lattice_oracle import ROUNDING, score_of, worst_ratio

law = settings(max_examples=draws(25, 80), derandomize=True)


@law
@given(st.data(), own.set_costs(), own.alphas, own.tolerances, st.integers(1, 4))
def test_candidates_of_best_first_answer_within_alpha(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float, batch: int
) -> None:
    """The candidates answer each query within alpha of all sets, trained or not."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))
    slack: dict[str, Any] = {"alpha": alpha, "tolerance": tolerance}

    trained = expand_best_first(costs, region, score_of(scores), batch=batch, **slack)
    kept = select_candidates(trained, costs, region, **slack)

    assert worst_ratio(kept, scores, costs, region) <= alpha * (1 + ROUNDING)


@law
@given(st.data(), own.set_costs(), own.alphas, own.tolerances)
def test_candidates_of_layers_answer_within_alpha(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float
) -> None:
    """The candidates answer each query within alpha of all sets, trained or not."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))
    slack: dict[str, Any] = {"alpha": alpha, "tolerance": tolerance}

    kept = select_candidates(expand_layers(costs.n_features, score_of(scores), **slack), costs, region, **slack)

    assert worst_ratio(kept, scores, costs, region) <= alpha * (1 + ROUNDING)


@law
@given(st.data(), own.set_costs(), own.alphas, own.tolerances)
def test_candidates_hold_where_covered_sets_are_never_enumerated(
    data: st.DataObject, costs: SetCosts, alpha: float, tolerance: float
) -> None:
    """The same with the path for many features: whatever a good enough set covers is not even listed."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features, tolerance))
    slack: dict[str, Any] = {"alpha": alpha, "tolerance": tolerance}

    with mock.patch.object(feasible, "EASY_SETS", 4):
        trained = expand_best_first(costs, region, score_of(scores), **slack)
        kept = select_candidates(trained, costs, region, **slack)

    assert worst_ratio(kept, scores, costs, region) <= alpha * (1 + ROUNDING)


@law
@given(st.data(), own.set_costs())
def test_candidates_are_exact_at_alpha_one(data: st.DataObject, costs: SetCosts) -> None:
    """With alpha = 1 and monotone scores the candidates lose nothing."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features))

    kept = select_candidates(expand_best_first(costs, region, score_of(scores)), costs, region)

    assert worst_ratio(kept, scores, costs, region) <= 1 + ROUNDING


@law
@given(st.data(), own.set_costs(), own.alphas)
def test_candidates_are_trained_sets_that_fit_and_the_empty_set(
    data: st.DataObject, costs: SetCosts, alpha: float
) -> None:
    """Each candidate was trained and fits somewhere; the empty set is always one; none comes twice."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features))
    trained = expand_best_first(costs, region, score_of(scores), alpha=alpha)

    kept = select_candidates(trained, costs, region, alpha=alpha)

    assert 0 in kept
    assert set(kept) <= trained.keys()
    assert len(set(kept)) == len(kept)
    reach = Costs(costs.weights(np.array(kept)), region).far
    assert all(mask == 0 or n >= region.sizes[0] for mask, n in zip(kept, reach, strict=True))


@law
@given(st.data(), own.set_costs())
def test_no_candidate_dominates_another_at_alpha_one(data: st.DataObject, costs: SetCosts) -> None:
    """With every set trained, a candidate is better than each candidate that covers it."""
    region = data.draw(own.regions(costs))
    scores = data.draw(own.scores(costs.n_features))

    kept = select_candidates(dict(enumerate(scores.tolist())), costs, region)

    prepared = Costs(costs.weights(np.array(kept)), region)
    for row in range(len(kept)):
        later = np.flatnonzero(prepared.covered_by(prepared, row))
        assert all(scores[kept[s]] > scores[kept[row]] for s in later if s > row and np.isfinite(prepared.far[s]))
