"""Measuring on the host: which items are timed, and what is said of a busy machine."""

import os
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from polydom_builder.costs import host_measurement
from polydom_builder.exceptions import BusyMachineWarning
from polydom_builder.training.cache import Cache
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.measuring.cost_samples import CostSamples, Pauses
from polydom_runtime.measuring.session import MAX_ITEMS
from polydom_runtime.measuring.stopwatch import Disturbances
from tests.builder import task
from tests.builder.board import samples


class Bar:
    """A progress bar that shows nothing."""

    n = 0

    def update(self, count: int) -> None: ...


def measured(monkeypatch: pytest.MonkeyPatch, result: CostSamples, items: list[Any]) -> list[Any]:
    """Measure without timing anything; return the items that would have been timed."""
    timed: list[Any] = []

    def measure(space: object, items: list[Any], **options: Any) -> CostSamples:
        timed.extend(items)
        return result

    monkeypatch.setattr(host_measurement, "measure", measure)
    assert host_measurement.measure_here(task.space, items, 0.99, 0, Cache(), Bar()) is result
    return timed


def test_items_of_all_sizes_and_some_as_they_come_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [np.ones(n) for n in range(8, 2000)]
    timed = [len(item) for item in measured(monkeypatch, samples(), items)]

    assert {8, 1999} <= set(timed)
    assert MAX_ITEMS <= len(timed) <= MAX_ITEMS + host_measurement.MEASURED_SIZES
    assert len(set(timed)) == len(timed)


@pytest.mark.parametrize("kind", ["kept", "pipe", "of other features", "damaged"])
def test_times_that_cannot_be_those_that_were_kept_are_measured_again(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe was waited for."""
    made, calls = samples(), []

    def measure(*_: object, journal: Any, **__: object) -> CostSamples:
        calls.append(journal._file.write_bytes(b"kept"))
        return made

    def load(file: Path) -> CostSamples:
        if file.read_bytes() != b"kept":
            raise MeasurementError("damaged")
        return replace(made, units=tuple(f"{name}2" for name in made.units)) if kind == "of other features" else made

    monkeypatch.setattr(host_measurement, "measure", measure)
    monkeypatch.setattr(host_measurement, "load_costs", load)
    for n in range(2):
        if n:
            (file,) = tmp_path.rglob("*.costs")
            if kind == "pipe":
                file.unlink()
                os.mkfifo(file)
            elif kind == "damaged":
                file.write_bytes(b"")
        items = [np.ones(size) for size in (8, 20, 300)]
        assert host_measurement.measure_here(task.space, items, 0.99, 0, Cache(tmp_path), Bar()) is made

    assert len(calls) == (1 if kind == "kept" else 2)


def busy_samples() -> CostSamples:
    made, pauses = samples(), Pauses.of(1.0, [3.0])
    return replace(
        made, machine={**made.machine, "warnings": ["the clock fell", Disturbances(pauses).warning]}, pauses=pauses
    )


def test_busy_machine_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(BusyMachineWarning, match="got 25 % of a processor") as told:
        measured(monkeypatch, busy_samples(), [np.ones(n) for n in (8, 20, 300)])
    assert len(told) == 1


def test_times_of_a_busy_machine_that_are_refused_are_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So the next build measures again."""
    monkeypatch.setattr(
        host_measurement,
        "measure",
        lambda *given, journal, **options: journal._file.write_bytes(b"kept") and busy_samples(),
    )

    def files(action: Literal["always", "error"]) -> int:
        with warnings.catch_warnings(record=True), suppress(BusyMachineWarning):
            warnings.simplefilter(action)
            host_measurement.measure_here(task.space, [np.ones(8), np.ones(20)], 0.99, 0, Cache(tmp_path), Bar())
        return len([*tmp_path.rglob("*.costs")])

    assert files("always") == 1
    monkeypatch.setattr(host_measurement, "load_costs", lambda file: busy_samples())
    assert files("error") == 0


def test_idle_machine_is_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        measured(monkeypatch, samples(), [np.ones(n) for n in (8, 20, 300)])

    assert told == []
