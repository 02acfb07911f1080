"""The choice of models within limits, compared with all choices of small random cases."""

from itertools import product

import numpy as np
import pytest

from polydom_builder.index.model_choice import Choices, best_choice, greedy, greedy_choice
from polydom_runtime.arrays import Bools

PRIOR = 0.5
CASES = range(60)


def random_choices(seed: int, n_models: int = 9, n_queries: int = 12) -> Choices:
    """Return choices of which about half of the models can be taken; every second case has a second limit."""
    rng = np.random.default_rng(seed)
    parents = np.array([rng.integers(-1, model) if rng.random() < 0.7 else -1 for model in range(n_models)])
    scores = np.round(PRIOR + rng.uniform(-0.1, 0.4, n_models), 2)  # some are equal
    fits = rng.random((n_models, n_queries)) < rng.uniform(0.2, 0.9, (n_models, 1))
    costs = np.column_stack([np.ones(n_models), rng.integers(1, 100, n_models)]).astype(np.int64)[:, : 1 + seed % 2]
    weights = rng.dirichlet(np.ones(n_queries))
    worth = np.where(fits, scores[:, None].clip(PRIOR), PRIOR)
    return Choices(parents, worth, PRIOR, weights, costs, np.maximum(costs.sum(axis=0) // 2, 1))


def best_of_all(choices: Choices) -> float:
    """Return the score of the best choice, found by trying all."""
    every = (np.array(chosen) for chosen in product((False, True), repeat=len(choices.parents)))
    return max(choices.score(chosen) for chosen in every if is_allowed(choices, chosen))


def is_allowed(choices: Choices, chosen: Bools) -> bool:
    complete = all(parent < 0 or chosen[parent] for parent in choices.parents[chosen].tolist())
    return complete and bool((chosen @ choices.costs <= choices.limits).all())


@pytest.mark.parametrize("seed", CASES)
def test_the_best_choice_is_that_of_all_choices_and_proved(seed: int) -> None:
    choices = random_choices(seed)

    chosen, bound = best_choice(choices)

    assert is_allowed(choices, chosen)
    assert [best_of_all(choices)] * 2 == pytest.approx([choices.score(chosen), bound], abs=1e-9)


@pytest.mark.parametrize("seed", CASES)
def test_no_choice_scores_more_than_the_bound_of_a_greedy_choice(seed: int) -> None:
    choices = random_choices(seed)

    for by_cost in (True, False):
        chosen, bound = greedy(choices, by_cost=by_cost)

        assert is_allowed(choices, chosen)
        assert choices.score(chosen) <= best_of_all(choices) + 1e-12
        assert best_of_all(choices) <= bound + 1e-12


def test_the_greedy_choices_are_good_but_not_always_the_best() -> None:
    lost = [best_of_all(choices) - choices.score(greedy_choice(choices)[0]) for choices in map(random_choices, CASES)]

    assert 0.0 < max(lost) < 0.05
    assert pytest.approx(np.median(lost), abs=1e-12) == 0.0


def test_the_better_of_both_greedy_choices_is_taken() -> None:
    cases = [*map(random_choices, CASES)]

    pairs = [[choices.score(greedy(choices, by_cost=by_cost)[0]) for by_cost in (True, False)] for choices in cases]

    assert [*map(max, pairs)] == [choices.score(greedy_choice(choices)[0]) for choices in cases]
    assert {-1, 0, 1} == {np.sign(round(one - other, 12)) for one, other in pairs}


def test_without_models_the_prior_answers() -> None:
    none = Choices(
        np.zeros(0, dtype=np.int64),
        np.zeros((0, 1)),
        PRIOR,
        np.ones(1),
        np.zeros((0, 1), dtype=np.int64),
        np.ones(1, dtype=np.int64),
    )

    chosen, bound = best_choice(none)

    assert (len(chosen), bound) == (0, PRIOR)


def test_where_every_model_fits_nothing_that_gains_is_left_out() -> None:
    choices = random_choices(1)
    every = Choices(choices.parents, choices.worth, PRIOR, choices.weights, choices.costs, choices.costs.sum(axis=0))

    chosen, bound = best_choice(every)

    assert every.score(np.ones(9, dtype=bool)) == pytest.approx(every.score(chosen))
    assert bound == pytest.approx(every.score(chosen))
