"""Times after a sleep: the hot ones and a constant for each unit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polydom_builder.costs.allowance import Allowance
from polydom_builder.costs.fitted_times import PLANNING_QUANTILES
from polydom_builder.costs.target import Target
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.bundles.unit_times import UnitTimes
from polydom_runtime.costs import CostFunction
from polydom_runtime.device.device_profile import DeviceProfile, UncertainQuantity
from polydom_runtime.measuring.cost_samples import AROUND
from tests.builder import task
from tests.builder.board import LINEAR_SECONDS, drawn, samples

US = 1e-6
SIZES_AS_THEY_COME = np.random.default_rng(2).uniform(8, 2000, 100)


@pytest.fixture(scope="module")
def target() -> Target:
    """A board that takes 5 µs longer for each unit after a rehearsal, and 40 µs longer when it is cold."""
    items = {
        "hot": drawn(SIZES_AS_THEY_COME, seed=1),
        "rehearsed": drawn(SIZES_AS_THEY_COME, added=5 * US, seed=2),
        "cold": drawn(SIZES_AS_THEY_COME, added=40 * US, seed=3),
    }
    return Target.measured(task.space, samples(items=items), 0.99)


@pytest.mark.parametrize(("regime", "added"), [("rehearsed", 5 * US), ("cold", 40 * US)])
def test_every_unit_takes_longer_by_its_constant(target: Target, regime: Regime, added: float) -> None:
    there = target.regimes[regime]

    assert there.asleep == 0.02
    assert set(there.planned) == set(PLANNING_QUANTILES)
    for hot, asleep in [(target.planned[0.5], there.planned[0.5]), (target.planned[0.9], there.planned[0.9])]:
        for before, after in zip((*hot.terms, *hot.around), (*asleep.terms, *asleep.around), strict=True):
            assert after(500) - before(500) == pytest.approx(added, rel=0.3, abs=3 * US)
            assert after.weights[1:] == before.weights[1:]
    assert there.model_added == pytest.approx(added, rel=0.3, abs=3 * US)
    assert there.reference_seconds == pytest.approx(target.reference_seconds + there.model_added)
    assert there.planned[0.9].model_ratio * there.reference_seconds == pytest.approx(
        1.09 * LINEAR_SECONDS + added, rel=0.05
    )


@pytest.mark.parametrize("regime", ["hot", "rehearsed", "cold"])
def test_whole_answers_keep_the_promise_in_each_regime(target: Target, regime: Regime) -> None:
    added = {"hot": 0.0, "rehearsed": 5 * US, "cold": 40 * US}[regime]
    fresh = drawn(np.random.default_rng(4).uniform(8, 2000, 400), 10, added=added, seed=5)
    there = target if regime == "hot" else target.regimes[regime]
    whole = (1 << len(task.space)) - 1

    taken = fresh.seconds.sum(axis=0) + fresh.models["model linear chain"]
    planned = np.array([there.worst.of_set(whole)(n) for n in fresh.sizes]) + there.reference_seconds
    assert (taken > planned[:, None]).mean() <= 0.01


def test_allowance_for_pauses_is_kept_until_the_end_of_an_answer() -> None:
    names = ("before", "after", "waking")
    around: dict[str, Any] = {name: CostFunction.of(k * US, linear=k * US) for k, name in enumerate(names)}
    times = UnitTimes.given({"level": CostFunction.of(8 * US)}, **around)

    worst = Allowance(64 * US, 0.5).worst_cases(times)

    assert worst == replace(times.scaled(1.5), after=times.after * 1.5 + CostFunction.of(64 * US))


@pytest.mark.parametrize("regime", ["rehearsed", "cold"])
def test_the_guard_of_each_regime_has_the_times_at_the_promised_quantile(target: Target, regime: Regime) -> None:
    there, whole = target.regimes[regime], (1 << len(task.space)) - 1

    assert there.guarded == there.planned[0.99]
    assert there.guarded.quantile == 0.99
    for n in (8, 100, 2000):
        assert there.guarded.of_set(whole)(n) > there.planned[0.9].of_set(whole)(n)


def test_regimes_stay_with_the_features_that_a_pre_selection_leaves(target: Target) -> None:
    part = target.part([2, 0])

    for regime in part.regimes.values():
        names = ("roughness", "level", "difference")
        assert regime.worst.names == regime.guarded.names == regime.planned[0.5].names == names


def test_regime_that_takes_no_longer_has_no_negative_constant() -> None:
    """Noise can make a regime look quicker than the regime hot."""
    items = {"rehearsed": drawn(SIZES_AS_THEY_COME)}
    items["rehearsed"].seconds[: -len(AROUND)] *= 0.5
    target = Target.measured(task.space, samples(items=items), 0.99)

    assert target.regimes["rehearsed"].planned[0.5].terms == target.planned[0.5].terms


def test_old_samples_have_no_regimes() -> None:
    assert Target.measured(task.space, samples(), 0.99).regimes == {}


def test_given_costs_have_no_regimes() -> None:
    assert Target.given(task.space, task.costs).regimes == {}


def test_one_constant_of_a_profile_is_added_to_every_unit_and_model() -> None:
    """30 µs, known to within a factor of two: typical times take it as it is, careful ones take 60 µs."""
    cold_seconds = UncertainQuantity(30 * US, "derived", "for a test", 2.0)
    profile = replace(DeviceProfile.named("raspberry_pi_5"), cold_seconds=cold_seconds)
    there = Target.estimated(task.space, samples(), profile, 0.99)
    cold = there.regimes["cold"]
    assert there.guarded is not None

    def constants(times: UnitTimes) -> list[float]:
        return [cost.weights[0] for cost in (*times.terms, *times.around)]

    for before, after, added in [
        (there.worst, cold.worst, 60 * US),
        (there.guarded, cold.guarded, 60 * US),
        (there.planned[0.5], cold.planned[0.5], 30 * US),
    ]:
        assert constants(after) == pytest.approx([c + added for c in constants(before)])
    assert cold.reference_seconds == pytest.approx(there.reference_seconds + 60 * US)
    assert cold.model_added == pytest.approx(60 * US)
    assert "rehearsed" not in there.regimes


def test_profile_without_the_constant_has_no_regimes() -> None:
    profile = replace(DeviceProfile.named("raspberry_pi_5"), cold_seconds=None)

    assert Target.estimated(task.space, samples(), profile, 0.99).regimes == {}


def test_constant_of_models_can_be_replaced_by_one_that_was_measured(target: Target) -> None:
    cold = target.regimes["cold"]
    changed = cold.with_model_added(60 * US)

    assert changed.model_added == 60 * US
    assert changed.reference_seconds == pytest.approx(target.reference_seconds + 60 * US)
    assert replace(changed.guarded) == cold.guarded
