"""Rehearsals on the command line: by recorded costs, and by a recorded flight."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polydom_builder.__main__ import main
from polydom_builder.simulation import simulate
from polydom_builder.simulation.flights import recorded_flight
from polydom_runtime import Predictor, Seams
from polydom_runtime.costs import CostFunction
from polydom_runtime.measuring.cost_samples import AFTER, BEFORE, WAKING
from polydom_runtime.records.flight_file import load_flight
from polydom_runtime.records.recorder import FlightRecorder
from tests.bundle_parts import changed
from tests.runtime.conftest import US, World, make_bundle, write


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def bundle_folder(tmp_path: Path) -> Path:
    return write(tmp_path / "small.bundle", *make_bundle())


@pytest.fixture
def flight(world: World, bundle_folder: Path, tmp_path: Path) -> Path:
    """Two hundred items, whose features take between half and all of their worst case."""
    predictor = Predictor.load(bundle_folder, world.space, deadline=200 * US, seams=Seams(clock=world.clock))
    rng = np.random.default_rng(0)
    recorder = FlightRecorder(tmp_path / "flight", predictor, capacity=500)
    for number in range(200):
        n = int(rng.integers(5, 300))
        share = rng.uniform(0.5, 1.0)
        world.seconds = {"half": 2 * US * share, "mean": 10 * US * share}
        world.seconds |= {"spread": (20 + 0.1 * n) * US * share, "ends": (50 + n) * US * share}
        recorder.add(predictor.predict_one(np.arange(float(n))), predictor.trace, number)
    recorder.close()
    return tmp_path / "flight"


def test_replay_with_nothing_changed_repeats_the_flight(flight: Path, bundle_folder: Path) -> None:
    """The models of that world take no time, so they do not in the replay."""
    bundle, recording = make_bundle()[0], load_flight(flight)

    again = simulate(bundle, recorded_flight(bundle, recording).trials, 200 * US, adapt=False).answers

    assert [len(r.answered) for r in recording.records] == [len(a.features) for a in again]
    assert [r.reason for r in recording.records] == [a.reason for a in again]


def test_recorded_time_of_the_first_feature_holds_waking_and_its_step(flight: Path) -> None:
    """On "mean", the first feature, the recording of 18 to 36 µs is split in proportion to 24, 2 and 10 µs."""
    bundle, recording = make_bundle()[0], load_flight(flight)
    planned = replace(bundle.times.planned, waking=CostFunction.of(24 * US), after=CostFunction.of(0.25 * US))
    trials = recorded_flight(replace(bundle, times=bundle.times._replace(planned=planned)), recording).trials

    for k, record in enumerate(recording.records):
        assert record.features[0] == 0
        parts = np.array([trials.of(unit)[k] for unit in (WAKING, "half", "mean")])
        assert parts == pytest.approx(record.feature_ns[0] * 1e-9 * np.array([24, 2, 10]) / 36)
        assert trials.of(BEFORE)[k] == record.before_ns * 1e-9
        assert trials.of(AFTER)[k] == min(0.25 * US, record.model_ns * 1e-9)  # the rest is the model's


def test_replay_command_compares_deadlines_and_policies(
    flight: Path, bundle_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["replay", str(flight), "--bundle", str(bundle_folder), "--deadline", "100us", "200us"]
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["result"]

    assert document["recorded"]["items"] == 200
    scores = {(row["policy"], row["deadline"]): row["score"] for row in document["replayed"]}
    assert len(scores) == 4
    for policy in ("anytime", "strict"):
        assert scores[policy, 1e-4] < scores[policy, 2e-4]
    assert all(scores["anytime", d] >= scores["strict", d] for d in (1e-4, 2e-4))

    assert main([*command, "--policy", "strict"]) == 0
    assert "recorded: 200 items at 200 µs, anytime: 0 missed" in capsys.readouterr().out


def test_flight_of_other_features_is_refused(flight: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, models = make_bundle()
    other = write(tmp_path / "other", changed(bundle, names=("a", "b", "c")), models)

    assert main(["replay", str(flight), "--bundle", str(other)]) == 2
    assert "must be of features of the bundle" in capsys.readouterr().err
