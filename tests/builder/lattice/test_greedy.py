"""The sequences of Greedy, worked out by hand on the paper's lattice, and their laws."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polydom_builder.exceptions import LatticeError
from polydom_builder.lattice.greedy import PAPER_LAMBDAS, greedy_sequences
from tests.draws import draws
from tests.synthetic import costs, scores

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "lattice_figure.json").read_text())
ACCURACY = {sum(1 << (i - 1) for i in row["set"]): row["a"] for row in GOLDEN["accuracy"]}
"""The golden file counts features from 1, a mask from 0."""


class Recorder:
    """Answers from known scores and remembers every call."""

    def __init__(self, known: dict[int, float]) -> None:
        self.known = known
        self.calls: list[list[int]] = []

    def __call__(self, masks: list[int]) -> list[float]:
        self.calls.append(masks)
        return [self.known[mask] for mask in masks]

    @property
    def trained(self) -> list[int]:
        return [mask for call in self.calls for mask in call]


def sum_of(prices: Sequence[float]) -> Callable[[int], float]:
    return lambda mask: sum(price for i, price in enumerate(prices) if mask >> i & 1)


units = sum_of((4.0, 1.0, 2.0, 3.0))


@pytest.mark.parametrize(
    ("weight", "order"),
    [
        # Greedy-Acc. To {}: 1 .78, 2 .70, 3 .75, 4 .60, so 1. To {1}: 2 .86, 3 .80, 4 .78, so 2. To {1,2}: 3 .86,
        # 4 .90, so 4; then 3.
        (0.0, (1, 2, 4, 3)),
        # To {} (.5): 1 .28 - .02·4 = .20, 2 .20 - .02·1 = .18, 3 .25 - .02·2 = .21, 4 .10 - .02·3 = .04, so 3.
        # To {3} (.75): 1 .05 - .08 = -.03, 2 0 - .02 = -.02, 4 0 - .06 = -.06, so 2.
        # To {2,3} (.75): 1 .11 - .08 = .03, 4 0 - .06 = -.06, so 1; then 4.
        (0.02, (3, 2, 1, 4)),
        # Greedy-Cost: by their costs 4, 1, 2, 3 alone.
        (math.inf, (2, 3, 4, 1)),
    ],
)
def test_sequence_on_the_papers_lattice_is_the_one_worked_out_by_hand(weight: float, order: tuple[int, ...]) -> None:
    """Features 1 to 4 cost 4, 1, 2 and 3 units at the median size."""
    orders, _ = greedy_sequences(4, Recorder(ACCURACY), units, [weight])

    assert [tuple(i - 1 for i in order)] == orders


def test_all_lambdas_of_a_round_share_one_call_and_no_set_is_trained_twice() -> None:
    """Round by round: all singletons and the empty set; what {1}, {3} and {2} lead to; and so on."""
    score = Recorder(ACCURACY)

    _, trained = greedy_sequences(4, score, units, [0.0, 0.02, math.inf])

    assert score.calls == [
        [0b0000, 0b0001, 0b0010, 0b0100, 0b1000],
        [0b0011, 0b0101, 0b1001, 0b0110, 0b1100],  # {1,.} for λ = 0, {3,.} for .02; {2,3} for inf is among them
        [0b0111, 0b1011, 0b1110],  # {1,2,.}; {2,3,1} and {2,3,4}; {2,3,4}
        [0b1111],
    ]
    assert {mask: ACCURACY[mask] for mask in score.trained} == trained


def test_cheapest_first_trains_only_its_own_prefixes() -> None:
    """The order needs no score, so F + 1 sets are trained."""
    score = Recorder(ACCURACY)

    greedy_sequences(4, score, units, [math.inf])

    assert score.calls == [[0b0000, 0b0010], [0b0110], [0b1110], [0b1111]]


def test_equal_gains_go_to_the_cheaper_then_to_the_lower_number() -> None:
    known = dict.fromkeys(range(16), 0.5)

    for weight in (0.0, math.inf):
        orders, _ = greedy_sequences(4, Recorder(known), sum_of((2, 1, 2, 1)), [weight])

        assert orders == [(1, 3, 0, 2)]


def test_features_that_cost_nothing_come_first_at_infinite_lambda() -> None:
    orders, _ = greedy_sequences(3, Recorder(ACCURACY), sum_of((1, 0, 0)), [math.inf])

    assert orders == [(1, 2, 0)]


def test_orders_that_several_lambdas_share_are_listed_once() -> None:
    """With equal costs every finite λ has the same order."""
    orders, _ = greedy_sequences(4, Recorder(ACCURACY), sum_of((1, 1, 1, 1)), [0.0, 0.01, math.inf])

    assert orders == [(0, 1, 3, 2), (0, 1, 2, 3)]


def test_without_features_only_the_empty_set_is_trained() -> None:
    assert greedy_sequences(0, Recorder({0: 0.5}), lambda _: 0.0) == ([()], {0: 0.5})


def test_sequences_end_where_the_trainings_do() -> None:
    """Five sets give the first features; three more the second one for λ = 0 and none for λ = .02."""
    score = Recorder(ACCURACY)

    orders, trained = greedy_sequences(4, score, units, [0.0, 0.02], max_trainings=8)

    assert orders == [(0, 1), (2,)]
    assert list(trained) == score.trained == [0b0000, 0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b0101, 0b1001]


def test_sequence_that_begins_another_one_is_left_out() -> None:
    """Both λs choose feature 2 first; the trainings pay only for the second one of λ = inf."""
    orders, _ = greedy_sequences(4, Recorder(ACCURACY), units, [math.inf, 0.5], max_trainings=6)

    assert orders == [(1, 2)]


def test_no_trainings_begin_after_the_time_is_up() -> None:
    """A training takes an hour: after 6.5 hours the seventh and the eighth, a batch, are done, and the ninth is not."""
    score = Recorder(ACCURACY)

    orders, trained = greedy_sequences(
        4, score, units, [0.0, 0.02], batch=2, max_seconds=6.5, clock=lambda: float(len(score.trained))
    )

    assert [len(call) for call in score.calls] == [2, 2, 1, 2]
    assert len(trained) == 7
    assert orders == [(0,), (2,)]


def test_first_features_are_found_however_short_the_time() -> None:
    score = Recorder(ACCURACY)

    orders, _ = greedy_sequences(4, score, units, [0.0], max_seconds=0.1, clock=lambda: float(len(score.trained)))

    assert orders == [(0,)]


@pytest.mark.parametrize("lambdas", [[0.0, math.inf], [math.inf]])
def test_limit_must_pay_for_the_first_features(lambdas: list[float]) -> None:
    least = 5 if 0.0 in lambdas else 2
    with pytest.raises(LatticeError, match=f"empty set and the first features: at least {least}. Got {least - 1}"):
        greedy_sequences(4, Recorder(ACCURACY), units, lambdas, max_trainings=least - 1)

    assert greedy_sequences(4, Recorder(ACCURACY), units, lambdas, max_trainings=least)[0]


@pytest.mark.parametrize("lambdas", [[], [-0.1], [0.0, math.nan], [-math.inf]])
def test_impossible_lambdas_are_refused(lambdas: list[float]) -> None:
    with pytest.raises(LatticeError, match="at least one λ, each >= 0"):
        greedy_sequences(4, Recorder(ACCURACY), units, lambdas)


def test_impossible_scores_and_costs_are_refused() -> None:
    with pytest.raises(LatticeError, match="one number for each of 5 sets"):
        greedy_sequences(4, lambda masks: [0.5], units)
    with pytest.raises(LatticeError, match="cost at the median size must be finite"):
        greedy_sequences(4, Recorder(ACCURACY), lambda _: math.nan)
    with pytest.raises(LatticeError, match="must have 0 to 60 features"):
        greedy_sequences(-1, Recorder(ACCURACY), units)


def greedy_one_by_one(
    n_features: int, known: dict[int, float], cost: Callable[[int], float], weight: float
) -> list[int]:
    """Return the prefixes for one finite λ, as the paper's pseudo-code has it, by the gains themselves."""
    prefixes = [0]
    while prefixes[-1] != (1 << n_features) - 1:
        now = prefixes[-1]

        def gain(mask: int, now: int = now) -> float:
            return known[mask] - known[now] - weight * (cost(mask) - cost(now))

        prefixes.append(max((now | 1 << i for i in range(n_features) if not now >> i & 1), key=gain))
    return prefixes


