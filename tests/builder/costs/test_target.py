"""The device that is planned for: measured there, or estimated from here."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from polydom_builder import PolyDomSearch
from polydom_builder.costs.carry_over import KERNELS_OF_TERM, Ratio, carried_cost, carried_models, of_term, ratios
from polydom_builder.costs.model_placing import LEAST_SHARE_ADDED, MARGIN, place, placed_seconds
from polydom_builder.costs.target import Target
from polydom_builder.exceptions import ExportError, FitError
from polydom_builder.training.onnx import to_onnx
from polydom_builder.verification.verify import verify_bundle
from polydom_runtime.costs import BASIS, CostFunction
from polydom_runtime.device.calibration import KERNELS, REFERENCE_MODEL, REFERENCES
from polydom_runtime.device.device_profile import Calibrated, DeviceProfile
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.measuring.fingerprint import FINGERPRINT_VERSION
from tests.builder import task
from tests.builder.board import LINEAR_SECONDS, SIZES, samples
from tests.builder.searches import made
from tests.builder.shared_memory import shared_memory

US = 1e-6


def search(**changes: Any) -> PolyDomSearch:
    parameters = {"estimator": LogisticRegression(), "space": task.space, "deadline": 0.001, "cv": 3, "alpha": 2.0}
    parameters["memory"] = shared_memory()
    return made(PolyDomSearch, **parameters | changes)


@pytest.fixture(scope="module")
def measured() -> PolyDomSearch:
    return search().fit(*task.items(90), costs=samples())


def test_bundle_says_where_its_costs_come_from_and_keeps_to_the_device(measured: PolyDomSearch, tmp_path: Any) -> None:
    bundle = measured.export(tmp_path / "b")

    assert str(bundle.times.origin) == "costs measured on a board"
    assert bundle.times.origin.versions == {"numpy": "2.0", "onnxruntime": "1.28.0"}
    assert all(LINEAR_SECONDS < m.seconds < 2.0 * LINEAR_SECONDS for m in bundle.models)
    for weight, given in zip(bundle.times.worst.features, task.costs.features, strict=True):
        assert 1.0 < weight(500) / given(500) < 1.3


def test_throttled_measurement_is_repeated_by_the_bundle(tmp_path: Any) -> None:
    throttled = samples(machine={**samples().machine, "warnings": ["the clock was held down"]})
    bundle = search().fit(*task.items(90), costs=throttled).export(tmp_path / "b")

    assert str(bundle.times.origin) == "costs measured on a board; the clock was held down"


def test_profile_gives_an_estimate_that_says_so(
    measured: PolyDomSearch, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polydom_builder.preparation.preparation.measure_here", lambda *arguments: samples())
    there = search(deadline=0.05).fit(*task.items(90), costs=DeviceProfile.named("raspberry_pi_4b"))

    assert "estimated, not measured" in str(there.export(tmp_path / "b").times.origin)
    assert all(b(500) > a(500) for a, b in zip(measured.times_.features, there.times_.features, strict=True))
    assert there.times_.dispatch(1) > measured.times_.dispatch(1)


def profile_with(seconds: float, uncertainty: float) -> DeviceProfile:
    calibration = {name: Calibrated(seconds, uncertainty, "derived", "for a test") for name in KERNELS}
    return replace(DeviceProfile.named("raspberry_pi_5"), calibration=calibration)


def test_machine_with_the_same_calibration_gets_the_same_costs() -> None:
    kernels = {name: np.full(50, 2e-5) for name in KERNELS}
    by_kernel = ratios(profile_with(2e-5, 1.0), kernels)
    cost = CostFunction((1e-6, 2e-6, 3e-9, 4e-9, 5e-12, 6e-15))

    for worst in (False, True):
        assert carried_cost(cost, by_kernel, worst=worst).weights == pytest.approx(cost.weights)


def test_each_term_is_carried_over_by_its_kernels() -> None:
    """Twice the interpreter's time, eight times that of small numpy calls: four times a constant, eight at worst."""
    same = {name: Ratio(1.0, 1.0) for name in KERNELS}
    slow = same | {"interpreter": Ratio(2.0, 3.0), "numpy_call": Ratio(8.0, 12.0)}

    assert of_term("1", slow) == Ratio(4.0, 12.0)
    assert of_term("n", slow) == Ratio(1.0, 1.0)
    assert set(KERNELS_OF_TERM) == set(BASIS)


def test_each_reference_model_is_carried_over_by_the_kernel_of_its_engine() -> None:
    by_kernel = {name: Ratio(1.0, 1.0) for name in KERNELS}
    by_kernel |= {"numpy_call": Ratio(2.0, 3.0), "onnx_linear": Ratio(2.0, 5.0), "onnx_trees": Ratio(2.0, 7.0)}
    models = {"model dense": 1.0, "model trees": 1.0, "numpy dense": 1.0, "numpy trees": 1.0}

    assert list(carried_models(models, by_kernel).values()) == [5.0, 7.0, 3.0, 3.0]


def test_worst_case_is_widened_by_the_uncertainty() -> None:
    kernels = {name: np.full(50, 2e-5) for name in KERNELS}
    by_kernel = ratios(profile_with(4e-5, 1.5), kernels)

    assert by_kernel["fft"] == Ratio(2.0, 3.0)


