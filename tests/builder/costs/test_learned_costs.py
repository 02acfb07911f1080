"""Costs and profiles from what nodes learned: their medians, how they came about, and boards that are not sound."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder.__main__ import main
from polydom_builder.costs.learned_costs import learned_costs, learned_profile
from polydom_builder.exceptions import FitError
from polydom_runtime import DeviceProfile
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.device.calibration import KERNELS, REFERENCE_MODEL, REFERENCES
from polydom_runtime.exceptions import ProfileError
from polydom_runtime.learning.learned_file import Circumstances, LearnedFile, write_learned
from polydom_runtime.learning.learned_times import BEFORE, WAKING, LearnedRow
from polydom_runtime.measuring.cost_samples import AROUND, CostSamples, ItemSamples
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.measuring.journal import write_costs
from tests.runtime.conftest import make_bundle, write
from tests.runtime.learning.test_learned_file import learned_of

US = 1e-6
SIZES = np.array([4.0, 32.0, 256.0])
UNITS = ("half", "mean", "spread", "ends", *AROUND)
SOUND = Circumstances(1.0, 0, 1.0, ("performance",), 50.0, 64, 0.02)
MACHINE = {"device": "a board", "cpu": "a core", "numpy": "2.0", "onnxruntime": "1.28.0"}
FACTS: dict[str, Any] = {
    **MACHINE,
    "cores": 4,
    "began": "2026-11-28T12:00:00Z",
    "kernel": "6.1",
    "python": "3.13",
    "memory_bytes": 1 << 30,
    "timer_tick_ns": 1,
    "clock_hz_before": None,
    "onnx": {"ir_version": 9, "opset": 19, "ml_opset": 3},
}


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return load_bundle(write(tmp_path / "node.bundle", *make_bundle()))


def samples(bundle: Bundle, slower: float = 1.0) -> CostSamples:
    """Return costs that jitter by a tenth around those of the bundle, on a machine that is slower than its."""
    rng, times = np.random.default_rng(0), bundle.times.typical
    costs = {**dict(zip(times.names, times.terms, strict=True)), **dict(zip(AROUND, times.around, strict=True))}
    exact = np.array([[max(costs[unit](n), 1e-9) for n in SIZES] for unit in UNITS])
    seconds = slower * exact[:, :, None] * rng.uniform(0.9, 1.1, (*exact.shape, 101))
    kernels = {name: rng.uniform(0.9e-5, 1.1e-5, 101) for name in (*KERNELS, *REFERENCES)}
    models = {name: rng.uniform(0.9e-5, 1.1e-5, (3, 101)) for name in REFERENCES}
    items = {"hot": ItemSamples(SIZES, seconds, models), "cold": ItemSamples(SIZES, seconds, models, 0.02)}
    ones, blocks = np.ones(exact.shape, dtype=np.int64), np.full(seconds.shape, np.nan)
    return CostSamples(UNITS, SIZES, seconds, ones, blocks, kernels, FACTS, "2:abc", "enough", items)  # type: ignore[arg-type]


def node(bundle: Bundle, factor: float, offset: float = 0.0, how: Circumstances = SOUND) -> LearnedFile:
    """Return what a node learned: ``mean`` takes its factor, ``ends`` an offset, a model three times as long."""
    changed: dict[str | int, tuple[float, float]]
    changed = {"mean": (factor, 0.0), "ends": (1.0, offset), "half": (1.0, 0.0), "spread": (1.0, 0.0), 0: (3.0, 0.0)}
    rows = [LearnedRow("hot", unit, *change, 40, 10 * US) for unit, change in changed.items()]
    rows += [LearnedRow("cold", unit, *change, 40, 10 * US) for unit, change in changed.items()]
    rows.append(LearnedRow("cold", WAKING, 1.0, 30 * US, 40, 30 * US))
    return LearnedFile(MACHINE, "2026-11-29", how, tuple(how.warnings), learned_of(bundle, rows=tuple(rows)))


def medians(samples: CostSamples, unit: str, regime: Any = "hot") -> Any:
    return np.median(samples.in_answers(unit, regime), axis=1)


@pytest.mark.parametrize("slower", [1.0, 5.0])
def test_units_take_the_median_over_nodes_wherever_they_were_measured(bundle: Bundle, slower: float) -> None:
    found = learned_costs(samples(bundle, slower), [node(bundle, f) for f in (2.0, 9.0, 4.0)], bundle)

    assert medians(found, "mean") / US == pytest.approx([40, 40, 40], rel=0.05)
    assert medians(found, "spread") / US == pytest.approx([20.4, 23.2, 45.6], rel=0.05)
    assert np.median(found.of("mean"), axis=1) / US == pytest.approx([40, 40, 40], rel=0.05)
    spread = found.of("mean").std(axis=1) / found.of("mean").mean(axis=1)
    assert spread == pytest.approx(samples(bundle).of("mean").std(axis=1) / (10 * US), rel=0.1)


def test_constants_are_added(bundle: Bundle) -> None:
    found = learned_costs(samples(bundle), [node(bundle, 1.0, 100 * US)], bundle)

    assert medians(found, "ends") / US == pytest.approx([154, 182, 406], rel=0.05)
    assert medians(found, WAKING, "cold") / US == pytest.approx([30, 30, 30], rel=0.05)
    assert medians(found, WAKING) == pytest.approx([1e-9] * 3, abs=1e-9)
    assert medians(found, BEFORE) / US == pytest.approx([0.5] * 3, rel=0.05)


def test_models_and_kernels_change_as_those_of_the_bundle_and_as_most_units(bundle: Bundle) -> None:
    """Of four units one takes four times as long; models take three times as long."""
    found = learned_costs(samples(bundle), [node(bundle, 4.0)], bundle)

    assert np.median(found.kernels[REFERENCE_MODEL]) / US == pytest.approx(30, rel=0.05)
    assert np.median(found.items["hot"].models[REFERENCE_MODEL]) / US == pytest.approx(30, rel=0.05)
    kernel = next(name for name in KERNELS if name not in REFERENCES)
    assert np.median(found.kernels[kernel]) / US == pytest.approx(10, rel=0.05)


def test_file_comes_back_and_says_how_it_came_about(bundle: Bundle, tmp_path: Path) -> None:
    found = learned_costs(samples(bundle), [node(bundle, 4.0), node(bundle, 2.0)], bundle)
    write_costs(tmp_path / "fleet.costs", found)
    again = load_costs(tmp_path / "fleet.costs")

    assert np.array_equal(again.seconds, found.seconds)
    assert np.array_equal(again.items["cold"].seconds, found.items["cold"].seconds)
    assert again.items["cold"].asleep == 0.02
    assert again.stopped == "scaled to what 2 nodes learned from 1400 answers"
    how = "learned on a board from 700 answers, 2026-11-28 to 2026-11-29; 64 bits; every 20 ms; 50 °C"
    assert again.warnings == (f"learned, not measured: {how}",) * 2


THROTTLED, CAPPED = SOUND._replace(throttled=0x50000), SOUND._replace(clock_share=0.4)


@pytest.mark.parametrize("how", [THROTTLED, CAPPED])
def test_board_that_had_not_its_full_clock_is_marked(bundle: Bundle, how: Circumstances) -> None:
    nodes = [node(bundle, 2.0), node(bundle, 2.0, how=how)]
    found = learned_costs(samples(bundle), nodes, bundle)

    assert found.warnings[0].startswith("NOT SOUND: learned on a board")
    assert learned_profile(found, nodes, "a board").name == "a board (not sound)"
    assert learned_profile(found, nodes[:1], "a board").name == "a board"


def test_profile_is_derived_and_of_the_kind_that_was_measured(bundle: Bundle) -> None:
    nodes = [node(bundle, 2.0)]
    found = learned_costs(samples(bundle), nodes, bundle)
    profile = learned_profile(found, nodes, "a board")

    assert {quantity.provenance for quantity in profile.calibration.values()} == {"derived"}
    assert profile.cold_seconds is not None
    assert profile.cold_seconds.source.endswith("50 °C")
    with pytest.raises(ProfileError, match=r"of the same kind, a board\. Got a desktop"):
        learned_profile(found, nodes, "a desktop")


def test_strange_nodes_bundles_and_costs_are_refused(bundle: Bundle) -> None:
    good, costs = node(bundle, 2.0), samples(bundle)
    other = replace(good, machine={**MACHINE, "device": "another"})
    strange = replace(good, learned=replace(good.learned, bundle_sha256="0" * 64))

    with pytest.raises(FitError, match="of one kind"):
        learned_costs(costs, [good, other], bundle)
    with pytest.raises(FitError, match="number 2 has not"):
        learned_costs(costs, [good, strange], bundle)
    with pytest.raises(FitError, match="of the units of the bundle"):
        learned_costs(replace(costs, units=(*UNITS[:-1], "else")), [good], bundle)


def test_command_writes_costs_and_a_profile(
    bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_costs(tmp_path / "build.costs", replace(samples(bundle), machine={**FACTS, **_machine_of(tmp_path, bundle)}))
    command = ["costs", str(tmp_path / "build.costs"), "--learned", str(tmp_path / "a.learned"), "--out"]
    command += [str(tmp_path / "fleet.costs"), "--profile-out", str(tmp_path / "fleet.toml")]

    assert main(command) == 2
    assert "--learned must come with --bundle" in capsys.readouterr().err
    assert main([*command, "--bundle", str(bundle.path)]) == 0
    assert medians(load_costs(tmp_path / "fleet.costs"), "mean") / US == pytest.approx([40] * 3, rel=0.05)
    assert DeviceProfile.load(tmp_path / "fleet.toml").calibration
    assert "scaled to what 1 node learned" in capsys.readouterr().out


def _machine_of(folder: Path, bundle: Bundle) -> dict[str, str]:
    """Write what a node learned, and return the machine that it did so on: this one."""
    kept = write_learned(folder / "a.learned", node(bundle, 4.0).learned)
    return dict(kept.machine)
