"""Golden cases of the lattice search and the candidates, and their errors."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.paper.algorithms.layers import expand_layers
from polydom_builder.exceptions import LatticeError
from polydom_builder.lattice import feasible, promising_sets
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.lattice.candidates import select_candidates
from polydom_builder.sets.covers import Costs
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_runtime.costs import CostFunction

GOLDEN = Path(__file__).parents[2] / "golden"
EVERYTHING = QueryRegion((1.0, 500.0))


def load(name: str) -> dict[str, Any]:
    golden: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return golden


def mask_of(features: Iterable[int]) -> int:
    """The golden files count features from 1."""
    return sum(1 << (i - 1) for i in features)


def scores_of(golden: dict[str, Any]) -> dict[int, float]:
    return {mask_of(row["set"]): row["a"] for row in golden["accuracy"]}


def constant_costs(*costs: float) -> SetCosts:
    return SetCosts([CostFunction.of(c) for c in costs])


def flat(masks: Sequence[int]) -> list[float]:
    return [0.5] * len(masks)


@pytest.mark.parametrize(("alpha", "n_trained"), [(1.0, 14), (1.1, 11)])
def test_layers_expand_what_the_paper_draws(alpha: float, n_trained: int) -> None:
    """On the paper's lattice exactly the drawn sets are not expanded."""
    golden = load("lattice_figure")
    a = scores_of(golden)

    trained = expand_layers(4, lambda masks: [a[m] for m in masks], alpha=alpha)

    assert n_trained == len(trained)
    assert {mask_of(s) for s in golden["not_expanded"][str(alpha)]} == set(range(16)) - trained.keys()


def test_layers_find_the_set_whose_neighbours_are_all_sandwiched() -> None:
    """A set is visited unless it is itself sandwiched."""
    golden = load("lost_node")
    a = scores_of(golden)

    assert mask_of([1, 2, 3]) in expand_layers(6, lambda masks: [a[m] for m in masks], alpha=golden["alpha"])


@pytest.mark.parametrize("search", ["layers", "best_first"])
def test_lost_node_query_is_answered(search: str) -> None:
    """The query that the paper's search answers too badly is answered within alpha."""
    golden = load("lost_node")
    a, alpha = scores_of(golden), golden["alpha"]
    costs = constant_costs(*golden["cost"].values())

    def score(masks: Sequence[int]) -> list[float]:
        return [a[m] for m in masks]

    if search == "layers":
        trained = expand_layers(6, score, alpha=alpha)
    else:
        trained = expand_best_first(costs, EVERYTHING, score, alpha=alpha)
    kept = select_candidates(trained, costs, EVERYTHING, alpha=alpha)

    budget = golden["query"]["budget"]
    assert golden["query"]["lowest_acceptable"] <= max(a[m] for m in kept if costs(m)(1.0) <= budget)


def test_alpha_does_not_compound_along_a_chain() -> None:
    """A set dropped by a dropped set would lose the promise; the last of the chain stays or the second does."""
    golden = load("alpha_chain")
    chain = golden["chain"]
    # The empty set scores next to nothing; the chain is {0} ⊂ {0, 1} ⊂ {0, 1, 2}.
    costs = constant_costs(chain[0]["cost"], chain[1]["cost"] - chain[0]["cost"], chain[2]["cost"] - chain[1]["cost"])
    chained = (0b000, 0b001, 0b011, 0b111)
    expanded = dict(zip(chained, (0.01, *(link["a"] for link in chain)), strict=True))

    kept = select_candidates(expanded, costs, EVERYTHING, alpha=golden["alpha"])

    answer = max(expanded[m] for m in kept if costs(m)(1.0) <= golden["query"]["budget"])
    assert golden["query"]["lowest_acceptable"] <= answer


def test_a_set_answers_for_the_untrained_sets_it_is_the_witness_of() -> None:
    """The first set can do the second's own work, but not that of the untrained set as cheap as the second."""
    expanded = {0b00: 0.7, 0b01: 0.769, 0b11: 0.845}

    assert select_candidates(expanded, constant_costs(1.0, 1.0), EVERYTHING, alpha=1.1) == [0b00, 0b01]


@pytest.mark.parametrize("m", np.linspace(80.0, 130.0, 21))
def test_covers_sees_a_dip_between_two_grid_nodes(m: float) -> None:
    """n² + m² is below 2.0025·m·n only within 5 % of n = m, less than the grid is apart."""
    square, line = CostFunction.of(constant=m * m, square=1.0), CostFunction.of(linear=2.0025 * m)
    costs = Costs(np.array([square.weights, line.weights]), QueryRegion((0.0, 1000.0)))

    assert square(m) < line(m)
    assert not costs.covered_by(costs, 1)[0]


def test_equal_sets_do_not_remove_each_other() -> None:
    """Of sets with equal cost and score exactly one stays, the one with fewer features, then the lower mask."""
    costs = constant_costs(1.0, 1.0, 0.0)
    expanded = {0: 0.5, 0b001: 0.8, 0b010: 0.8, 0b101: 0.8, 0b111: 0.8, 0b100: 0.5}

    assert select_candidates(expanded, costs, EVERYTHING) == [0, 0b001]


