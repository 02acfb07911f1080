"""Replays of recorded times: what the node would have done, to the nanosecond, and the quantile to plan with."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder import PolyDomSearch
from polydom_builder.exceptions import FitError
from polydom_builder.simulation import Trials, simulate
from polydom_builder.simulation import recorded as recorded_answers
from polydom_builder.simulation.recorded import Recorded
from polydom_builder.simulation.trials import halves
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Choice, Regime, RegimeTimes
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.bundles.model_entry import ModelEntry
from polydom_runtime.bundles.unit_times import StepTime
from polydom_runtime.describing.outlook_table import in_range
from polydom_runtime.device.calibration import REFERENCE_MODEL
from polydom_runtime.measuring.cost_samples import AROUND, BEFORE, CostSamples, ItemSamples
from polydom_runtime.prediction import Policy
from tests.builder import task
from tests.builder.board import samples
from tests.builder.costs.test_target import search
from tests.bundle_parts import changed, unit_times
from tests.runtime.lattice_world import NAMES, STEP, US, LatticeWorld, lattice_bundle, microseconds

COSTS = tuple(map(microseconds, (10.0, 20.0, 30.0, 40.0), (0.0, 0.1, 0.0, 0.2)))
ACCURACIES = [0.3 + 0.02 * mask.bit_count() + 0.1 * mask / 15 for mask in range(16)]
POLICIES: tuple[Policy, ...] = ("anytime", "strict")


@pytest.fixture
def bundle() -> Bundle:
    step = microseconds(4.0)
    steps = [StepTime(STEP, 0b0110, step * 0.6)]
    planned = unit_times(NAMES[:4], [cost * 0.6 for cost in COSTS], steps, microseconds(1.0), model_ratio=0.7)
    return lattice_bundle(ACCURACIES, COSTS, step=(0b0110, step), planned=planned, reference_seconds=5 * US)


def made_up(bundle: Bundle, count: int = 300) -> Trials:
    """Return trials whose units take any time up to one and a half times their worst case."""
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(0.0, np.log(150.0), count))
    worst = bundle.times.worst.terms
    ns = np.array([[cost(n) * 1e9 for n in sizes] for cost in worst]) * rng.uniform(0.1, 1.5, (len(worst), count))
    around = rng.integers(200, 1500, (3, count))
    units = (*bundle.names, STEP, *AROUND)
    seconds = np.vstack([np.rint(ns), around]) * 1e-9
    models = rng.integers(1000, 6000, count).astype(np.float64) * 1e-9
    return Trials(units, sizes, seconds, models)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("deadline", [40 * US, 80 * US, 150 * US])
def test_replay_is_what_the_node_does(bundle: Bundle, deadline: float, policy: Policy) -> None:
    """A real predictor that learns nothing, in a world built by hand, where each unit takes what the trial says."""
    trials = made_up(bundle)
    world = LatticeWorld(bundle)
    predictor = world.predictor(deadline, policy=policy, adapt=False)
    by_hand = []
    for k, n in enumerate(trials.sizes.tolist()):
        world.taken = {unit: round(trials.of(unit)[k] * 1e9) for unit in trials.units}
        world.models = [round(trials.model_seconds[k] * 1e9)] * len(bundle.models)  # each is stated as the reference
        by_hand.append(predictor.predict_one(n))
    says = {model.order: np.full(len(trials), model.mask) for model in bundle.models}

    replayed = simulate(bundle, trials, deadline, policy=policy, adapt=False, predicted=says)

    assert replayed.answers == by_hand
    assert replayed.labels == [answer.label for answer in by_hand]
    assert replayed.missed == sum(not answer.deadline_met for answer in by_hand)
    assert replayed.score == pytest.approx(np.mean([a.accuracy * a.deadline_met for a in by_hand]))
    assert sum(replayed.reasons.values()) == sum(replayed.features.values()) == len(trials)
    assert len(replayed.features) > 2


def test_without_labels_all_say_what_the_prior_says(bundle: Bundle) -> None:
    assert set(simulate(bundle, made_up(bundle, 20), 100 * US).labels) == {0}


def test_trials_without_a_unit_are_refused(bundle: Bundle) -> None:
    trials = made_up(bundle, 5)

    with pytest.raises(ValueError, match="not in tuple"):
        simulate(bundle, replace(trials, units=("else", *trials.units[1:])), 100 * US)


def recorded(sizes: list[float], seconds: Any) -> CostSamples:
    """Return samples of two units; `seconds(unit, n, round)` for ten rounds."""
    times = np.array([[[seconds(u, n, r) for r in range(10)] for n in sizes] for u in range(2)])
    loops = np.ones(times.shape[:2], dtype=np.int64)
    kernels = {REFERENCE_MODEL: np.arange(1.0, 11.0)}
    return CostSamples(("a", BEFORE), np.array(sizes), times, loops, np.full(times.shape, np.nan), kernels)


def test_item_takes_all_its_times_from_one_round_and_rounds_keep_their_order() -> None:
    made = recorded([10.0, 100.0], lambda u, n, r: (r + 1.0) * (1.0 if u else n))
    sizes = np.random.default_rng(1).choice([10.0, 100.0], 500).tolist()

    trials = Trials.drawn(made, sizes)

    rounds = trials.model_seconds
    assert np.allclose(trials.of("a") / sizes, rounds)
    assert np.allclose(trials.of(BEFORE), rounds)
    assert (np.diff(rounds) >= 0.0).all()
    assert set(rounds) == set(np.arange(10) + 1.0)
    assert trials.sizes.tolist() == sizes


def test_times_between_measured_sizes_are_interpolated_over_the_logarithm() -> None:
    """Of powers of n that is exact."""
    made = recorded([10.0, 100.0, 1000.0], lambda u, n, r: 3.0 * n**0.7)
    sizes = [10.0, 11.0, 50.0, 100.0, 400.0, 1000.0]

    assert np.allclose(Trials.drawn(made, sizes).of("a"), 3.0 * np.array(sizes) ** 0.7)


@pytest.mark.parametrize(("n", "seconds"), [(1.0, 5.0), (10.0, 5.0), (100.0, 7.0), (250.0, 17.5)])
def test_beyond_the_measured_sizes_the_last_times_stand_scaled_by_the_size(n: float, seconds: float) -> None:
    made = recorded([10.0, 100.0], lambda u, size, r: 5.0 if size == 10.0 else 7.0)

    assert Trials.drawn(made, [n]).of("a").tolist() == pytest.approx([seconds])


def test_of_one_measured_size_all_times_are_scaled() -> None:
    made = recorded([10.0], lambda u, n, r: 5.0)

    assert Trials.drawn(made, [5.0, 20.0]).of("a").tolist() == pytest.approx([2.5, 10.0])


def test_seed_decides_what_is_drawn() -> None:
    made = recorded([10.0], lambda u, n, r: r + 1.0)
    draws = [Trials.drawn(made, [10.0] * 50, seed).of("a").tolist() for seed in (0, 0, 1)]

    assert draws[0] == draws[1] != draws[2]


def test_slower_machine_takes_longer_for_everything(bundle: Bundle) -> None:
    trials = made_up(bundle, 50)
    factors = np.linspace(1.0, 3.0, 50)
    for factor in (2.0, factors):
        slowed = trials.slowed(factor)

        assert np.allclose(slowed.seconds, trials.seconds * factor)
        assert np.allclose(slowed.model_seconds, trials.model_seconds * factor)
        assert (slowed.sizes == trials.sizes).all()


def jittery() -> CostSamples:
    """Return the task's samples with calls that now and then take up to three times as long."""
    made = samples()
    rng = np.random.default_rng(2)
    return replace(made, seconds=made.seconds * np.exp(rng.exponential(0.15, made.seconds.shape)).clip(1.0, 3.0))


