"""The timing loop, on a clock that only the features move."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import FeatureError, ItemError, MeasurementError
from polydom_runtime.measuring.cost_samples import AFTER, BEFORE, MIN_SECONDS, WAKING, CostSamples
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.measuring.item_sizes import chosen_items, spread_by_size
from polydom_runtime.measuring.journal import FileJournal
from polydom_runtime.measuring.measure import measure
from polydom_runtime.measuring.session import COOL_DOWN_SECONDS
from polydom_runtime.measuring.stopwatch import Timers
from polydom_runtime.tables import percent
from polydom_runtime.testing import ManualClock
from tests.runtime.conftest import World
from tests.runtime.measuring.fragile_journal import FragileJournal, Killed

ITEMS = [np.ones(n) for n in (100, 1, 10, 50, 1000, 2, 5, 20, 200, 500)]


@pytest.fixture(autouse=True)
def no_models(bare_machine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the reference models too, which only the hardware clock could time."""
    monkeypatch.setattr("polydom_runtime.measuring.unit_bench.reference_models", dict)


@pytest.fixture
def world() -> World:
    """Return a world whose clock moves by a nanosecond with each reading too, since nothing takes no time."""
    made = World()
    made.clock = ManualClock(step_ns=1)
    return made


def test_each_unit_gets_its_own_time(world: World) -> None:
    samples = measure(world.space, ITEMS, n_sizes=8, rounds=12, clock=world.clock)

    assert samples.units == ("half", "mean", "spread", "ends", BEFORE, WAKING, AFTER)
    assert samples.sizes.tolist() == sorted(samples.sizes)
    assert len(samples.sizes) == 8
    assert samples.seconds.shape == (7, 8, 12)
    for unit, seconds in world.seconds.items():
        assert np.allclose(samples.of(unit), seconds, rtol=1e-2)
    assert (samples.of(BEFORE) < 1e-8).all()
    assert (samples.of(AFTER) < 1e-8).all()
    assert (samples.of(WAKING) == MIN_SECONDS).all()


