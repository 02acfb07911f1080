"""The example of the bearing: what the simulated machine does, what features find in it, and what alarms are worth."""

import json
from pathlib import Path

import numpy as np
import pytest

from examples.vibration.__main__ import main
from examples.vibration.features import ORDERS, hits_by_band, space, transform
from examples.vibration.lives import Life, Record, Trade
from examples.vibration.machine import (
    HITS,
    RATE,
    REVOLUTIONS,
    SOUND,
    SPEEDS,
    STATES,
    Machine,
    life,
    live,
    training_windows,
)
from examples.vibration.recordings import TESTED_LOAD, recorded_windows
from examples.vibration.watch import Alarm, Watch
from polydom_runtime.exceptions import ItemError

QUIET = Machine(resonance=5000.0, ringing=0.001, noise=0.5, hum=0.5, knocks=0.0)


def window(state: str, size: float, seed: int = 0) -> np.ndarray:
    return QUIET.window(state, size, np.random.default_rng(seed))


@pytest.mark.parametrize("state", STATES)
def test_a_window_spans_eight_revolutions_at_some_speed(state: str) -> None:
    lengths = [len(window(state, 0.5, seed)) for seed in range(20)]

    assert RATE * REVOLUTIONS / SPEEDS[1] <= min(lengths) < max(lengths) <= RATE * REVOLUTIONS / SPEEDS[0]


def test_the_same_seed_gives_the_same_windows_and_another_one_others() -> None:
    items, labels, groups = training_windows(2, 1, seed=3)
    again, *_ = training_windows(2, 1, seed=3)
    others, *_ = training_windows(2, 1, seed=4)

    assert labels == [SOUND, SOUND, SOUND, *HITS] * 2
    assert groups == [0] * 6 + [1] * 6
    assert all(np.array_equal(a, b) for a, b in zip(items, again, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(items, others, strict=True))


@pytest.mark.parametrize("fault", HITS)
def test_damage_shows_at_the_order_of_its_hits(fault: str) -> None:
    sound, bad = (
        np.mean([hits_by_band(transform(window(state, 0.5, seed))) for seed in range(5)], axis=0)
        for state in (SOUND, fault)
    )

    assert ORDERS[int(np.argmax((bad - sound)[::2])) * 2] == HITS[fault]


def test_features_of_a_silent_sensor_are_finite() -> None:
    assert np.isfinite(space.extract_all(np.zeros(4000, dtype=np.float32))).all()


def test_damage_begins_in_the_middle_of_a_life_and_grows() -> None:
    sizes = [size for _, size in life(QUIET, "inner", 20, np.random.default_rng(0))]

    assert sizes[:10] == [0.0] * 10
    assert sizes[10:] == sorted(sizes[10:])
    assert (sizes[10], sizes[-1]) == pytest.approx((0.04, 1.0))


def test_the_source_for_the_node_yields_windows_with_their_states() -> None:
    items, labels = zip(*live(), strict=True)

    assert labels == (SOUND,) * 50 + ("inner",) * 50
    assert all(item.dtype == np.float32 for item in items)


def test_an_alarm_takes_bad_windows_in_a_row_and_ends_after_as_many_sound_ones() -> None:
    watch = Watch(in_a_row=2)

    heard = [
        watch.hear(label) for label in ("ball", SOUND, "ball", "inner", SOUND, "ball", SOUND, SOUND, "ball", "ball")
    ]
    assert [alarm for alarm in heard if alarm] == [Alarm(3, "inner"), Alarm(9, "ball")]
    assert watch.is_raised


def record(*said: str) -> Record:
    """Return answers to one life of two sound windows and four with a damaged ball."""
    empty = np.zeros(0, dtype=np.float32)
    return Record([Life("ball", (empty,) * 6, (0.0, 0.0, 0.1, 0.2, 0.5, 1.0))], [said])


def test_errors_count_by_their_costs() -> None:
    found = record("ball", SOUND, SOUND, "inner", "ball", "ball")

    assert found.cost == (1.0 + 20.0 + 2.0) / 6
    assert (found.missed(faulty=True), found.missed(faulty=False)) == (1 / 4, 1 / 2)


def test_more_windows_in_a_row_give_fewer_false_alarms_and_later_true_ones() -> None:
    found = record("ball", SOUND, SOUND, "ball", "ball", "ball")

    assert found.trades[:3] == [Trade(1, 500.0, 1.0), Trade(2, 0.0, 2.0), Trade(3, 0.0, 3.0)]
    assert found.trades[7] == Trade(8, 0.0, 4.0)


def write_recordings(data: Path, loads: tuple[int, ...]) -> None:
    """Two faults at some loads and 12 kHz, and a sound one at another rate; every sample is its recording's number."""
    kinds = [(label, load, 12_000) for label in ("B", "OR") for load in loads] + [("Normal", 0, 48_000)]
    label, load, rate = zip(*kinds, strict=True)
    n = 6000
    (data / "cwru_bearing").mkdir()
    np.savez(
        data / "cwru_bearing" / "cwru_de.npz",
        signal=np.repeat(np.arange(1, len(kinds) + 1, dtype=np.int16), n),
        offset=np.arange(len(kinds) + 1) * n,
        scale=np.full(len(kinds), 0.5),
        rpm=np.full(len(kinds), 1800),
        label=label,
        load_hp=load,
        rate=rate,
    )


def test_recorded_windows_are_eight_revolutions_and_tested_at_another_load(tmp_path: Path) -> None:
    write_recordings(tmp_path, (0, 1, TESTED_LOAD))

    items, labels, loads = recorded_windows(tmp_path, 4, tested=False)
    tested, _, tested_loads = recorded_windows(tmp_path, 2, tested=True)

    assert labels == ["ball", "ball", "outer", "outer"]
    assert (loads, tested_loads) == ([0, 1, 0, 1], [TESTED_LOAD] * 2)
    assert {len(item) for item in items + tested} == {REVOLUTIONS * 12_000 // 30}
    assert [item[0] for item in tested] == pytest.approx([3 * 0.5 * 9.81, 6 * 0.5 * 9.81])


def test_recordings_without_the_tested_load_are_refused(tmp_path: Path) -> None:
    write_recordings(tmp_path, (0, 1))

    with pytest.raises(ItemError, match="at 3 hp"):
        recorded_windows(tmp_path, 2, tested=True)


@pytest.mark.end_to_end
def test_the_quick_command_builds_watches_and_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--quick", "--lines", "--deadline", "50ms", "--out", str(tmp_path)])

    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert all(set(json.loads(line)) == {"window", "fault"} for line in printed.out.splitlines())
    assert "40 answers" in printed.err
    assert "Errors in 120 windows of 3 machines" in printed.err
    assert {file.suffix for file in tmp_path.glob("vibration*")} == {".png", ".svg"}
