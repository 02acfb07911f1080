"""The timing loop, on a clock that only the features move."""

from pathlib import Path

import numpy as np
import pytest

from polydom_runtime.exceptions import FeatureError, ItemError
from polydom_runtime.timing import DISPATCH, CostSamples, measure, spread_by_size

from .conftest import World

ITEMS = [np.ones(n) for n in (100, 1, 10, 50, 1000)]


def test_each_unit_gets_its_own_time(world: World) -> None:
    samples = measure(world.space, ITEMS, n_sizes=3, rounds=12, clock=world.clock)

    assert samples.units == ("half", "mean", "spread", "ends", DISPATCH)
    assert samples.sizes.tolist() == [1.0, 50.0, 1000.0] or samples.sizes.tolist() == [1.0, 10.0, 1000.0]
    assert samples.seconds.shape == (5, 3, 12)
    for unit, seconds in world.seconds.items():
        assert np.allclose(samples.of(unit), seconds, rtol=1e-9)
    assert (samples.of(DISPATCH) == 0.0).all()


def test_units_are_interleaved(world: World) -> None:
    """Between two samples of one unit on one item lies about one round of all others."""
    measure(world.space, ITEMS[:1], n_sizes=1, rounds=50, clock=world.clock)
    runs = sum(a == b for a, b in zip(world.calls, world.calls[1:], strict=False))

    assert runs < 0.4 * len(world.calls)


def test_measuring_stops_when_time_is_up(world: World) -> None:
    samples = measure(world.space, ITEMS, rounds=1000, seconds=1e-6, clock=world.clock)

    assert samples.seconds.shape[2] == 10


def test_samples_are_carried_in_a_file(world: World, tmp_path: Path) -> None:
    samples = measure(world.space, ITEMS, n_sizes=3, rounds=12, clock=world.clock)
    samples.save(tmp_path / "pi.costs")
    loaded = CostSamples.load(tmp_path / "pi.costs")

    assert loaded.units == samples.units
    assert np.array_equal(loaded.sizes, samples.sizes)
    assert np.array_equal(loaded.seconds, samples.seconds)


@pytest.mark.parametrize("content", [None, b"", b"no samples"])
def test_file_that_holds_no_samples_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "bad.costs").write_bytes(content)

    with pytest.raises(ItemError, match="cost samples"):
        CostSamples.load(tmp_path / "bad.costs")


@pytest.mark.parametrize("items", [[], [np.ones(0)], [None]], ids=["none", "empty", "no size"])
def test_items_without_a_size_are_refused(world: World, items: list[object]) -> None:
    with pytest.raises(ItemError, match="must"):
        measure(world.space, items, clock=world.clock)


def test_failing_feature_is_named(world: World) -> None:
    world.results["ends"] = RuntimeError("sensor gone")

    with pytest.raises(FeatureError, match="'ends'"):
        measure(world.space, ITEMS, clock=world.clock)


def test_sizes_are_spread_over_the_range() -> None:
    assert spread_by_size([5.0, 5.0, 5.0], 4) == [0]
    assert spread_by_size([1.0, 2.0, 4.0, 8.0, 16.0], 3) == [0, 2, 4]