lattices = st.tuples(st.integers(1, 5), st.sampled_from(["cf1", "cfinf", "saturating"]), st.integers(0, 10**6))


@settings(max_examples=draws(20, 50))
@given(lattices, st.sampled_from(PAPER_LAMBDAS))
def test_every_step_has_the_largest_gain(lattice: tuple[int, str, int], weight: float) -> None:
    """No contender gains more than the feature chosen, up to rounding (gains tie where features do not help)."""
    n_features, kind, seed = lattice
    rng = np.random.default_rng(seed)
    cost = costs(n_features, rng)
    known = dict(enumerate(scores(kind, n_features, rng).tolist()))

    def price(mask: int) -> float:
        return cost(mask)(100.0)

    [order], _ = greedy_sequences(n_features, Recorder(known), price, [weight])

    oracle = greedy_one_by_one(n_features, known, price, weight)
    now = 0
    for k, feature in enumerate(order):
        chosen, best = now | 1 << feature, oracle[k + 1]
        values = [known[mask] - weight * price(mask) for mask in (chosen, best)]
        assert values[0] == pytest.approx(values[1], rel=1e-12, abs=1e-12)
        if chosen != best:
            break  # a tie: from here on the two may differ
        now = chosen


@settings(max_examples=draws(20, 50))
@given(lattices)
def test_every_prefix_is_trained_once_and_few_others(lattice: tuple[int, str, int]) -> None:
    """Each order holds every feature; F calls; no more trainings than the paper's |L|·F²."""
    n_features, kind, seed = lattice
    rng = np.random.default_rng(seed)
    cost = costs(n_features, rng)
    score = Recorder(dict(enumerate(scores(kind, n_features, rng).tolist())))

    orders, trained = greedy_sequences(n_features, score, lambda mask: cost(mask)(100.0), (*PAPER_LAMBDAS, math.inf))

    prefixes = {sum(1 << i for i in order[:k]) for order in orders for k in range(n_features + 1)}
    assert prefixes <= trained.keys() == set(score.trained)
    assert len(score.trained) == len(trained) <= len(orders) * n_features * (n_features + 1) // 2 + 1
    assert len(score.calls) == n_features
    assert all(sorted(order) == list(range(n_features)) for order in orders)
    assert len(set(orders)) == len(orders)
