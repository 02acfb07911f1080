"""Few trainings tell which estimators are worth more of them, and which one explores the lattice."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from polydom_builder.families.family_choice import FamilyLimits, chosen_families, spread_sets
from polydom_builder.sets.region import QueryRegion
from polydom_builder.sets.set_costs import SetCosts
from polydom_builder.training.families import Family
from polydom_builder.training.trainer import Scored
from polydom_runtime import CostFunction

N, BLOCKS = 8, 20
FEATURES = [CostFunction.of(2.0**i) for i in range(N)]
REGION = QueryRegion((1.0, 1.0), (1.0, 400.0))


@dataclass
class FakeTrainer:
    """Scores of sets without a training: 0.5, 0.03 for each feature, and `more`; `noise` is of blocks."""

    more: float
    noise: float = 0.0
    slope: float = 0.0
    known: dict[int, Scored] = field(default_factory=dict)
    shares: Any = field(default_factory=lambda: np.full(BLOCKS, 1.0 / BLOCKS))
    inflation: float = 2.0

    @property
    def table(self) -> Any:
        return SimpleNamespace(columns=range(N))

    def scored(self, masks: list[int]) -> list[Scored]:
        for mask in masks:
            size = mask.bit_count()
            score = 0.5 + 0.03 * size + self.more + self.slope * size
            waves = self.noise * np.resize([1.0, -1.0], BLOCKS)
            self.known[mask] = Scored(score, score + waves)
        return [self.known[mask] for mask in masks]

    def scores(self, masks: list[int]) -> list[float]:
        return [found.score for found in self.scored(masks)]


def family(name: str, seconds: float, **scores: Any) -> Family:
    return Family(name, cast(Any, FakeTrainer(**scores)), seconds)


def chosen(*families: Family, trainings: int | None = None) -> list[str]:
    costs = {
        f.name: SetCosts(FEATURES, [(CostFunction.of(f.seconds), (1 << N) - 1)], CostFunction.of(0.5)) for f in families
    }
    limits = FamilyLimits(families, trainings, None, clock=lambda: 0.0)
    return [f.name for f in chosen_families(families, costs, REGION, limits, 0)]


def test_what_is_beaten_at_equal_time_drops_out() -> None:
    assert chosen(family("bayes", 1.0, more=0.0), family("lines", 1.0, more=0.05)) == ["lines"]


def test_what_is_quicker_stays() -> None:
    """At short budgets a quick model reads more features; at most queries the good one is better."""
    assert chosen(family("lines", 1.0, more=0.0), family("trees", 5.0, more=0.2)) == ["trees", "lines"]


def test_what_is_slower_and_no_better_drops_out() -> None:
    assert chosen(family("svc", 9.0, more=0.1), family("trees", 5.0, more=0.2)) == ["trees"]


def test_what_is_beaten_within_noise_stays() -> None:
    assert chosen(family("lines", 1.0, more=0.0), family("bayes", 1.0, more=0.01, noise=0.2)) == ["bayes", "lines"]


def test_what_is_better_on_expensive_sets_stays() -> None:
    """On average over all sets bayes is better, on the upper half of them lines are."""
    left = chosen(family("bayes", 1.0, more=0.055), family("lines", 1.0, more=0.0, slope=0.015))

    assert sorted(left) == ["bayes", "lines"]


def test_too_few_trainings_for_a_comparison_leave_the_first_with_a_warning() -> None:
    families = family("lines", 1.0, more=0.0), family("trees", 2.0, more=0.1), family("svc", 3.0, more=0.2)

    with pytest.warns(UserWarning, match="only models of lines. Raise max_trainings"):
        assert chosen(*families, trainings=11) == ["lines"]


@pytest.mark.parametrize("trainings", [None, 30, 12])
def test_few_trainings_are_spent(trainings: int | None) -> None:
    """Of the other two, at most as many as there are features, and as a sixth of the limit."""
    families = [family("a", 1.0, more=0.0, noise=0.9), family("b", 2.0, more=0.1), family("c", 3.0, more=0.2)]

    left = chosen(*families, trainings=trainings)

    most = N if trainings is None else min(N, trainings // 6)
    counts = [len(cast(Any, f.trainer).known) for f in families]
    assert counts[1] + counts[2] <= most
    assert counts[0] == counts[1] == counts[2]
    assert len(left) == 3


def test_sets_of_a_round_spread_over_all_prices_that_fit() -> None:
    costs = SetCosts(FEATURES)
    sets = spread_sets(costs, QueryRegion((1.0, 1.0), (1.0, 100.0)), 8, seed=0)

    prices = [costs(mask)(1.0) for mask in sets]
    assert sorted(prices, reverse=True) == prices
    assert len(set(sets)) == 8
    assert prices[0] <= 100.0 < 1.1 * prices[0]
    assert prices[-1] == 1.0


def families(*trained: int) -> list[Family]:
    """Return families whose trainers have trained so many sets."""
    table = SimpleNamespace(columns=range(12))
    trainers = [SimpleNamespace(known=dict.fromkeys(range(n)), table=table) for n in trained]
    return [Family(str(k), cast(Any, trainer), 1.0) for k, trainer in enumerate(trainers)]


def test_one_estimator_has_all_of_the_limits() -> None:
    assert FamilyLimits(families(0), 30, 60.0, clock=lambda: 0.0).of_lattice == (30, 60.0)


@pytest.mark.parametrize(("trained", "explored"), [((8, 8), 60), ((8, 8, 8), 40), ((0, 0), 50)])
def test_all_estimators_train_at_most_half_as_much_again(trained: tuple[int, ...], explored: int) -> None:
    left = FamilyLimits(families(explored, *trained[1:]), None, None, clock=lambda: 0.0).of_others(explored)

    assert left == max(1.5 * explored - explored - sum(trained[1:]), 0)


def test_many_estimators_are_compared_on_one_set_at_least() -> None:
    assert FamilyLimits(families(*[0] * 20), None, None, clock=lambda: 0.0).to_compare == 19
    assert FamilyLimits(families(*[0] * 20), 60, None, clock=lambda: 0.0).to_compare == 10


def test_the_limit_of_trainings_holds_for_all_together() -> None:
    """Of 40, 6 were spent in a comparison of two, and 10 are kept for the end."""
    before = FamilyLimits(families(3, 3), 40, None, clock=lambda: 0.0)
    after = FamilyLimits(families(27, 3), 40, None, clock=lambda: 0.0)

    assert before.to_compare == 6
    assert before.of_lattice == (24, None)
    assert after.of_others(27) == 10


def test_the_limit_of_seconds_holds_for_all_together() -> None:
    now = [100.0]
    limits = FamilyLimits(families(3, 3), None, 40.0, clock=lambda: now[0])
    now[0] += 5.0

    assert limits.of_lattice == (None, 25.0)
    assert limits.in_time()
    now[0] += 35.0
    assert not limits.in_time()
