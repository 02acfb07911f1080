"""Costs of sets by a rule of the user: the promise holds, and rules that cannot be used are refused."""

from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.paper.algorithms.layers import expand_layers
from polydom_builder.exceptions import LatticeError
from polydom_builder.index.envelope import build_index
from polydom_builder.lattice import feasible
from polydom_builder.lattice.best_first import expand_best_first
from polydom_builder.lattice.candidates import select_candidates
from polydom_builder.lattice.proof import prove
from polydom_builder.sets import combined_costs
from polydom_builder.sets.combined_costs import CombinedCosts, upper
from polydom_builder.sets.set_costs import SetCosts
from polydom_builder.verification.proof_checks import omissions, pair_faults
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import CostFunction, total
from tests.draws import draws
from tests.property import strategies as own
from tests.property.lattice_oracle import ROUNDING, score_of, worst_ratio

law = settings(max_examples=draws(12, 25), derandomize=True)

Parts = Mapping[Any, CostFunction]

START = CostFunction.of(2.0)


def lanes(parts: Parts) -> CostFunction:
    """Even and odd features run beside each other."""
    even, odd = (total(cost for i, cost in parts.items() if i % 2 == lane) for lane in (0, 1))
    return START + upper([even, odd])


def discount(parts: Parts) -> CostFunction:
    """The dearest is paid in full, the others by half, as their data are in the cache."""
    return START + upper(parts.values()) * 0.5 + total(parts.values()) * 0.5


def crowd(parts: Parts) -> CostFunction:
    """Each further feature slows all down."""
    return START + total(parts.values()) * (1.0 + 0.3 * len(parts))


rules = st.sampled_from((lanes, discount, crowd))


@st.composite
def combined(draw: st.DrawFn, max_features: int = 5) -> CombinedCosts:
    features = draw(st.lists(own.cost_functions(), min_size=1, max_size=max_features))
    return CombinedCosts(features, draw(rules))


@law
@given(st.data(), combined(), own.alphas, own.tolerances, st.booleans(), st.booleans())
def test_candidates_answer_within_alpha(
    data: st.DataObject, costs: CombinedCosts, alpha: float, tolerance: float, layers: bool, many: bool
) -> None:
    """By both searches, also on the path for many features, each query is answered within alpha of all sets."""
    region = data.draw(own.regions(costs))  # type: ignore[arg-type]
    scores = data.draw(own.scores(costs.n_features, tolerance))
    slack: dict[str, Any] = {"alpha": alpha, "tolerance": tolerance}

    with mock.patch.object(feasible, "EASY_SETS", 4 if many else feasible.EASY_SETS):
        if layers:
            trained = expand_layers(costs.n_features, score_of(scores), **slack)
        else:
            trained = expand_best_first(costs, region, score_of(scores), **slack)
        kept = select_candidates(trained, costs, region, **slack)
        proof = prove(trained, kept, costs, region, **slack)

    assert worst_ratio(trained, scores, costs, region) <= alpha * (1 + ROUNDING)  # type: ignore[arg-type]
    assert worst_ratio(kept, scores, costs, region) <= alpha * (1 + ROUNDING)  # type: ignore[arg-type]
    assert [*pair_faults(proof), *omissions(proof)] == []


@law
@given(st.data(), combined())
def test_index_answers_as_a_scan_of_all_sets(data: st.DataObject, costs: CombinedCosts) -> None:
    """With alpha = 1 and monotone scores the index gives the best score of all sets that fit."""
    region = data.draw(own.regions(costs))  # type: ignore[arg-type]
    scores = data.draw(own.scores(costs.n_features))
    kept = select_candidates(expand_best_first(costs, region, score_of(scores)), costs, region)

    index = build_index([Candidate(mask, (), scores[mask], costs(mask)) for mask in kept], region)

    for n in np.random.default_rng(0).uniform(*region.sizes, 12):
        cost = np.array([costs(mask)(n) for mask in range(len(scores))])
        for budget in np.unique(np.clip([*cost, *region.budgets], *region.budgets)):
            fits = cost <= budget * (1.0 - ROUNDING)
            fits[0] = True
            assert index.best(n, budget * (1.0 + ROUNDING)).accuracy >= scores[fits].max()


@law
@given(own.set_costs())
def test_a_rule_that_adds_up_is_the_sum(costs: SetCosts) -> None:
    """Without shared steps, a sum by a rule is the sum of SetCosts, at once for many sets and for one."""
    summed = SetCosts(costs.features, base=costs.base)

    ruled = CombinedCosts(costs.features, lambda parts: costs.base + total(parts.values()))

    masks = np.arange(1 << costs.n_features)
    np.testing.assert_allclose(ruled.weights(masks), summed.weights(masks), rtol=1e-12)
    assert [ruled(mask).weights for mask in masks.tolist()] == [tuple(row) for row in ruled.weights(masks).tolist()]


def parts(*weights: float) -> list[CostFunction]:
    return [CostFunction.of(w, linear=w) for w in weights]


