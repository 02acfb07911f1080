"""Energy as a second budget."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Predictor, Seams
from polydom_runtime.exceptions import EnergyError
from polydom_runtime.policy.energy import EnergyBudget
from polydom_runtime.prediction import Policy
from tests.runtime.conftest import US, World, make_bundle

POLICIES: tuple[Policy, ...] = ("anytime", "strict")


def predictor(world: World, energy: EnergyBudget | None, policy: Policy) -> Predictor:
    return Predictor(
        make_bundle()[0],
        world.space,
        deadline=200 * US,
        policy=policy,
        energy=energy,
        seams=Seams(clock=world.clock, run_of=lambda number: lambda: 1),
    )


@pytest.fixture
def energies(tmp_path: Path) -> Path:
    """Microjoules: mean 1, spread 2, ends 1 + n/10; the step 1, a model 1."""
    linear = [1e-6, 0.0, 1e-7, 0.0, 0.0, 0.0]
    features = {"mean": 1e-6, "spread": 2e-6, "ends": linear}
    (tmp_path / "joules.json").write_text(json.dumps({"features": features, "steps": {"half": 1e-6}, "model": 1e-6}))
    return tmp_path / "joules.json"


@pytest.mark.parametrize("policy", POLICIES)
def test_power_turns_energy_into_time(world: World, policy: Policy) -> None:
    """At 2 W, 80 µJ last 40 µs, which `mean` and `spread` fit at size 10, though the deadline is 200 µs."""
    answer = predictor(world, EnergyBudget(80e-6, watts=2.0), policy).predict_one(np.arange(10.0))

    assert answer.features == ("mean", "spread")
    assert answer.elapsed_ns * 1e-9 * 2.0 <= 80e-6


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("n", "microjoules", "features"), [(10, 7.5, 3), (10, 6.0, 2), (40, 7.5, 2), (10, 4.9, 1)])
def test_measured_energy_leaves_out_what_it_does_not_pay_for(
    world: World, energies: Path, policy: Policy, n: int, microjoules: float, features: int
) -> None:
    """All three features need 6 + 1 + n/10 microjoules, two need 5, `mean` alone 3."""
    energy = EnergyBudget.measured(energies, microjoules * 1e-6, make_bundle()[0])

    answer = predictor(world, energy, policy).predict_one(np.arange(float(n)))

    assert answer.features == ("mean", "spread", "ends")[:features]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"joules": 0.0, "watts": 1.0}, "energy of an item"),
        ({"joules": float("nan"), "watts": 1.0}, "energy of an item"),
        ({"joules": 1.0, "watts": -1.0}, "power"),
        ({"joules": 1.0}, "not both"),
    ],
)
def test_impossible_budget_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(EnergyError, match=message):
        EnergyBudget(**arguments)


HUGE = '{"features": {"mean": 1e308, "spread": 0, "ends": 0}, "steps": {"half": 0}}'


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"features": {"mean": "x"}}', '{"features": {"mean": [1, 2]}}', HUGE]
)
def test_file_of_anything_else_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "joules.json").write_text(content)

    with pytest.raises(EnergyError, match="must"):
        EnergyBudget.measured(tmp_path / "joules.json", 1.0, make_bundle()[0])
    with pytest.raises(EnergyError, match="must"):
        EnergyBudget.measured(tmp_path / "missing.json", 1.0, make_bundle()[0])