@pytest.fixture(scope="module")
def fitted() -> PolyDomSearch:
    return search(deadline=(100e-6, 400e-6), quantile=0.99).fit(*task.items(90), costs=jittery())


@pytest.fixture
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_answers, "N_TRIALS", 300)


@pytest.mark.usefixtures("few_trials")
def test_export_plans_with_times_that_no_others_beat(fitted: PolyDomSearch, tmp_path: Path) -> None:
    """At each deadline: neither the default times nor worst cases nor a neighbouring plan score more in time."""
    chosen = fitted.export(tmp_path / "b")
    target, times, allowed = fitted.target_, chosen.times, 1.0 - 0.99
    recorded = Recorded.of_rounds(chosen, jittery())
    plans, guarded = [*(target.planned[q] for q in sorted(target.planned)), times.worst], target.guarded
    assert guarded is not None

    def merit(choice: Choice) -> tuple[float, float]:
        alone = changed(chosen, choices=(), planned=choice.planned, guarded=choice.guarded, typical=times.typical)
        outcome = simulate(alone, recorded.trials, choice.deadline, adapt=False)
        return -max(recorded.late_bound(outcome) - allowed, 0.0), outcome.score

    assert len(times.choices) == len(in_range(times.outlook, chosen.promise)) > 5
    assert len({choice[1:] for choice in times.choices}) > 1
    for choice in times.choices:
        mine = merit(choice)
        assert mine[0] == 0.0
        assert choice.planned in plans
        assert mine >= merit(choice._replace(planned=times.worst, guarded=times.worst))
        assert mine >= merit(choice._replace(planned=target.planned[0.9], guarded=guarded))
    assert times.planned == times.choices[-1].planned
    assert times.reference_seconds == target.reference_seconds > 0.0
    assert load_bundle(tmp_path / "b") == replace(chosen, folder=str(tmp_path / "b"))


