"""The share of late answers: from few recorded ones, each at sizes like its own, with an upper bound."""

from dataclasses import replace

import numpy as np
import pytest

from polydom_builder.simulation import Trials, recorded, simulate
from polydom_builder.simulation.recorded import CONFIDENCE, LIKE_SIZE, Recorded, upper_bound
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime, RegimeTimes
from polydom_runtime.costs import CostFunction
from polydom_runtime.measuring.cost_samples import MODEL_QUANTILE, CostSamples
from tests.builder.bundling.devices import NAMES, US, Device, jittery
from tests.bundle_parts import changed


@pytest.fixture(scope="module")
def device() -> Device:
    return Device(jittery, cold=10 * US)


@pytest.fixture(scope="module")
def bundle(device: Device) -> Bundle:
    """A bundle whose first feature grows with the size."""
    made = device.bundle()
    _, *others = made.times.typical.features
    typical = replace(made.times.typical, terms=(CostFunction.of(US, linear=0.1 * US), *others))
    return changed(made, typical=typical)


def few(samples: CostSamples, n_items: int, n_rounds: int, regime: Regime = "hot") -> CostSamples:
    """Return the samples with the answers of some items and rounds in one regime."""
    items = samples.items[regime].part(slice(n_items))
    models = {name: times[:, :n_rounds] for name, times in items.models.items()}
    return replace(samples, items={regime: replace(items, seconds=items.seconds[:, :, :n_rounds], models=models)})


@pytest.mark.parametrize("n", [20, 300, 4000])
def test_bound_without_late_answers_falls_with_their_number(n: int) -> None:
    """If the share is the bound, none of n answers is late with the chance that is left."""
    bound = upper_bound(np.zeros(n), np.arange(n), n)

    assert (1.0 - bound) ** n == pytest.approx(1.0 - CONFIDENCE, abs=0.02)


def test_bound_is_smooth_and_above_the_share() -> None:
    sources = np.repeat(np.arange(200), 20)
    bounds = []
    for late in range(0, 41, 5):
        bounds.append(upper_bound((np.arange(4000) < late).astype(np.float64), sources, 200))
        assert late / 4000 < bounds[-1] < late / 4000 + 0.006

    assert (np.diff(bounds) > 0.0).all()
    assert np.diff(bounds).max() < 2 * 5 / 4000


def test_answers_to_one_item_that_are_late_together_are_no_more_than_one() -> None:
    """Of a hundred items, ten rounds each: ten late answers to ten items, or to one."""
    sources = np.arange(1000) % 100
    rounds = np.arange(1000) // 100
    spread = (sources < 10) & (rounds == sources)
    together = sources == 7

    assert upper_bound(spread.astype(np.float64), sources, 1000) == pytest.approx(0.0107, abs=2e-4)
    assert upper_bound(together.astype(np.float64), sources, 1000) == pytest.approx(0.0167, abs=2e-4)


def test_all_late_is_a_share_of_one() -> None:
    assert upper_bound(np.ones(10), np.arange(10), 10) == 1.0


@pytest.mark.parametrize("regime", ["hot", "cold"])
def test_answers_move_as_a_whole_to_items_of_like_size(
    bundle: Bundle, device: Device, regime: Regime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "N_TRIALS", 4000)
    samples = device.samples()
    items = samples.items[regime]
    cold = replace(bundle, regimes={"cold": device_regime(bundle)})
    made = Recorded.to_items(cold, samples, regime)

    own = Trials.as_they_came(samples, len(made.trials), regime)
    n_items = len(items.sizes)
    assert made.n_answers == items.seconds[0].size
    assert np.bincount(made.sources).tolist() == [len(made.trials) // n_items] * n_items
    grown = (US + 0.1 * US * made.trials.sizes) / (US + 0.1 * US * own.sizes)
    assert np.allclose(made.trials.of("a"), own.of("a") * grown)
    for name in NAMES[1:]:
        assert np.allclose(made.trials.of(name), own.of(name))
    rank = {size: k for k, size in enumerate(np.sort(items.sizes))}
    moved = [rank[a] - rank[b] for a, b in zip(made.trials.sizes, own.sizes, strict=True)]
    far = n_items // (2 * LIKE_SIZE)
    assert (min(moved), max(moved)) == (-far, far)


def device_regime(bundle: Bundle) -> RegimeTimes:
    """Return times of the regime cold in which units grow as they do hot."""
    return RegimeTimes(bundle.times, tuple(model.seconds for model in bundle.models), 0.02)


def test_models_take_what_they_state_as_often_as_they_should(bundle: Bundle, device: Device) -> None:
    """Also where the reference model takes three times as long as is stated for the regime."""
    samples = device.samples()
    slow = few(samples, 200, 10)
    items = slow.items["hot"]
    longer = {name: 3.0 * times for name, times in items.models.items()}
    slow = replace(slow, items={"hot": replace(items, models=longer)})
    stated = changed(bundle, reference_seconds=5 * US, typical=bundle.times.typical)

    for measured in (samples, slow):
        models = Recorded.to_items(stated, measured, "hot").trials.model_seconds
        assert np.quantile(models, MODEL_QUANTILE) == pytest.approx(5 * US)


def test_few_answers_are_replayed_many_times_and_of_many_some(
    bundle: Bundle, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = device.samples()
    monkeypatch.setattr(recorded, "N_TRIALS", 900)

    made = [Recorded.to_items(bundle, few(samples, *shape), "hot") for shape in ((50, 1), (200, 2), (200, 10))]

    assert [len(one.trials) for one in made] == [900, 800, 800]
    assert [one.n_answers for one in made] == [50, 400, 800]
    monkeypatch.setattr(recorded, "N_TRIALS", 60)
    assert Recorded.to_items(bundle, samples, "hot").n_answers == 50


def test_late_answers_of_a_replay_are_bounded(bundle: Bundle, device: Device) -> None:
    made = Recorded.to_items(bundle, device.samples(), "hot")
    outcome = simulate(bundle, made.trials, 60 * US, adapt=False)
    slower = simulate(bundle, made.trials.slowed(10.0), 60 * US, adapt=False)

    assert 0.0 < made.late_bound(outcome) < 0.01
    assert made.late_bound(slower) > slower.missed / len(made.trials) > 0.03
