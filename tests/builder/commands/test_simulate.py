"""The command polydom simulate, for items back to back and at a period."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polydom_builder.__main__ import main
from polydom_builder.commands import simulate
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import Regime, RegimeTimes
from polydom_runtime.costs import CostFunction
from polydom_runtime.device.calibration import REFERENCE_MODEL
from polydom_runtime.measuring.cost_samples import AROUND, CostSamples, ItemSamples
from tests.bundle_parts import changed
from tests.runtime.conftest import US, make_bundle, write

WHOSE = "polydom: replayed with the times of some.costs, measured on an unknown device, not with those of the build\n"
UNITS = ("half", "mean", "spread", "ends", *AROUND)
TAKEN = np.array([2.0, 10.0, 20.0, 60.0, 0.5, 1e-5, 0.5]) * US


def measured(*regimes: Regime) -> CostSamples:
    """Return what units take at size 10; each takes 20 µs more if cold, and 2 µs more if rehearsed."""
    items = {}
    for regime in regimes:
        seconds = np.tile(TAKEN[:, None, None] * 0.9, (1, 20, 5)) + added(regime)
        models = {REFERENCE_MODEL: np.full((20, 5), 5 * US + added(regime))}
        items[regime] = ItemSamples(np.full(20, 10.0), seconds, models, 0.02 if regime != "hot" else 0.0)
    seconds = np.tile(TAKEN[:, None, None] * 0.9, (1, 2, 5))
    kernels = {REFERENCE_MODEL: np.full(5, 5 * US)}
    loops, blocks = np.ones((7, 2), dtype=np.int64), np.full(seconds.shape, np.nan)
    return CostSamples(UNITS, np.array([1.0, 1000.0]), seconds, loops, blocks, kernels, items=items)


def added(regime: Regime) -> float:
    return {"hot": 0.0, "rehearsed": 2 * US, "cold": 20 * US}[regime]


def planned(*regimes: Regime) -> Bundle:
    """Return the small bundle with the times of these regimes."""
    bundle = changed(make_bundle()[0], reference_seconds=5 * US)
    there = {}
    for regime in regimes:
        more = CostFunction.of(added(regime))
        worst = bundle.times.worst.mapped(lambda cost, more=more: cost + more)  # type: ignore[misc]
        times = bundle.times._replace(worst=worst, planned=worst, guarded=worst, typical=worst)
        times = times._replace(reference_seconds=5 * US + added(regime))
        there[regime] = RegimeTimes(times, (5 * US + added(regime),) * 3, 0.02)
    return replace(bundle, regimes=there)


def simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bundle: Bundle, samples: CostSamples, *arguments: str
) -> int:
    folder = write(tmp_path / "b", bundle, make_bundle()[1])
    monkeypatch.setattr(simulate, "load_costs", lambda file: samples)
    return main(["simulate", str(folder), "--costs", "some.costs", "--policy", "anytime", *arguments])


@pytest.mark.parametrize(
    ("arguments", "features"),
    [
        ((), "mean+spread+ends"),
        (("--period", "20ms"), "mean+spread+ends"),
        (("--period", "20ms", "--no-rehearse"), "mean"),
    ],
    ids=["hot", "rehearsed", "cold"],
)
def test_period_decides_which_times_are_simulated(
    arguments: tuple[str, ...],
    features: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    samples, bundle = measured("hot", "rehearsed", "cold"), planned("rehearsed", "cold")
    assert simulated(tmp_path, monkeypatch, bundle, samples, "--deadline", "140us", "--json", *arguments) == 0

    said = capsys.readouterr()
    (row,) = json.loads(said.out)["result"]["rows"]
    assert [*row["sets"]] == [features]
    assert row["features"] == features.split("+")
    assert row["late"] == 0.0
    regime = "cold" if "--no-rehearse" in arguments else "rehearsed"
    note = f"polydom: simulated with {regime} times after 20 ms asleep, for a period of 20 ms\n"
    assert said.err == (note if arguments else "") + WHOSE


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_bundle_without_cold_times_is_simulated_as_it_would_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    period = ("--period", "50ms", "--no-rehearse", "--deadline", "90us")
    assert simulated(tmp_path, monkeypatch, planned(), measured("cold"), *period, "--json") == 0

    said = capsys.readouterr()
    assert "20 ms asleep, for a period of 50 ms" in said.err
    assert "the bundle has no cold times and plans with hot ones; build it again" in said.err
    assert json.loads(said.out)["result"]["rows"][0]["late"] == 1.0


def test_costs_without_cold_times_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulated(tmp_path, monkeypatch, planned("cold"), measured("hot"), "--period", "20ms", "--no-rehearse") == 2
    assert "as they come, cold. They have hot. Measure again" in capsys.readouterr().err


def test_no_rehearse_goes_with_a_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulated(tmp_path, monkeypatch, planned("cold"), measured("hot"), "--no-rehearse") == 2
    assert "--no-rehearse must come with --period" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_deadline_that_is_too_short_is_left_out_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deadlines = ("--deadline", "500ns", "130us", "--json")
    assert simulated(tmp_path, monkeypatch, planned(), measured("hot"), *deadlines) == 0

    said = capsys.readouterr()
    assert [row["deadline"] for row in json.loads(said.out)["result"]["rows"]] == [pytest.approx(130e-6)]
    assert said.err.startswith("polydom: left out: The deadline must be at least 1 µs")


def test_only_deadlines_that_are_too_short_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulated(tmp_path, monkeypatch, planned(), measured("hot"), "--deadline", "500ns", "600ns") == 2
    assert capsys.readouterr().err.startswith("polydom: The deadline must be at least 1 µs")
