"""The example of the aircraft: what fails in its telemetry, which features tell it, and what a recording says."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.flights.__main__ import main
from examples.flights.aircraft import GROUPS, SECONDS, STATES, WINDOW, Telemetry, cut, fly, windows
from examples.flights.features import bands, control, space, spectra, stillness
from examples.flights.recording import FIRST, OUTAGE, Recorded, windows_of
from polydom_runtime.exceptions import FeatureError
from tests.draws import draws

SEEDS = range(draws(2, 4))


@cache
def ends(state: str, seed: int) -> Telemetry:
    """Return the last 30 seconds of a flight; no test alters it."""
    flight, _ = fly(state, np.random.default_rng(seed))
    return cut(flight, SECONDS - 30.0, SECONDS)


def channel(item: Telemetry, group: str, name: str) -> Any:
    return item[group][:, list(GROUPS[group].channels).index(name)]


def test_windows_have_all_groups_at_their_rates_and_some_seconds() -> None:
    for item, _, _ in windows(1, 3):
        seconds = {name: len(item[name]) / group.rate for name, group in GROUPS.items()}
        assert max(seconds.values()) - min(seconds.values()) <= 0.1 + 1e-9
        assert WINDOW[0] - 0.1 <= min(seconds.values()) <= max(seconds.values()) <= WINDOW[1] + 0.1
        assert [item[name].shape[1] for name in GROUPS] == [len(group.channels) for group in GROUPS.values()]


def test_the_same_seed_gives_the_same_windows_and_another_one_others() -> None:
    (a, state, flight), *rest = windows(1, 1, seed=2)
    b, c = next(windows(1, 1, seed=2))[0], next(windows(1, 1, seed=3))[0]

    assert [state, *(label for _, label, _ in rest)] == list(STATES)
    assert [flight, *(group for _, _, group in rest)] == list(range(len(STATES)))
    assert all(np.array_equal(a[name], b[name]) for name in GROUPS)
    assert not np.array_equal(a["motion"][:100], c["motion"][:100])


@pytest.mark.parametrize("seed", SEEDS)
def test_one_sensor_is_stuck_and_none_in_a_sound_flight(seed: int) -> None:
    stuck, sound = (
        np.concatenate([stillness(ends(state, seed), group=name) for name in GROUPS]) for state in ("stuck", "sound")
    )

    assert np.count_nonzero(stuck == 1.0) == 1
    assert sound.max() < 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_jammed_elevator_leaves_its_command(seed: int) -> None:
    jammed, sound = (control(ends(state, seed))[1] for state in ("jam", "sound"))

    assert jammed > sound + 2.0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_engine_stops_after_a_flame_out(seed: int) -> None:
    assert channel(ends("flame-out", seed), "engine", "n1")[-20:].max() < 40.0
    assert channel(ends("sound", seed), "engine", "n1").min() > 40.0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_surge_beats_in_the_speed_of_the_engine(seed: int) -> None:
    surge, sound = (bands(spectra(ends(state, seed)))[-7:] for state in ("surge", "sound"))

    assert (surge - sound)[3:6].max() > 2.0  # from 1.5 to 7 Hz
    assert (surge - sound)[:2].max() < 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_with_an_iced_tube_airspeed_follows_the_altitude(seed: int) -> None:
    item = ends("icing", seed)

    assert np.corrcoef(channel(item, "air", "airspeed"), channel(item, "air", "altitude"))[0, 1] > 0.9


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sensor_drifts_away_from_a_sound_flight_with_the_same_seed(seed: int) -> None:
    (drifting, _), (sound, _) = (fly(state, np.random.default_rng(seed)) for state in ("drift", "sound"))

    before, after = (
        {
            name
            for group in ("engine", "air")
            for name in GROUPS[group].channels
            if abs((channel(drifting, group, name) - channel(sound, group, name))[part].mean())
            > 20.0 * GROUPS[group].channels[name]
        }
        for part in (slice(None, 100), slice(-20, None))
    )
    assert before == set()
    assert len(after & {"egt", "airspeed", "altitude"}) == 1


def test_features_of_telemetry_that_never_changes_are_finite() -> None:
    flat = {name: np.ones((3 * g.rate, len(g.channels)), dtype=np.float32) for name, g in GROUPS.items()}

    assert np.isfinite(space.extract_all(flat)).all()


def test_without_air_data_the_features_of_other_groups_can_be_computed() -> None:
    item = {name: readings for name, readings in ends("sound", 0).items() if name != "air"}
    of_motion_or_engine = {"still_motion", "still_engine", "control", "engine_doubts", "bands", "law"}

    for feature in space.features:
        if feature.name in of_motion_or_engine:
            extracted = feature.extract(item if feature.step is None else feature.step.compute(item))
            assert np.isfinite(extracted).all()
        else:
            with pytest.raises(KeyError):
                feature.extract(item)
    with pytest.raises(FeatureError, match="air"):
        space.extract_all(item)


def test_air_data_are_missing_during_the_outage_only() -> None:
    rng = np.random.default_rng(0)
    flight, _ = fly("sound", rng)

    without = [second for second, item in enumerate(windows_of(flight, rng), FIRST) if "air" not in item]
    assert without == list(OUTAGE)


def answer(label: str, error: str = "") -> dict[str, Any]:
    return {"label": label, "error": error, "confidence": 0.5, "features": ["law"]}


def test_a_fault_is_named_by_two_right_answers_in_a_row_after_it_began() -> None:
    records = [answer(label) for label in ("jam", "jam", "sound", "jam", "sound", "jam", "jam")]

    assert Recorded("jam", FIRST + 1.5, records).named_at == FIRST + 5
    assert Recorded("jam", FIRST + 1.5, records[:6]).named_at is None


def test_the_story_has_a_line_for_each_stretch_of_alike_answers() -> None:
    records = [answer("sound"), answer("sound"), answer("sound", "newest: KeyError: 'air'"), answer("jam")]

    lines = [" ".join(line.split()) for line in Recorded("jam", 17.5, records).story()]
    assert lines == [
        "15 to 16 s sound 50% sure, by law",
        "17 to 17 s sound 50% sure, by law; newest: KeyError: 'air'",
        "18 to 18 s jam 50% sure, by law",
    ]


@pytest.mark.end_to_end
def test_the_quick_command_builds_flies_and_reads_the_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--quick", "--fails", "flame-out", "--out", str(tmp_path)])

    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert "112 windows of 28 flights" in printed.out
    assert "KeyError: 'air'" in printed.out
    assert printed.out.count(" sure, by ") > 2
    assert {file.suffix for file in tmp_path.glob("flights*")} == {".png", ".svg"}