def test_given_costs_are_planned_with_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = search().fit(*task.items(90), costs=task.costs).export(tmp_path / "b")

    assert bundle.times.planned == bundle.times.guarded == bundle.times.worst
    assert bundle.times.outlook[-1].score > bundle.prior.accuracy
    assert capsys.readouterr().out == ""


def as_they_come(regime: Regime = "hot") -> CostSamples:
    """Return samples of three items in two rounds; each time tells its unit, item and round."""
    unit, item, at = np.meshgrid(np.arange(2), np.arange(3), np.arange(2), indexing="ij")
    seconds = np.asarray(100.0 * unit + 10.0 * item + at + 1.0, dtype=np.float64)
    items = ItemSamples(np.array([30.0, 10.0, 20.0]), seconds, {REFERENCE_MODEL: 1000.0 + seconds[0]})
    return replace(recorded([10.0, 100.0], lambda u, n, r: 5.0), items={regime: items})


def test_items_come_in_the_order_in_which_they_were_measured() -> None:
    trials = Trials.as_they_came(as_they_come(), 6)

    assert trials.of("a").tolist() == [1.0, 11.0, 21.0, 2.0, 12.0, 22.0]
    assert trials.of(BEFORE).tolist() == [101.0, 111.0, 121.0, 102.0, 112.0, 122.0]
    assert trials.sizes.tolist() == [30.0, 10.0, 20.0, 30.0, 10.0, 20.0]
    assert trials.model_seconds.tolist() == [1001.0, 1011.0, 1021.0, 1002.0, 1012.0, 1022.0]


def test_items_begin_anew_and_a_part_keeps_its_order() -> None:
    trials = Trials.as_they_came(as_they_come("cold"), 15, "cold").of("a").tolist()

    whole = [1.0, 11.0, 21.0, 2.0, 12.0, 22.0]
    assert trials[:12] == 2 * whole
    rest = [whole.index(t) for t in trials[12:]]
    assert rest == sorted(set(rest))


