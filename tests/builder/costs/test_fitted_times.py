"""Times of all units from samples, at several quantiles."""

from dataclasses import replace

import numpy as np
import pytest

from polydom_builder.costs.cost_fit import fit_cost
from polydom_builder.costs.fitted_times import FittedTimes
from polydom_builder.costs.sample_checks import check_samples
from polydom_builder.exceptions import FitError
from polydom_runtime.bundles.unit_times import UnitTimes, step_users
from polydom_runtime.costs import CostFunction
from polydom_runtime.device.calibration import LARGE_REFERENCES, REFERENCE_MODEL, REFERENCES
from polydom_runtime.measuring.cost_samples import AFTER, BEFORE, CostSamples
from tests.builder import task
from tests.builder.board import drawn, samples

QUANTILES = (0.5, 0.9, 0.99)


def measured_units(at: UnitTimes) -> list[tuple[str, CostFunction]]:
    """Return the time of each unit that was measured hot: waking was not."""
    return [*zip((*at.names, BEFORE, AFTER), (*at.terms, at.before, at.after), strict=True)]


def fitted(measured: CostSamples) -> dict[float, UnitTimes]:
    times = FittedTimes(task.space, measured)
    return {quantile: times.at(quantile) for quantile in QUANTILES}


def test_each_quantile_has_its_times_by_name() -> None:
    for quantile, at in fitted(samples()).items():
        assert at.quantile == quantile
        assert at.names == (*task.space.names, "difference")
        assert [(step.name, step.users) for step in at.steps] == list(step_users(task.space))
        assert at.model == float(np.quantile(samples().kernels[REFERENCE_MODEL], quantile))


def test_times_are_on_or_above_their_quantile_and_rise_with_it() -> None:
    measured = samples()
    times = fitted(measured)

    for at in times.values():
        for unit, cost in measured_units(at):
            high = np.quantile(measured.of(unit), at.quantile, axis=1)
            assert all(cost(n) >= q for n, q in zip(measured.sizes, high, strict=True))
    for lower, higher in zip(times.values(), list(times.values())[1:], strict=False):
        assert all(a(n) <= b(n) for a, b in zip(lower.terms, higher.terms, strict=True) for n in measured.sizes)


def test_times_at_one_quantile_are_the_worst_cases_of_the_report() -> None:
    measured = samples()
    at = FittedTimes(task.space, measured).at(0.9)

    for unit, cost in measured_units(at):
        assert cost == fit_cost(measured.sizes, measured.of(unit), 0.9, measured.typical_of(unit)).worst


def test_items_that_take_longer_than_their_size_tells_raise_the_times_of_their_unit_only() -> None:
    """One item in five takes ten times as long in one feature, as transforms of sizes with large prime factors do."""
    items = drawn(np.random.default_rng(0).uniform(8, 2000, 200))
    unit = samples().units.index("turns")
    items.seconds[unit, ::5] *= 10.0
    plain, times = fitted(samples()), fitted(samples(items={"hot": items}))

    turns = task.space.names.index("turns")
    for quantile, at in times.items():
        planned = np.array([at.terms[turns](n) for n in items.sizes])
        assert (items.seconds[unit] > planned[:, None]).mean() <= 1.0 - quantile + 1e-9
    assert times[0.5].terms[turns](500) <= 1.1 * plain[0.5].terms[turns](500)
    assert times[0.9].terms[turns](500) > 8.0 * plain[0.9].terms[turns](500)
    assert times[0.9].terms[0](500) <= 1.1 * plain[0.9].terms[0](500)


@pytest.mark.parametrize(("count", "lower"), [(200, True), (20, False)])
def test_only_many_answers_can_lower_the_times_of_the_measured_sizes(count: int, lower: bool) -> None:
    """In answers everything takes half as long, since it finds its code warm."""
    quick = drawn(np.random.default_rng(0).uniform(8, 2000, count))
    quick.seconds[:] *= 0.5
    plain, times = fitted(samples()), fitted(samples(items={"hot": quick}))

    for before, after in zip(plain.values(), times.values(), strict=True):
        ratios = [b(500) / a(500) for a, b in zip(before.terms, after.terms, strict=True)]
        assert ratios == pytest.approx([0.5] * len(ratios) if lower else [1.0] * len(ratios), rel=0.1)


def test_large_items_are_not_outvoted_by_small_ones() -> None:
    """The slowest tenth of the answers are all to the largest items, which thus need more of their own time."""
    items = drawn(np.sort(np.random.default_rng(0).uniform(8, 2000, 200)))
    items.seconds[:, 180:] *= 3.0
    at = FittedTimes(task.space, samples(items={"hot": items})).at(0.9)

    large = items.sizes[150:]
    for unit, cost in measured_units(at):
        planned = np.array([cost(n) for n in large])
        assert (items.seconds[samples().units.index(unit), 150:] > planned[:, None]).mean() <= 0.1 + 1e-9


def test_large_reference_models_may_be_missing_as_in_older_measurements() -> None:
    kernels = {name: times for name, times in samples().kernels.items() if name not in LARGE_REFERENCES}
    older = samples(kernels=kernels)
    check_samples(task.space, older)

    assert set(older.reference_times) == set(REFERENCES) - set(LARGE_REFERENCES)


def test_samples_without_the_reference_models_are_refused() -> None:
    kernels = {name: times for name, times in samples().kernels.items() if name != REFERENCE_MODEL}

    with pytest.raises(FitError, match=REFERENCE_MODEL):
        check_samples(task.space, replace(samples(), kernels=kernels))
