"""Replays of times that are hard to plan for: transforms of awkward sizes, and models as long as all features."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from polydom_builder.costs.model_placing import place
from polydom_builder.costs.target import Target
from polydom_builder.simulation.simulate import Simulated, simulate
from polydom_builder.simulation.trials import Trials
from polydom_runtime import CostFunction, Feature, FeatureSpace, UnitTimes
from polydom_runtime.bundles.bundle import Bundle, BundleSpace, Prior, StoredIndex
from polydom_runtime.bundles.bundle_times import BundleTimes
from polydom_runtime.bundles.index import Interval
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.bundles.promise import Promise
from polydom_runtime.device.calibration import REFERENCES
from polydom_runtime.measuring.cost_samples import AROUND, CostSamples, ItemSamples, units_of
from tests.draws import draws

US = 1e-6
ROUNDS, MODEL = 4, 15 * US


def chain(names: tuple[str, ...], times: BundleTimes, sizes: tuple[float, float], model_seconds: float) -> Bundle:
    """Return a bundle in which each further feature raises the score."""
    orders = [tuple(range(k)) for k in range(1, len(names) + 1)]
    models = tuple(
        ModelEntry(order, 0.5 + 0.4 * len(order) / len(names), model_seconds, 1, b"0" * 32) for order in orders
    )
    intervals = tuple(Interval(k, *sizes) for k in range(1, len(orders) + 1))
    return Bundle(
        BundleSpace(names, (1,) * len(names), (0, 1)),
        times,
        Promise(sizes, (50 * US, 2000 * US)),
        Prior(0, 0.4),
        models,
        StoredIndex(tuple(range(len(orders))), intervals),
    )


def largest_prime_factor(n: int) -> int:
    largest, k = 1, 2
    while n > 1:
        if n % k == 0:
            largest, n = k, n // k
        else:
            k += 1
    return largest


SPACE = FeatureSpace([Feature(name, np.mean) for name in ("level", "bands", "peak")], size=len)
SIZES = np.arange(2900, 3401)
SMOOTH = np.array(sorted(sorted(SIZES.tolist(), key=largest_prime_factor)[:12]), dtype=np.float64)
"""The twelve measured sizes: none of them has a large prime factor."""


def taken(sizes: np.ndarray, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """Return the seconds of level, bands (an untrimmed transform), peak, and what comes around them, 11 µs in all.

    Bands of 3,064 take 165 µs.
    """
    factors = np.array([min(largest_prime_factor(int(n)), 400) for n in sizes])
    around = [np.full(len(sizes), time) for time in (5.5, 1e-3, 5.5)]
    exact = np.stack([0.003 * sizes, 12 + 0.4 * factors, 0.01 * sizes, *around]) * US
    return np.asarray(exact[:, :, None] * rng.uniform(0.95, 1.1, (*exact.shape, rounds)))


def measured(rng: np.random.Generator, items: np.ndarray | None) -> CostSamples:
    seconds = taken(SMOOTH, 60, rng)
    kernels = {name: MODEL * rng.uniform(0.9, 1.1, 60) for name in REFERENCES}
    made = CostSamples(
        units_of(SPACE),
        SMOOTH,
        seconds,
        np.ones(seconds.shape[:2], dtype=np.int64),
        np.full(seconds.shape, np.nan),
        kernels,
    )
    if items is None:
        return made
    models = {name: MODEL * rng.uniform(0.9, 1.1, (len(items), ROUNDS)) for name in REFERENCES}
    return replace(made, items={"hot": ItemSamples(items, taken(items, ROUNDS, rng), models)})


def transformed(with_items: bool) -> Callable[[float], Simulated]:
    """Return what answers items of sizes that were never measured: half of all sizes were, if items were."""
    rng = np.random.default_rng(0)
    half, held_out = np.array_split(rng.permutation(SIZES).astype(np.float64), 2)
    target = Target.measured(SPACE, measured(rng, half if with_items else None), 0.99)
    assert target.guarded is not None
    planned, typical = target.planned[0.9], target.planned[0.5]
    times = BundleTimes(
        target.worst, planned, target.guarded, replace(typical, quantile=0.0), target.reference_seconds, target.origin
    )
    bundle = chain(SPACE.names, times, (2900.0, 3400.0), target.reference_seconds)
    sizes = rng.choice(held_out, 3000)
    seconds = taken(sizes, 1, rng)[:, :, 0]
    trials = Trials(units_of(SPACE), sizes, seconds, MODEL * rng.uniform(0.9, 1.1, len(sizes)))
    return lambda deadline: simulate(bundle, trials, deadline, adapt=False)


def test_transforms_of_awkward_sizes_are_late_no_more_often_than_promised_once_items_are_measured() -> None:
    """With twelve measured sizes, none of which is awkward, the same replay breaks the promise by far."""
    answered, believed = transformed(True), transformed(False)
    deadlines = np.geomspace(80 * US, 400 * US, draws(4, 8)).tolist()

    late = [answered(deadline).missed / 3000 for deadline in deadlines]
    assert max(late) <= 0.01, late
    assert max(believed(deadline).missed / 3000 for deadline in deadlines) > 0.05
    assert answered(deadlines[-1]).score == pytest.approx(0.9)


def test_model_as_long_as_all_features_leaves_short_deadlines_more_than_the_prior() -> None:
    """As on a watch: twelve features of six channels and a support vector machine.

    Its run takes 190 µs here and 220 µs among features. Planned in proportion to a reference of 7 µs that takes 37 µs
    among features, it would take a millisecond, and no answer but the prior would fit .35 or .75 ms.
    """
    references = [(t * US, (t + 30.0) * US) for t in (2.7, 3.1, 3.4, 7.0, 32.0, 56.0)]
    model = place(190 * US, references)
    names = tuple(f"{what}{channel}" for channel in range(6) for what in ("mean", "spread"))
    units = UnitTimes.given({name: CostFunction.of(9 * US) for name in names}, dispatch=CostFunction.of(11 * US))
    bundle = chain(names, BundleTimes.of(units, reference_seconds=33 * US), (100.0, 100.0), model)
    rng = np.random.default_rng(0)
    seconds = np.array([8.0] * 12 + [5.0, 0.0, 5.0])[:, None] * US * rng.uniform(0.8, 1.1, (15, 500))
    trials = Trials((*names, *AROUND), np.full(500, 100.0), seconds, 33 * US * rng.uniform(0.8, 1.0, 500))

    short, longer = simulate(bundle, trials, 350 * US), simulate(bundle, trials, 750 * US)
    assert model == pytest.approx(220 * US)
    assert (short.missed, longer.missed) == (0, 0)
    assert all(answer.features for answer in short.answers)
    assert short.score > 0.75
    assert longer.score == pytest.approx(0.9)
    proportional = replace(bundle, models=tuple(m._replace(seconds=1000 * US) for m in bundle.models))
    assert simulate(proportional, trials, 750 * US).score == pytest.approx(bundle.prior.accuracy)
