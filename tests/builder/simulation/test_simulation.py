"""Replays of recorded times: what the node would have done, to the nanosecond, and the quantile to plan with."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder import PolyDomSearch
from polydom_builder.bundling import quantiles as planning
from polydom_builder.costs.fit_times import REFERENCE_MODEL
from polydom_builder.simulation import Trials, simulate
from polydom_builder.simulation.report import deadlines_of
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.measuring.cost_samples import DISPATCH, CostSamples
from polydom_runtime.prediction import Policy
from polydom_runtime.unit_times import StepTime
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
    """Return trials whose units take any time up to one and a half times their worst case; dispatch is even."""
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(0.0, np.log(150.0), count))
    worst = bundle.times.worst.terms
    ns = np.array([[cost(n) * 1e9 for n in sizes] for cost in worst]) * rng.uniform(0.1, 1.5, (len(worst), count))
    dispatch = 2 * rng.integers(200, 1500, count)
    units = (*bundle.names, STEP, DISPATCH)
    seconds = np.vstack([np.rint(ns), dispatch]) * 1e-9
    models = rng.integers(1000, 6000, count).astype(np.float64) * 1e-9
    return Trials(units, sizes, seconds, models)


@pytest.mark.parametrize("adapt", [True, False])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("deadline", [40 * US, 80 * US, 150 * US])
def test_replay_is_what_the_node_does(bundle: Bundle, deadline: float, policy: Policy, adapt: bool) -> None:
    """A real predictor in a world built by hand, where each unit takes what the trial says."""
    trials = made_up(bundle)
    world = LatticeWorld(bundle)
    predictor = world.predictor(deadline, policy=policy, adapt=adapt)
    by_hand = []
    for k, n in enumerate(trials.sizes.tolist()):
        world.taken = {unit: round(trials.of(unit)[k] * 1e9) for unit in trials.units}
        world.models = [round(trials.model_seconds[k] * 1e9)] * len(bundle.models)  # each is stated as the reference
        by_hand.append(predictor.predict_one(n))
    says = {model.order: np.full(len(trials), model.mask) for model in bundle.models}

    replayed = simulate(bundle, trials, deadline, policy=policy, adapt=adapt, predicted=says)

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
    return CostSamples(("a", DISPATCH), np.array(sizes), times, loops, np.full(times.shape, np.nan), kernels)


def test_item_takes_all_its_times_from_one_round_and_rounds_keep_their_order() -> None:
    made = recorded([10.0, 100.0], lambda u, n, r: (r + 1.0) * (1.0 if u else n))
    sizes = np.random.default_rng(1).choice([10.0, 100.0], 500).tolist()

    trials = Trials.drawn(made, sizes)

    rounds = trials.model_seconds
    assert np.allclose(trials.of("a") / sizes, rounds)
    assert np.allclose(trials.of(DISPATCH), rounds)
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
    monkeypatch.setattr(planning, "N_TRIALS", 300)


def merit(bundle: Bundle, trials: Trials, allowed: float) -> tuple[float, float]:
    """Return what is to be as large as possible: no late answers beyond the allowed ones, then the score."""
    outcomes = [simulate(bundle, trials, d) for d in deadlines_of(bundle, planning.N_DEADLINES)]
    late = sum(not a.deadline_met for o in outcomes for a in o.answers)
    most = int(planning.SHARE_OF_PROMISE * allowed * sum(len(o.answers) for o in outcomes))
    return -max(late - most, 0), float(np.mean([o.score for o in outcomes]))


@pytest.mark.usefixtures("few_trials")
def test_export_plans_with_the_best_quantile_of_those_tried(fitted: PolyDomSearch, tmp_path: Path) -> None:
    chosen = fitted.export(tmp_path / "b")
    target, measured = fitted.target_, jittery()
    sizes = np.random.default_rng(0).choice(np.asarray(fitted.sizes_, dtype=np.float64), planning.N_TRIALS)
    trials = Trials.drawn(measured, sizes.tolist())
    bundles = {q: changed(chosen, planned=times, typical=chosen.times.typical) for q, times in target.planned.items()}
    merits = {q: merit(bundle, trials, allowed=1.0 - 0.99) for q, bundle in bundles.items()}

    assert len(merits) > 3
    assert len(set(merits.values())) > 1
    times = chosen.times
    assert merits[times.planned.quantile] == max(merits.values())
    assert times.planned == target.planned[times.planned.quantile]
    assert times.guarded in (target.guarded, *target.planned.values())
    assert times.reference_seconds == target.reference_seconds > 0.0
    assert load_bundle(tmp_path / "b") == replace(chosen, path=tmp_path / "b")


def test_given_costs_are_planned_with_as_they_are(tmp_path: Path) -> None:
    bundle = search().fit(*task.items(90), costs=task.costs).export(tmp_path / "b")

    assert bundle.times.planned == bundle.times.guarded == bundle.times.worst
