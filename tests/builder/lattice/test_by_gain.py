"""The search by gain: what it finds with few trainings, and what it says of the rest."""

from dataclasses import replace

import numpy as np
import pytest

from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.lattice.by_gain import Gained, expand_by_gain
from polydom_builder.lattice.limits import LimitedScore, Spent
from polydom_builder.lattice.set_process import _minus_evidence
from polydom_builder.lattice.within_noise import margin_of, select_within_noise
from polydom_builder.sets.query_grid import QueryGrid
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime.arrays import Floats
from polydom_runtime.costs import CostFunction
from tests.draws import draws

from .noisy_world import NoisyWorld, noisy_world


def searched(world: NoisyWorld, **changes: object) -> Gained:
    return expand_by_gain(world.costs, world.region, world.score, noise=world.errors.typical, **changes)  # type: ignore[arg-type]


def losses(world: NoisyWorld, masks: list[int], scores: Floats) -> Floats:
    """Return by how much the best of all sets is better than the best of some, at each query of the grid."""
    fits = QueryGrid.of(world.region, world.costs).fits(world.costs.weights(np.arange(len(scores))))
    fits[:, 0] = True
    some = np.isin(np.arange(len(scores)), masks)
    chosen = np.where(fits & some, world.measured, -np.inf).argmax(axis=1)
    best: Floats = np.where(fits, scores, -np.inf).max(axis=1) - scores[chosen]
    return best


def test_few_trainings_find_nearly_the_best_sets() -> None:
    """An eighth of all sets at most; where single features are not additive and large sets are not the best."""
    for seed in range(draws(2, 5)):
        world = noisy_world(seed)

        found = searched(world)

        assert len(found.expanded) <= 32
        assert losses(world, list(found.expanded), world.measured).mean() < 0.01


def test_the_sets_with_most_to_gain_come_first() -> None:
    """After 12 trainings no more is lost than by the best-first search, which trains for a proof."""
    ours: list[float] = []
    proofs: list[float] = []
    for seed in draws((2, 3, 4), range(10)):
        world = noisy_world(seed)
        for order, all_losses in (
            (list(searched(world).expanded), ours),
            (list(expand_best_first(world.costs, world.region, world.score)), proofs),
        ):
            all_losses.append(losses(world, order[:12], world.measured).mean())

    assert np.mean(ours) < 0.75 * np.mean(proofs)


@pytest.mark.parametrize("seed", [0, 3])
def test_the_search_goes_on_while_a_set_may_be_much_better(seed: int) -> None:
    """By more than the noise and 4 % of the range of scores; in these worlds the gain alone would end it before."""
    world = noisy_world(seed, noise=0.2)

    found = searched(world)

    assert found.steps[-1].possible <= max(0.04 * np.ptp(list(found.expanded.values())), found.noise)


def test_scores_that_are_all_chance_do_not_keep_the_search_going() -> None:
    """Then any set may be better by much, but by no more than the noise."""
    world = noisy_world(0)
    chance = replace(world, parts=np.random.default_rng(0).normal(0.5, 0.1, world.parts.shape))

    assert len(searched(chance).expanded) < 80


def test_batches_train_about_the_same_sets() -> None:
    world = noisy_world(1)

    one, four = searched(world), searched(world, batch=4)

    assert losses(world, list(four.expanded), world.measured).mean() < 0.01
    assert len(four.expanded) <= len(one.expanded) + 8


def test_known_scores_are_not_trained_again() -> None:
    world, asked = noisy_world(2), []

    def score(masks: list[int]) -> list[float]:
        asked.extend(masks)
        return world.score(masks)

    first = expand_by_gain(world.costs, world.region, score)
    n_asked = len(asked)
    again = expand_by_gain(world.costs, world.region, score, known=first.expanded)

    assert n_asked == len(first.expanded)
    assert again.expanded == first.expanded
    assert len(asked) == n_asked


def test_a_search_that_is_ended_has_the_best_so_far() -> None:
    world = noisy_world(3)
    limited = LimitedScore(world.score, 2, "two sets", 7, None, lambda: 0.0)

    found = expand_by_gain(world.costs, world.region, limited)

    assert (len(found.expanded), found.is_spent) == (7, True)
    assert list(found.expanded) == list(expand_by_gain(world.costs, world.region, world.score).expanded)[:7]
    assert found.steps[-1].possible > 0.0