def test_wanted_sizes_get_real_times_of_items_of_about_that_size() -> None:
    trials = Trials.drawn(as_they_come(), [11.0, 28.0, 10.0, 500.0] * 50)

    assert trials.sizes.tolist() == [10.0, 30.0, 10.0, 30.0] * 50
    assert set(trials.of("a")[::4]) == {11.0, 12.0}
    assert (np.diff(trials.of("a") % 10) >= 0.0).all()
    assert np.allclose(trials.model_seconds, 1000.0 + trials.of("a"))


def test_items_of_equal_size_stand_for_each_other() -> None:
    samples = as_they_come()
    equal = replace(samples.items["hot"], sizes=np.full(3, 7.0))

    assert set(Trials.drawn(replace(samples, items={"hot": equal}), [7.0] * 100).of("a") // 10) == {0.0, 1.0, 2.0}


def test_regime_that_was_never_measured_is_refused() -> None:
    for draw in (Trials.drawn(as_they_come(), [10.0]), Trials.as_they_came(as_they_come(), 5)):
        assert len(draw)
    with pytest.raises(FitError, match=r"as they come, cold\. They have hot\. Measure again"):
        Trials.drawn(as_they_come(), [10.0], regime="cold")
    with pytest.raises(FitError, match="They have none"):
        Trials.as_they_came(recorded([10.0], lambda u, n, r: 1.0), 5)


def test_halves_share_no_round_and_no_item() -> None:
    samples = replace(as_they_come(), seconds=recorded([10.0, 100.0], lambda u, n, r: r + 1.0).seconds)
    one, other = halves(samples)

    assert set(one.seconds.ravel().tolist()) == {1, 3, 5, 7, 9}
    assert set(other.seconds.ravel().tolist()) == {2, 4, 6, 8, 10}
    assert (one.items["hot"].sizes.tolist(), other.items["hot"].sizes.tolist()) == ([30.0, 20.0], [10.0])
    assert set(other.items["hot"].models[REFERENCE_MODEL].ravel()) == {1011.0, 1012.0}
    assert other.items["hot"].seconds.shape == (2, 1, 2)


def test_of_one_round_and_one_item_both_halves_have_all() -> None:
    samples = replace(as_they_come().rounds(slice(0, 1)), items=halves(as_they_come())[1].items)
    one, other = halves(samples)

    assert one.n_rounds == other.n_rounds == 1
    assert one.items["hot"].sizes.tolist() == other.items["hot"].sizes.tolist() == [10.0]


def test_replay_in_a_regime_plans_with_its_times(bundle: Bundle) -> None:
    """Its models take what they take there, in proportion to the reference model."""
    times = bundle.times.plus_dispatch(microseconds(30.0))
    models = tuple(m.seconds + 20 * US for m in bundle.models)
    cold = RegimeTimes(times._replace(reference_seconds=25 * US), models, 0.02)
    trials = made_up(bundle, 100)
    trials = replace(trials, model_seconds=np.full(100, 25 * US))

    there = simulate(replace(bundle, regimes={"cold": cold}), trials, 150 * US, regime="cold", adapt=False)
    by_hand = replace(bundle, times=cold.times, models=replaced(bundle, seconds=models))

    assert there.answers == simulate(by_hand, trials, 150 * US, adapt=False).answers
    assert there.answers != simulate(bundle, trials, 150 * US, adapt=False).answers


def replaced(bundle: Bundle, *, seconds: tuple[float, ...]) -> tuple[ModelEntry, ...]:
    """Return the models with other times."""
    return tuple(m._replace(seconds=s) for m, s in zip(bundle.models, seconds, strict=True))


def test_typical_items_take_the_medians(bundle: Bundle) -> None:
    trials = Trials.typical(bundle, [10.0, 20.0])

    typical = bundle.times.typical
    assert trials.of("d").tolist() == pytest.approx([typical.features[3](10.0), typical.features[3](20.0)])
    assert trials.of(STEP).tolist() == pytest.approx([typical.steps[0].cost(10.0)] * 2)
    assert [trials.of(unit)[1] for unit in AROUND] == pytest.approx([cost(20.0) for cost in typical.around])
    assert trials.model_seconds.tolist() == pytest.approx([0.7 * 5 * US] * 2)