def test_a_rule_sees_the_names_of_the_features_in_order() -> None:
    seen: list[list[str]] = []

    def combine(costs: Parts) -> CostFunction:
        seen.append(list(costs))
        return total(costs.values())

    costs = CombinedCosts(parts(1, 2, 3), combine, names=("edges", "pitch", "depth"))
    costs(0b101)

    assert [] in seen
    assert ["edges", "pitch", "depth"] in seen
    assert ["edges", "depth"] in seen
    assert all(names == sorted(names, key=costs.names.index) for names in seen)


def test_a_rule_that_falls_is_refused_at_once() -> None:
    """A fall anywhere on the way to the full set is found before anything is trained."""
    with pytest.raises(LatticeError, match=r"must not let a weight fall.* for \{\} and .* for \{edges\}"):
        CombinedCosts(parts(1, 1), lambda costs: CostFunction.of(3.0 / (1 + len(costs))), names=("edges", "pitch"))


@pytest.mark.parametrize("larger_first", [False, True])
def test_a_rule_that_falls_for_one_pair_is_refused_when_both_are_known(larger_first: bool) -> None:
    """Features 1, 4 and 9 together cost less than 1 and 4: no chain has them, but the search meets them."""

    def combine(costs: Parts) -> CostFunction:
        return START if set(costs) == {1, 4, 9} else START + total(costs.values())

    costs = CombinedCosts(parts(*range(1, 13)), combine)
    small, large = 1 << 1 | 1 << 4, 1 << 1 | 1 << 4 | 1 << 9

    costs.weights(np.array([large] if larger_first else [small]))
    with pytest.raises(LatticeError, match=r"for \{1, 4\} and .* for \{1, 4, 9\}"):
        costs.weights(np.array([small] if larger_first else [large]))


def test_a_rule_may_fall_by_rounding() -> None:
    """A sum in another order is not a fall."""
    costs = CombinedCosts(parts(0.1, 0.2, 0.0), lambda costs: total(sorted_differently(costs)))

    assert costs(0b111).weights[0] == pytest.approx(0.3)


def sorted_differently(costs: Parts) -> list[CostFunction]:
    scale = 1.0 - 1e-15 * len(costs)
    return [cost * scale for cost in costs.values()]


def boom(costs: Parts) -> CostFunction:
    return costs["absent"]


@pytest.mark.parametrize(
    ("combine", "message"),
    [
        (boom, r"must work on every set. It raised KeyError\('absent'\) for \{\}"),
        (lambda costs: 3.0, r"must return a CostFunction. Got 3.0 for \{\}"),
        (lambda costs: CostFunction.of(-1.0), r"must work on every set. It raised CostFunctionError"),
    ],
)
def test_a_rule_that_is_no_cost_is_refused(combine: Callable[[Parts], CostFunction], message: str) -> None:
    with pytest.raises(LatticeError, match=message):
        CombinedCosts(parts(1, 2), combine)


@pytest.mark.parametrize("names", [("a",), ("a", "a"), ("a", "b", "c")])
def test_names_that_do_not_name_the_features_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(LatticeError, match="one different name for each of the 2 features"):
        CombinedCosts(parts(1, 2), lambda costs: total(costs.values()), names=names)


def test_a_cost_is_combined_once_and_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is not asked again; the oldest goes when there are too many."""
    monkeypatch.setattr(combined_costs, "MAX_KNOWN", 20)
    calls: list[tuple[Any, ...]] = []

    def combine(costs: Parts) -> CostFunction:
        calls.append(tuple(costs))
        return total(costs.values())

    costs = CombinedCosts(parts(1, 2, 4, 8), combine)
    assert len(calls) == len(set(calls))
    calls.clear()

    first = costs.weights(np.arange(16))
    asked = len(calls)
    second = costs.weights(np.arange(16))

    np.testing.assert_array_equal(first, second)
    assert len(calls) == asked
    monkeypatch.setattr(combined_costs, "MAX_KNOWN", 4)
    wide = CombinedCosts(parts(*range(1, 9)), combine)
    wide.weights(np.arange(256))
    assert len(wide._known) <= 4


@law
@given(st.lists(own.cost_functions(), max_size=4), own.sizes)
def test_upper_is_at_least_every_cost(costs: list[CostFunction], n: float) -> None:
    """At each size; and no weight is higher than it must be."""
    bound = upper(costs)

    assert all(bound(n) >= cost(n) for cost in costs)
    assert all(w in {0.0, *(cost.weights[b] for cost in costs)} for b, w in enumerate(bound.weights))


@pytest.mark.parametrize("combine", [None, lambda parts: total(parts.values())], ids=["summed", "by a rule"])
def test_cost_of_a_set_is_the_time_of_an_answer_and_a_model(combine: combined_costs.Combine | None) -> None:
    features = {name: CostFunction.of(k + 1.0, linear=k) for k, name in enumerate("abc")}
    names = ("before", "after", "waking")
    around: dict[str, Any] = {name: CostFunction.of(16.0 * 2**k) for k, name in enumerate(names)}
    times = UnitTimes.given(features, {"step": (("a", "c"), CostFunction.of(8.0))}, **around)

    costs = combined_costs.costs_of_sets(times, 256.0, combine)

    for mask in range(8):
        model = CostFunction.of(256.0 if mask else 0.0)
        assert costs(mask).weights == pytest.approx((times.of_set(mask) + model).weights)