def test_samples_without_calibration_cannot_be_carried_over() -> None:
    models = {name: times for name, times in samples().kernels.items() if name in REFERENCES}
    with pytest.raises(FitError, match="calibration kernels"):
        Target.estimated(task.space, samples(kernels=models), DeviceProfile.named("raspberry_pi_5"), 0.99)
    with pytest.raises(FitError, match="reference models"):
        Target.measured(task.space, samples(kernels={}), 0.99)


def test_model_is_placed_by_the_references_and_pays_for_coming_first() -> None:
    """Linear references take 50 µs there, whatever their size, and the one that comes first 80 µs."""
    rows = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    model = to_onnx(LogisticRegression().fit(rows, rows[:, 0] > 0), 6)
    there = {name: 70 * US if "trees" in name else LINEAR_SECONDS for name in REFERENCES}

    def stated(model: bytes, first: float) -> float:
        return placed_seconds(model, rows, 2, there | {REFERENCE_MODEL: first})

    assert stated(model, LINEAR_SECONDS) == pytest.approx(MARGIN * LINEAR_SECONDS)
    assert stated(model, 80 * US) == pytest.approx(MARGIN * 80 * US)
    assert stated(model, 20 * US) == pytest.approx(MARGIN * LINEAR_SECONDS)
    trees = to_onnx(DecisionTreeClassifier().fit(rows, rows[:, 0] > 0), 6)
    assert stated(trees, 80 * US) == pytest.approx(MARGIN * 100 * US)
    after_few = placed_seconds(model, rows, 2, there | {REFERENCE_MODEL: 80 * US}, share=0.0)
    assert after_few == pytest.approx(MARGIN * (50 + LEAST_SHARE_ADDED * 30) * US)


def test_other_features_are_refused() -> None:
    with pytest.raises(FitError, match="units"):
        search().fit(*task.items(90), costs=samples(units=("other", *samples().units[1:])))


def test_other_feature_code_is_refused() -> None:
    with pytest.raises(FitError, match="has changed since"):
        search().fit(*task.items(90), costs=samples(fingerprint=FINGERPRINT_VERSION + "0" * 64))


def test_fingerprint_of_an_older_version_tells_nothing() -> None:
    with pytest.warns(UserWarning, match="older version"):
        search().fit(*task.items(90), costs=samples(fingerprint="0" * 64))


def test_too_few_sizes_are_refused() -> None:
    few = samples(sizes=SIZES[:5], seconds=samples().seconds[:, :5], loops=samples().loops[:, :5])
    with pytest.raises(FitError, match="at 8 sizes or more"):
        search().fit(*task.items(90), costs=replace(few, blocks=few.seconds * np.nan))


def test_backward_clock_is_refused() -> None:
    broken = samples().seconds.copy()
    broken[3, 3, 4] = -1e-6
    with pytest.raises(MeasurementError, match=r"roughness.*run backwards"):
        search().fit(*task.items(90), costs=samples(seconds=broken))


def test_items_beyond_the_measured_sizes_are_refused() -> None:
    with pytest.raises(FitError, match="cover the item sizes"):
        search(size_range=(8, 10_000)).fit(*task.items(90), costs=samples())


def test_models_too_large_for_the_memory_are_refused_by_name() -> None:
    target = Target.measured(task.space, samples(), 0.99)
    target.check_memory(["level", "level+spread"], [1000, 2000])

    with pytest.raises(ExportError, match=r"a board, 1024 MiB.*level\+spread"):
        target.check_memory(["level", "level+spread"], [1000, 300 << 20])


def test_device_with_less_memory_than_the_models_need_is_refused_at_build(tmp_path: Any) -> None:
    small = samples(machine={**samples().machine, "memory_bytes": 60_000_000})
    with pytest.raises(ExportError, match="one model must fit the device's memory of 60 MB"):
        search().fit(*task.items(90), costs=small).export(tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_of_models_that_do_not_fit_the_memory_of_the_device_some_are_left_out(tmp_path: Any) -> None:
    small = samples(machine={**samples().machine, "memory_bytes": 60_070_000})

    bundle = search(deadline=(100e-6, 0.04)).fit(*task.items(90), costs=small).export(tmp_path / "b")

    assert len(bundle.models) == 1
    assert "1 of 2 models were left out to keep the device's memory of 60.07 MB" in str(bundle.shipping)
    assert verify_bundle(tmp_path / "b").ok


def test_device_that_cannot_load_our_models_is_refused() -> None:
    old = samples(machine={**samples().machine, "onnx": {"ir_version": 3, "opset": 7, "ml_opset": 1}})
    with pytest.raises(ExportError, match="a board must load ONNX"):
        search().fit(*task.items(90), costs=old)


def test_what_the_device_adds_to_models_is_not_multiplied() -> None:
    """References of 1 to 60 µs take 30 µs longer among features there; so does a model of 220 µs, not 31 times as long.

    Above the largest reference of 7 µs, times once grew in proportion to it: 220 µs became 1,160.
    """
    pairs = [(t * 1e-6, (t + 30.0) * 1e-6) for t in (2.7, 3.1, 3.4, 7.0, 32.0, 56.0)]

    assert place(220e-6, pairs) == pytest.approx(250e-6)
    assert place(220e-6, pairs[:4]) == pytest.approx(250e-6)
    assert place(1e-6, pairs) == pytest.approx(31e-6)


def test_longer_model_never_takes_less_there() -> None:
    noisy = [(2e-6, 40e-6), (3e-6, 36e-6), (7e-6, 30e-6)]

    assert place(1e-6, noisy) <= place(100e-6, noisy)
    assert place(1e-6, noisy) > 25e-6