def test_full_set_that_does_not_fit_is_trained_as_upper_witness() -> None:
    """Without it nothing would bound the sets that do fit; it is no candidate."""
    costs = constant_costs(1.0, 10.0)
    region = QueryRegion((1.0, 500.0), (5.0, 5.0))

    trained = expand_best_first(costs, region, flat)

    assert trained == {0: 0.5, 3: 0.5}
    assert select_candidates(trained, costs, region) == [0]


def test_many_features_with_a_low_deadline() -> None:
    """Forty features of which at most three fit together are searched, not the 2^40 sets."""
    costs = constant_costs(*(1.0 + 0.001 * i for i in range(40)))
    region = QueryRegion((1.0, 500.0), (3.5, 3.5))

    def score(masks: Sequence[int]) -> list[float]:
        return [0.5 + 0.3 * (1 - 0.5 ** (m & 0b11111).bit_count()) for m in masks]

    trained = expand_best_first(costs, region, score, alpha=1.1)
    kept = select_candidates(trained, costs, region, alpha=1.1)

    assert 1.1 * max(score(kept)) >= 0.5 + 0.3 * (1 - 0.5**3)
    assert all(m.bit_count() <= 3 for m in kept)


def test_many_features_need_no_enumeration_where_a_cheap_set_is_enough() -> None:
    """Thirty features that all fit are searched if a few cheap ones come within alpha of all."""
    costs = SetCosts([CostFunction.of(linear=1.0 + i) for i in range(30)])
    region = QueryRegion((1.0, 500.0), (5e5, 5e5))

    def score(masks: Sequence[int]) -> list[float]:
        return [0.5 + 0.4 * (1 - 0.2 ** (m & 0b111).bit_count()) for m in masks]

    trained = expand_best_first(costs, region, score, alpha=1.05)
    kept = select_candidates(trained, costs, region, alpha=1.05)

    assert len(trained) < 40
    assert 1.05 * max(score(kept)) >= 0.5 + 0.4 * (1 - 0.2**3)


def test_too_many_feasible_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to do."""
    monkeypatch.setattr(feasible, "MAX_DOUBTFUL", 1 << 17)
    costs = constant_costs(*[1.0] * 30)

    with pytest.raises(LatticeError, match=r"At most 131,072 .*deadline.*alpha.*fewer features"):
        expand_best_first(costs, EVERYTHING, lambda masks: [float(m.bit_count()) for m in masks])


def test_layers_refuse_what_does_not_fit_dense_arrays() -> None:
    """More than 24 features are for the other search."""
    with pytest.raises(LatticeError, match="at most 24 features"):
        expand_layers(25, flat)


@pytest.mark.parametrize("scores", [[math.nan, 0.5], [0.5, math.inf], [0.5], [-0.1, 0.5]])
def test_impossible_scores_are_refused(scores: list[float]) -> None:
    """A score must be finite, one a set, and not negative with alpha > 1."""
    with pytest.raises(LatticeError):
        expand_best_first(constant_costs(1.0), EVERYTHING, lambda masks: scores, alpha=1.1, batch=2)


@pytest.mark.parametrize("wrong", [{"alpha": 0.9}, {"alpha": math.nan}, {"tolerance": -0.1}, {"tolerance": math.nan}])
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    """Neither alpha < 1 nor a negative tolerance makes sense."""
    with pytest.raises(LatticeError, match=next(iter(wrong))):
        expand_best_first(constant_costs(1.0), EVERYTHING, flat, **wrong)
    with pytest.raises(LatticeError, match=next(iter(wrong))):
        expand_layers(1, flat, **wrong)


def test_negative_scores_are_fine_at_alpha_one() -> None:
    """Negated losses are scores."""
    costs = constant_costs(1.0, 1.0)

    trained = expand_best_first(costs, EVERYTHING, lambda masks: [m.bit_count() - 5.0 for m in masks])

    assert {0, 3} < trained.keys()


def test_costs_may_be_any_callable_with_n_features() -> None:
    """`weights` is a faster way, not a duty."""

    class Plain:
        n_features = 3

        def __call__(self, mask: int) -> CostFunction:
            return CostFunction.of(linear=float(mask.bit_count()))

    trained = expand_best_first(Plain(), EVERYTHING, lambda masks: [0.5 + 0.1 * (m & 1) for m in masks])

    assert select_candidates(trained, Plain(), EVERYTHING) == [0, 1]


def test_same_search_twice_trains_the_same_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sampling inside is seeded; of 256 sets in doubt, each of its three samples takes a part, as do the guesses."""
    monkeypatch.setattr(promising_sets, "MOST_LEARNED", 4)
    monkeypatch.setattr(promising_sets, "FIRST_ROUND", (64, 16))
    monkeypatch.setattr(promising_sets, "SECOND_ROUND", (8, 128))
    costs = SetCosts([CostFunction.of(constant=i, linear=20.0 - i) for i in range(8)])
    a = np.sqrt(np.bitwise_count(np.arange(1 << 8)) / 8.0)

    first, second = (expand_best_first(costs, EVERYTHING, lambda m: a[m], alpha=1.3) for _ in range(2))

    assert list(first) == list(second)
