"""Deadlines that are spread over the range of a bundle."""

import pytest

from polydom_builder.simulation.policies import spread_deadlines
from polydom_runtime.bundles.index import Candidate
from polydom_runtime.costs import CostFunction


@pytest.mark.parametrize(
    ("dispatch_us", "expected_us"),
    [(10.0, [100.0, 200.0, 400.0]), (250.0, [300.0, 346.4, 400.0]), (350.0, [400.0]), (900.0, [400.0])],
)
def test_deadlines_stay_in_the_range_however_long_dispatch_takes(dispatch_us: float, expected_us: list[float]) -> None:
    costs = dispatch_us * 1e-6, 1e-3
    candidates = [Candidate(k, ("a",)[:k], 0.5, CostFunction.of(costs[k])) for k in (0, 1)]

    found = spread_deadlines((100e-6, 400e-6), (1.0, 10.0), candidates, 3)

    assert found == pytest.approx([us * 1e-6 for us in expected_us], rel=1e-3)
