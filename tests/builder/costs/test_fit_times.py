"""Times of all units from samples, at several quantiles."""

from dataclasses import replace

import numpy as np
import pytest

from polydom_builder.costs.fit_times import REFERENCE_MODEL, check_samples, fit_times
from polydom_builder.costs.fitting import fit_cost
from polydom_builder.exceptions import FitError
from polydom_runtime.measuring.cost_samples import DISPATCH
from polydom_runtime.unit_times import step_users
from tests.builder import task
from tests.builder.board import samples

QUANTILES = (0.5, 0.9, 0.99)


def test_each_quantile_has_its_times_by_name() -> None:
    times = fit_times(task.space, samples(), QUANTILES)

    assert list(times) == list(QUANTILES)
    for quantile, at in times.items():
        assert at.quantile == quantile
        assert at.names == (*task.space.names, "difference")
        assert [(step.name, step.users) for step in at.steps] == list(step_users(task.space))
        assert at.model == float(np.quantile(samples().kernels[REFERENCE_MODEL], quantile))


def test_times_are_on_or_above_their_quantile_and_rise_with_it() -> None:
    measured = samples()
    times = fit_times(task.space, measured, QUANTILES)

    for at in times.values():
        for unit, cost in zip((*at.names, DISPATCH), (*at.terms, at.dispatch), strict=True):
            high = np.quantile(measured.of(unit), at.quantile, axis=1)
            assert all(cost(n) >= q for n, q in zip(measured.sizes, high, strict=True))
    for lower, higher in zip(times.values(), list(times.values())[1:], strict=False):
        assert all(a(n) <= b(n) for a, b in zip(lower.terms, higher.terms, strict=True) for n in measured.sizes)


def test_times_at_one_quantile_are_the_worst_cases_of_the_report() -> None:
    measured = samples()
    at = fit_times(task.space, measured, [0.9])[0.9]

    for unit, cost in zip((*at.names, DISPATCH), (*at.terms, at.dispatch), strict=True):
        assert cost == fit_cost(measured.sizes, measured.of(unit), 0.9, measured.typical_of(unit)).worst


def test_samples_without_the_reference_models_are_refused() -> None:
    kernels = {name: times for name, times in samples().kernels.items() if name != REFERENCE_MODEL}

    with pytest.raises(FitError, match=REFERENCE_MODEL):
        check_samples(task.space, replace(samples(), kernels=kernels))