def test_a_limit_that_pays_for_nothing_more_ends_at_once() -> None:
    world = noisy_world(3)

    def spent(masks: list[int]) -> list[float]:
        raise Spent

    found = expand_by_gain(world.costs, world.region, spent, known={0: 0.4, 255: 0.8})

    assert found.expanded == {0: 0.4, 255: 0.8}


def test_sets_that_do_not_fit_are_not_trained() -> None:
    """Except the full set, which shows how far scores can rise."""
    costs = SetCosts([CostFunction.of(linear=w) for w in (1.0, 2.0, 4.0, 8.0)])
    region = QueryRegion((10, 100), (50.0, 50.0))

    found = expand_by_gain(costs, region, lambda masks: [0.5 + 0.1 * m.bit_count() for m in masks])

    assert all(costs(mask)(10.0) <= 50.0 for mask in found.expanded if mask != 15)


@pytest.mark.parametrize("scores", [{0: 0.7}, {}], ids=["one set scores otherwise", "all score the same"])
def test_scores_that_hardly_differ_are_no_error(scores: dict[int, float]) -> None:
    costs = SetCosts([CostFunction.of(linear=w) for w in (1.0, 2.0, 4.0)])

    found = expand_by_gain(costs, QueryRegion((10, 100)), lambda masks: [scores.get(m, 0.5) for m in masks])

    assert {0, 7, 1, 2, 4} <= found.expanded.keys()


def test_one_feature_is_enough() -> None:
    costs = SetCosts([CostFunction.of(1.0)])

    found = expand_by_gain(costs, QueryRegion((10, 100)), lambda masks: [0.5 + 0.1 * m for m in masks])

    assert found.expanded == {0: 0.5, 1: 0.6}
    assert not len(found.untrained)


def test_a_large_lattice_is_searched_near_the_answers() -> None:
    """2^18 sets, of which some thousands are weighed and 60 trained."""
    rng = np.random.default_rng(0)
    worth = np.sort(rng.exponential(size=18))
    costs = SetCosts([CostFunction.of(linear=1.0)] * 18)
    region = QueryRegion((1, 100), (600.0, 600.0))

    def score(masks: list[int]) -> list[float]:
        return [0.5 + 0.4 * (1 - np.exp(-0.3 * worth[[m >> i & 1 == 1 for i in range(18)]].sum())) for m in masks]

    found = expand_by_gain(costs, region, LimitedScore(score, 2, "two sets", 60, None, lambda: 0.0))

    best = max(value for mask, value in found.expanded.items() if mask.bit_count() <= 6)
    six_best = sum(1 << i for i in range(12, 18))
    assert not found.all_weighed
    assert best > score([six_best])[0] - 0.005


def test_the_margin_holds_for_true_scores_at_nearly_all_queries() -> None:
    """At 95 % of the queries of all worlds; scores are measured with noise, and most sets are not trained."""
    held = []
    for seed in range(draws(4, 20)):
        world = noisy_world(seed, n_features=7)
        found = searched(world)
        kept = select_within_noise(found.expanded, world.costs, world.region, world.errors, 0.5)
        margin = margin_of(found, kept, world.costs, world.region, world.errors)
        held.append((losses(world, kept, world.truth) <= margin).mean())

    assert np.mean(held) >= 0.95


def test_the_margin_is_small_where_scores_are_sure() -> None:
    """It is about the noise of a difference, not about that of the scores."""
    exact, noisy = noisy_world(0, noise=1e-4), noisy_world(0, noise=0.1)
    margins = []
    for world in (exact, noisy):
        found = searched(world)
        margins.append(margin_of(found, list(found.expanded), world.costs, world.region, world.errors))

    assert margins[0] < 0.02 < margins[1] < 0.3


@pytest.mark.parametrize("logs", [(900, 0, 0, 0, 0), (0, 900, 0, 0, 0), (0, 0, 0, -800, 0), (-800,) * 5])
def test_shape_that_is_no_covariance_is_worse_than_any_other(logs: tuple[float, ...]) -> None:
    sets = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])

    absurd = _minus_evidence(np.array(logs, dtype=float), sets, np.arange(3.0))

    assert _minus_evidence(np.zeros(5), sets, np.arange(3.0)) < 100.0 < absurd < np.inf
