"""Which bundles are refused before an install, and which ones give a warning only."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import CostOrigin
from polydom_runtime.bundles.references import References, stored
from polydom_runtime.delivery.fitness import check_fitness
from polydom_runtime.device.board import Board
from polydom_runtime.device.probe import Probe
from polydom_runtime.exceptions import BundleMismatchError, UpdateError
from tests.runtime.node_space import space

PROBE = Probe(bits=64, numpy="2.4.6", onnxruntime="1.28.0", threads=1, ir_version=13, opset=26, ml_opset=5)


def board_of(folder: Path, available_kb: int) -> Board:
    (folder / "proc" / "device-tree").mkdir(parents=True)
    (folder / "proc" / "meminfo").write_text(f"MemAvailable: {available_kb} kB\n")
    (folder / "proc" / "device-tree" / "model").write_text("Raspberry Pi 4")
    return Board(folder)


def test_bundle_of_this_device_has_no_warning(tmp_path: Path, bundles: list[Bundle]) -> None:
    times = bundles[0].times._replace(origin=CostOrigin(device="Raspberry Pi 4"))
    bundle = replace(bundles[0], times=times)

    assert check_fitness(bundle, board_of(tmp_path, 10**6), PROBE) == []


def test_bundle_of_another_device_is_a_warning(tmp_path: Path, bundles: list[Bundle]) -> None:
    times = bundles[0].times._replace(origin=CostOrigin(device="Raspberry Pi 5"))
    bundle = replace(bundles[0], times=times)

    (warning,) = check_fitness(bundle, board_of(tmp_path, 10**6), PROBE)

    assert "of Raspberry Pi 5, this is Raspberry Pi 4" in warning.found


def test_bundle_without_the_memory_for_it_is_refused(tmp_path: Path, bundles: list[Bundle]) -> None:
    with pytest.raises(UpdateError, match=r"able to work on this machine\. Got memory: 1 MB available.* Stop other"):
        check_fitness(bundles[0], board_of(tmp_path, 1000), PROBE)


def test_bundle_whose_models_cannot_be_tried_is_refused(tmp_path: Path, bundles: list[Bundle]) -> None:
    with pytest.raises(UpdateError, match=r"Got bundle: not tried without onnxruntime: killed by SIGILL\. Make"):
        check_fitness(bundles[0], board_of(tmp_path, 10**6), "killed by SIGILL")


def test_bundle_with_a_model_that_does_not_run_is_refused(tmp_path: Path, bundles: list[Bundle]) -> None:
    bundle = replace(bundles[0], contents=(b"no model", *bundles[0].contents[1:]))

    with pytest.raises(UpdateError, match=r"Got bundle: 1 of 3 models do not run; 0000\.onnx"):
        check_fitness(bundle, board_of(tmp_path, 10**6), PROBE)


def test_bundle_whose_features_give_other_numbers_is_refused(tmp_path: Path, bundles: list[Bundle]) -> None:
    item = stored(np.arange(4.0))
    assert item is not None
    bundle = replace(bundles[0], references=References((item,), ((9.0,) * 6,), (1e-6,) * 6))

    with pytest.raises(BundleMismatchError, match="must give the numbers"):
        check_fitness(bundle, board_of(tmp_path, 10**6), PROBE, space)


def test_bundle_without_reference_items_is_a_warning(tmp_path: Path, bundles: list[Bundle]) -> None:
    found = check_fitness(bundles[0], board_of(tmp_path, 10**6), PROBE, space)

    assert ("features", "the bundle has no items") in [(warning.check, warning.found) for warning in found]
