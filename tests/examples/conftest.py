"""A made-up task and its times, for experiments that would take minutes on real ones."""

from typing import Any

import numpy as np
import pytest

from examples.deadlines.task import Task
from polydom_runtime.bundles.bundle_times import REGIMES, Regime
from polydom_runtime.device.calibration import REFERENCE_MODEL, REFERENCES
from polydom_runtime.measuring.cost_samples import MIN_SECONDS, CostSamples, ItemSamples, units_of

from .made_up import space


@pytest.fixture(scope="session")
def made_up_task() -> Task:
    """Three features of which two share a step; each tells a little of three classes."""
    rng = np.random.default_rng(0)
    labels = [k % 3 for k in range(180)]
    items = [rng.normal(label % 2, 1.0 + label // 2, 4 * 2 ** (k % 5)) for k, label in enumerate(labels)]
    return Task("made-up", space, items[:90], labels[:90], None, items[90:], labels[90:], folds=3)


@pytest.fixture(scope="session")
def made_up_samples(made_up_task: Task) -> CostSamples:
    """Times that grow at different rates and jitter by half."""
    rng, units = np.random.default_rng(1), units_of(made_up_task.space)
    sizes = np.array(sorted({float(len(item)) for item in made_up_task.items}))
    *others, around = [1e-4 * (k + 1) + 4e-5 * (k % 3) * sizes for k in range(len(units) - 2)]
    exact = np.array([*others, 0.5 * around, np.full(len(sizes), MIN_SECONDS), 0.5 * around])
    seconds = exact[:, :, None] * rng.uniform(1.0, 1.5, (*exact.shape, 40))
    kernels = {name: rng.uniform(1e-5, 1.5e-5, 40) for name in REFERENCES}
    calls = np.ones(exact.shape, dtype=np.int64)
    items = {regime: made_up_answers(regime, rng, sizes, exact) for regime in REGIMES}
    nothing = np.full(seconds.shape, np.nan)
    return CostSamples(units, sizes, seconds, calls, nothing, kernels, stopped="enough", items=items)


COLD: dict[Regime, float] = {"hot": 0.0, "rehearsed": 1e-5, "cold": 3e-4}


def made_up_answers(regime: Regime, rng: Any, sizes: Any, exact: Any) -> ItemSamples:
    """Answers to thirty items, each unit longer by a constant after a sleep."""
    chosen = rng.integers(len(sizes), size=30)
    seconds = exact[:, chosen, None] * rng.uniform(1.0, 1.5, (len(exact), 30, 4)) + COLD[regime]
    reference = rng.uniform(1e-5, 1.5e-5, (30, 4)) + COLD[regime]
    return ItemSamples(sizes[chosen], seconds, {REFERENCE_MODEL: reference}, 0.02 * (regime != "hot"))
