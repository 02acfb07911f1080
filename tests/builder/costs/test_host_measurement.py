"""Measuring on the host: which items are timed, and what is said of a busy machine."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polydom_builder.costs import host_measurement
from polydom_builder.training.cache import Cache
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


def test_busy_machine_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Disturbances(Pauses.of(1.0, [3.0])).warning
    made = samples()
    result = replace(made, machine={**made.machine, "warnings": ["the clock fell", busy]})

    with pytest.warns(UserWarning, match="got 25 % of a processor") as told:
        measured(monkeypatch, result, [np.ones(n) for n in (8, 20, 300)])
    assert len(told) == 1


def test_idle_machine_is_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        measured(monkeypatch, samples(), [np.ones(n) for n in (8, 20, 300)])

    assert told == []