def test_short_calls_are_timed_in_blocks_too(world: World) -> None:
    """A step takes 2.4 µs; on a timer that ticks every 1 µs, a block must last 100 µs."""
    world.seconds["half"] = 2.4e-6
    fine = world.clock = ManualClock(step_ns=30)
    samples = measure(world.space, ITEMS[:1], rounds=12, clock=lambda: fine() // 1000 * 1000)

    half, ends = samples.units.index("half"), samples.units.index("ends")
    assert samples.loops[half, 0] > samples.loops[ends, 0] >= 1
    assert np.allclose(samples.typical_of("half"), 2.4e-6, rtol=0.05)
    assert not np.allclose(samples.of("half"), 2.4e-6, rtol=0.05)


def test_units_are_interleaved(world: World) -> None:
    """Between two samples of one unit on one item lies about one round of all others."""
    measure(world.space, ITEMS[:1], rounds=50, clock=world.clock)
    runs = sum(a == b for a, b in zip(world.calls, world.calls[1:], strict=False))

    assert runs < 0.4 * len(world.calls)


def test_measuring_stops_when_time_is_up(world: World) -> None:
    samples = measure(world.space, ITEMS, rounds=1000, seconds=1e-6, precision=0.0, clock=ticking(world))

    assert samples.stopped == f"time was up after {samples.n_rounds} rounds"
    assert 10 <= samples.n_rounds < 1000


def test_measuring_stops_when_all_is_known(world: World) -> None:
    """Times that never vary are known as soon as there are batches to compare."""
    samples = measure(world.space, ITEMS, n_sizes=8, seconds=1e9, rounds=4000, clock=ticking(world))

    assert samples.stopped == f"known to within 5 % after {samples.n_rounds} rounds"


def test_too_many_sizes_is_not_asked_and_too_few_refused(world: World) -> None:
    with pytest.raises(ItemError, match="at least 8"):
        measure(world.space, ITEMS, n_sizes=3, clock=world.clock)


@pytest.mark.parametrize("items", [[], [np.ones(0)], [None]], ids=["none", "empty", "no size"])
def test_items_without_a_size_are_refused(world: World, items: list[object]) -> None:
    with pytest.raises(ItemError, match="must"):
        measure(world.space, items, clock=world.clock)


def test_items_that_do_not_cover_the_range_are_refused(world: World) -> None:
    with pytest.raises(ItemError, match="cover the sizes 1 to 5000"):
        measure(world.space, ITEMS, size_range=(1.0, 5000.0), clock=world.clock)

    chosen = chosen_items(world.space, ITEMS, 8, (5.0, 200.0))
    assert [len(ITEMS[i]) for i in chosen] == [5, 10, 20, 50, 100, 200]


def test_failing_feature_is_named(world: World) -> None:
    world.results["ends"] = RuntimeError("sensor gone")

    with pytest.raises(FeatureError, match="'ends'"):
        measure(world.space, ITEMS, clock=world.clock)


def test_sizes_are_spread_over_the_range() -> None:
    assert spread_by_size([5.0, 5.0, 5.0], 4) == [0]
    assert spread_by_size([1.0, 2.0, 4.0, 8.0, 16.0], 3) == [0, 2, 4]


def test_sizes_in_clumps_give_as_many_as_asked() -> None:
    assert spread_by_size([1.0, 1.1, 1.2, 1000.0], 4) == [0, 1, 2, 3]


def test_processor_that_is_not_there_is_refused(world: World) -> None:
    with pytest.raises(MeasurementError, match="processor must be one of"):
        measure(world.space, ITEMS, cpu=10**6, clock=world.clock)


def test_busy_machine_is_measured_as_if_it_were_idle_and_said(world: World, tmp_path: Path) -> None:
    """Other programs take 4 ms in each third call of a feature; the file keeps the figure."""
    lost_ns = 0

    def ends(x: np.ndarray) -> list[float]:
        nonlocal lost_ns
        if world.calls.count("ends") % 3 == 0:
            world.clock.advance(seconds=4e-3)
            lost_ns += 4_000_000
        return [x[0], x[-1], len(x)]

    world.results["ends"] = ends
    timers = replace(Timers.of(world.clock), thread=lambda: world.clock() - lost_ns)
    samples = measure(world.space, ITEMS, rounds=12, timers=timers, journal=FileJournal(tmp_path / "pi.costs"))

    assert np.allclose(samples.of("ends"), world.seconds["ends"], rtol=1e-2)
    assert np.allclose(samples.items["hot"].seconds[3], world.seconds["ends"], rtol=1e-2)
    assert np.allclose(samples.pauses.lengths, 4e-3, rtol=1e-2)
    assert len(samples.pauses.lengths) > 10
    (warning,) = (w for w in samples.warnings if "busy" in w)
    assert f"got {percent(samples.pauses.processor_share)} of a processor" in warning
    kept = load_costs(tmp_path / "pi.costs")
    assert warning in kept.warnings
    assert kept.pauses == samples.pauses
    assert kept.machine["processor_share"] == samples.pauses.processor_share < 0.1


def throttled_board(tmp_path: Path, flags: str) -> Board:
    (tmp_path / "sys/devices/platform/soc/soc:firmware").mkdir(parents=True)
    (tmp_path / "sys/devices/platform/soc/soc:firmware/get_throttled").write_text(flags)
    return Board(tmp_path)


def test_throttling_is_waited_for_and_said(world: World, tmp_path: Path) -> None:
    waits: list[float] = []
    timers = replace(Timers.of(ticking(world)), sleep=waits.append)
    board = throttled_board(tmp_path, "0x50005\n")
    samples = measure(world.space, ITEMS, seconds=1e6, precision=0.0, rounds=40, timers=timers, board=board)

    assert samples.machine["cool_down_pauses"] == waits.count(COOL_DOWN_SECONDS) == 10
    assert "throttled" in samples.warnings[0]


def test_cool_board_is_not_waited_for(world: World, tmp_path: Path) -> None:
    board = throttled_board(tmp_path, "0x0\n")
    samples = measure(world.space, ITEMS, rounds=20, clock=world.clock, board=board)

    assert samples.machine["cool_down_pauses"] == 0
    assert not any("throttled" in warning for warning in samples.warnings)


def ticking(world: World) -> ManualClock:
    """Make calls so slow that a chunk has a few rounds only."""
    world.seconds = dict.fromkeys(world.seconds, 3e-3)
    world.clock = ManualClock(step_ns=100)
    return world.clock


def killed_measurement(world: World, file: Path) -> int:
    """Measure until a kill; return how many bytes were written."""
    with pytest.raises(Killed):
        measure(world.space, ITEMS, rounds=40, precision=0.0, clock=ticking(world), journal=FragileJournal(file, 2))
    return file.with_name("pi.costs.part").stat().st_size


def resumed(world: World, file: Path) -> CostSamples:
    return measure(
        world.space,
        ITEMS,
        rounds=40,
        precision=0.0,
        clock=ticking(world),
        journal=FileJournal(file, resume=True),
    )


def test_killed_measurement_goes_on(world: World, tmp_path: Path) -> None:
    file = tmp_path / "pi.costs"
    written = killed_measurement(world, file)
    kept = file.with_name("pi.costs.part").read_bytes()
    samples = resumed(world, file)

    assert not file.with_name("pi.costs.part").exists()
    assert file.read_bytes()[:written] == kept
    assert samples.n_rounds == 40
    assert np.array_equal(load_costs(file).seconds, samples.seconds)


@pytest.mark.parametrize("lost", [1, 7, 1000])
def test_record_that_was_being_written_is_all_that_is_lost(world: World, tmp_path: Path, lost: int) -> None:
    file, part = tmp_path / "pi.costs", tmp_path / "pi.costs.part"
    killed_measurement(world, file)
    part.write_bytes(part.read_bytes()[:-lost])

    assert resumed(world, file).n_rounds == 40
    assert load_costs(file).n_rounds == 40


def test_header_that_was_being_written_starts_anew(world: World, tmp_path: Path) -> None:
    file, part = tmp_path / "pi.costs", tmp_path / "pi.costs.part"
    killed_measurement(world, file)
    part.write_bytes(part.read_bytes()[:40])

    assert resumed(world, file).n_rounds == 40


def test_unfinished_measurement_is_neither_overwritten_nor_invented(world: World, tmp_path: Path) -> None:
    file = tmp_path / "pi.costs"
    with pytest.raises(MeasurementError, match="There is none"):
        FileJournal(file, resume=True)
    killed_measurement(world, file)
    with pytest.raises(MeasurementError, match="Give --resume"):
        FileJournal(file)


def test_other_measurement_is_not_mixed_in(world: World, tmp_path: Path) -> None:
    file = tmp_path / "pi.costs"
    killed_measurement(world, file)

    with pytest.raises(MeasurementError, match="same sizes"):
        measure(world.space, ITEMS[:-1], clock=ticking(world), journal=FileJournal(file, resume=True))


def test_timer_that_stands_still_is_told_at_once(world: World) -> None:
    world.clock = ManualClock()
    with pytest.raises(MeasurementError, match="stand still"):
        measure(world.space, ITEMS, clock=world.clock)


@pytest.mark.parametrize(
    "wrong", [{"seconds": 0.0}, {"quantile": 2.0}, {"rounds": 0}, {"seconds": float("nan")}], ids=str
)
def test_impossible_parameter_is_refused(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(MeasurementError, match="must be positive"):
        measure(world.space, ITEMS, clock=world.clock, **wrong)


def test_damage_in_the_middle_is_not_taken_for_a_cut(world: World, tmp_path: Path) -> None:
    """Nothing is thrown away: the file stays as it is."""
    file, part = tmp_path / "pi.costs", tmp_path / "pi.costs.part"
    killed_measurement(world, file)
    damaged = bytearray(part.read_bytes())
    damaged[len(damaged) // 3] ^= 1
    part.write_bytes(damaged)

    with pytest.raises(MeasurementError, match="damaged at byte"):
        resumed(world, file)
    assert part.read_bytes() == damaged


def test_two_processes_do_not_measure_into_one_file(world: World, tmp_path: Path) -> None:
    file = tmp_path / "pi.costs"
    killed_measurement(world, file)
    other = FileJournal(file, resume=True)
    other.resumed()

    with pytest.raises(MeasurementError, match="Another process"):
        resumed(world, file)
    other.close()
    assert resumed(world, file).n_rounds == 40


def test_finished_measurement_is_not_overwritten(world: World, tmp_path: Path) -> None:
    file = tmp_path / "pi.costs"
    killed_measurement(world, file)
    resumed(world, file)

    with pytest.raises(MeasurementError, match="must not exist yet"):
        FileJournal(file)


def test_refused_measurement_leaves_nothing_behind(world: World, tmp_path: Path) -> None:
    with pytest.raises(ItemError):
        measure(world.space, ITEMS, n_sizes=3, clock=world.clock, journal=FileJournal(tmp_path / "pi.costs"))
    assert list(tmp_path.iterdir()) == []


def test_throttling_before_a_kill_is_not_forgotten(world: World, tmp_path: Path) -> None:
    file, hot, cool = tmp_path / "pi.costs", tmp_path / "hot", tmp_path / "cool"
    journal = FragileJournal(file, 1)
    with pytest.raises(Killed):
        measure(
            world.space,
            ITEMS,
            rounds=40,
            clock=ticking(world),
            board=throttled_board(hot, "0x4"),
            journal=journal,
            seconds=1e-9,
        )
    samples = measure(
        world.space,
        ITEMS,
        rounds=40,
        clock=ticking(world),
        board=throttled_board(cool, "0x0"),
        journal=FileJournal(file, resume=True),
    )

    assert "throttled" in samples.warnings[0]
    assert load_costs(file).warnings == samples.warnings
