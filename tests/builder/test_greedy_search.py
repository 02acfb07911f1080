"""Greedy sequences, from the search to the node."""

import math
from pathlib import Path
from typing import Any

import pytest

from polydom_builder import AnswerRules, GreedySearch, SearchLimits
from polydom_builder.exceptions import LatticeError, TrainingError
from polydom_runtime import Predictor, Seams
from polydom_runtime.testing import ManualClock
from tests.builder import task
from tests.builder.searches import LOGISTIC, fit
from tests.builder.shared_memory import shared_memory

US = task.US
ITEMS, LABELS = task.items(60)


@pytest.mark.parametrize("lambdas", [None, (0.0,), (math.inf,)])
def test_greedy_bundle_walks_its_sequence_on_the_node(lambdas: Any, tmp_path: Path) -> None:
    greedy = GreedySearch(LOGISTIC, task.space, deadline=(50 * US, 400 * US), cv=2, memory=shared_memory())
    if lambdas:
        greedy.set_params(lambdas=lambdas)
    bundle = fit(greedy).export(tmp_path / "greedy")
    predictor = Predictor.load(tmp_path / "greedy", task.space, deadline=150 * US, seams=Seams(clock=ManualClock()))

    assert len(greedy.sequences_) == 1 if lambdas else len(greedy.sequences_) >= 1
    sequence = predictor.staircase.steps[-1][1].features
    for x in task.items(40, seed=1)[0]:
        answer = predictor.predict_one(x)  # the clock stands still, so no feature is left out
        assert answer.features == sequence[: len(answer.features)]
        assert answer.deadline_met
    assert bundle.index.best(100, 1.0).features == sequence if lambdas else True
    if lambdas == (math.inf,):
        costs = [
            bundle.times.worst.features[task.space.names.index(name)](greedy.median_size_) for name in sequence[:2]
        ]
        assert costs == sorted(costs)


@pytest.mark.parametrize("weight", [3.0, 10.0, 100.0])
def test_lambda_is_the_score_that_a_millisecond_must_gain(weight: float, every_score: list[float]) -> None:
    """By brute force; taken for a second's, each of these λs would give another sequence."""
    greedy = GreedySearch(LOGISTIC, task.space, deadline=400 * US, cv=3, memory=shared_memory(), lambdas=(weight,))
    fit(greedy)

    def best(unit: float) -> tuple[int, ...]:
        order: tuple[int, ...] = ()
        while left := [i for i in range(len(task.space)) if i not in order]:
            sets = {i: sum(1 << j for j in (*order, i)) for i in left}
            seconds = {i: greedy.set_costs_(mask)(greedy.median_size_) for i, mask in sets.items()}
            gains = {i: every_score[mask] - weight * seconds[i] / unit for i, mask in sets.items()}
            order += (max(left, key=gains.__getitem__),)
        return order

    assert best(1e-3) != best(1.0)
    assert greedy.sequences_ == [best(1e-3)]


def test_greedy_stops_where_the_time_is_spent(tmp_path: Path) -> None:
    """Each look at the clock costs 30 µs, so a few features and no more can be afforded."""
    greedy = GreedySearch(LOGISTIC, task.space, deadline=200 * US, cv=2, memory=shared_memory(), lambdas=(0.0,))
    fit(greedy).export(tmp_path / "greedy")
    whole = Predictor.load(tmp_path / "greedy", task.space, seams=Seams(clock=ManualClock()))
    hurried = Predictor.load(tmp_path / "greedy", task.space, seams=Seams(clock=ManualClock(step_ns=30_000)))
    item = task.items(1)[0][0][:100]

    assert whole.predict_one(item).reason == "planned"
    assert hurried.predict_one(item).reason.startswith("no time for")
    assert 0 < len(hurried.trace.features) < len(whole.trace.features)


def test_greedy_needs_sound_lambdas() -> None:
    for wrong in ((-1.0,), (math.nan,), ()):
        with pytest.raises(LatticeError, match=r"λ|lambda"):
            fit(GreedySearch(LOGISTIC, task.space, deadline=400 * US, cv=2, memory=shared_memory(), lambdas=wrong))


def test_limited_sequences_answer_on_the_node(tmp_path: Path) -> None:
    """Five features: six trainings find the first one, four more the second one, and the eleventh is too few."""
    limits = SearchLimits(max_trainings=11)
    greedy = GreedySearch(
        LOGISTIC, task.space, deadline=400 * US, cv=2, memory=shared_memory(), lambdas=(0.0,), limits=limits
    )
    fit(greedy).export(tmp_path / "greedy")
    predictor = Predictor.load(tmp_path / "greedy", task.space, seams=Seams(clock=ManualClock()))

    assert len(greedy.expanded_) == 11
    assert [len(sequence) for sequence in greedy.sequences_] == [2]
    assert len(predictor.predict_one(task.items(1)[0][0]).features) == 2


@pytest.mark.parametrize("limit", [{"max_trainings": 0}, {"max_trainings": 2.5}, {"max_seconds": 0}])
def test_limits_of_greedy_are_checked_first(limit: dict[str, Any]) -> None:
    with pytest.raises(TrainingError, match=f"{next(iter(limit))} must be"):
        GreedySearch(LOGISTIC, task.space, limits=SearchLimits(**limit)).fit([], [])


@pytest.mark.parametrize("lambdas", ["abc", 0.5, None, (0, None)])
def test_lambdas_are_numbers(lambdas: object) -> None:
    search = GreedySearch(LOGISTIC, task.space, lambdas=lambdas, deadline=400 * US, cv=2, memory=shared_memory())  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match="lambdas must be a sequence"):
        search.fit(ITEMS, LABELS, costs=task.costs)


@pytest.mark.parametrize(
    "given",
    [
        {"limits": SearchLimits(max_models=3)},
        {"limits": SearchLimits(max_memory="1MB")},
        {"answers": AnswerRules(early_stop=0.01)},
    ],
)
def test_greedy_refuses_what_sequences_have_not(given: dict[str, Any]) -> None:
    with pytest.raises(TrainingError, match=r"must be left out: sequences .* PolyDomSearch"):
        GreedySearch(LOGISTIC, task.space, deadline=400 * US, **given).fit(ITEMS, LABELS, costs=task.costs)
