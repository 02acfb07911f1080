"""The tasks of score against deadline: their loaders on small stand-ins for the data sets."""

import csv
import doctest
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from examples.deadlines import bearings, digits, flights, patches, replay, scenes, spectra, table, tasks, windows
from examples.deadlines.task import Task
from polydom_runtime import FeatureSpace
from polydom_runtime.exceptions import ItemError

SPEAKERS = ("george", "jackson", "lucas", "theo")
CONDITIONS = {
    "normal": ("normal_flight",),
    "tape": ("tape_1", "tape_2"),
    "cut_M3": tuple(f"cut_{k}mm" for k in range(12)),
}
FLIGHTS_EACH = 4
SCENES = ("Coast", "Forest", "Kitchen")


def packed(file: Path, items: list[Any], **arrays: Any) -> None:
    """Write items end to end, with further arrays beside them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    offset = np.cumsum([0, *map(len, items)])
    more: dict[str, Any] = {k: np.asarray(v) for k, v in arrays.items()}
    np.savez(file, signal=np.concatenate(items), offset=offset, **more)


def write_digits(data: Path) -> None:
    """Two digits by four speakers, four recordings of each."""
    rng = np.random.default_rng(0)
    who = [(digit, speaker, take) for digit in range(2) for speaker in SPEAKERS for take in range(4)]
    items = [(rng.normal(0.0, 3000.0, 1200 + 900 * take)).astype(np.int16) for _, _, take in who]
    label, speaker, take = zip(*who, strict=True)
    packed(data / "fsdd" / "fsdd.npz", items, label=np.array(label, np.int8), speaker=speaker, take=take)


def write_flights(data: Path) -> None:
    """Three classes of one, two and twelve conditions, four flights each, with a landing in the middle."""
    rng = np.random.default_rng(0)
    kinds = [(label, c) for label, conditions in CONDITIONS.items() for c in conditions for _ in range(FLIGHTS_EACH)]
    items = []
    for _ in kinds:
        flight = rng.normal(0.0, 1.0, (2500, 8)).astype(np.float32)
        flight[:, flights.THRUST] = 40_000.0
        for ground in (slice(0, 200), slice(1150, 1400), slice(2350, None)):
            flight[ground, flights.THRUST] = 0.0
        items.append(flight)
    label, condition = zip(*kinds, strict=True)
    packed(data / "crazypad" / "controller.npz", items, label=label, condition=condition)


def write_bearings(data: Path) -> None:
    """Two faults at four loads and 12 kHz, and a recording at another rate; every sample is its recording's number."""
    kinds = [(label, load, 12_000) for label in ("B", "IR") for load in range(4)] + [("Normal", 0, 48_000)]
    items = [np.full(6000, 1 + k, dtype=np.int16) for k in range(len(kinds))]
    label, load, rate = zip(*kinds, strict=True)
    more = {"scale": np.full(len(kinds), 0.5), "fault_mil": np.full(len(kinds), 7)}
    packed(data / "cwru_bearing" / "cwru_de.npz", items, label=label, load_hp=load, rate=rate, **more)


def write_scenes(data: Path) -> None:
    """Three classes of twelve photos, each photo of one grey of its own."""
    folder = data / "scene15"
    folder.mkdir(parents=True)
    rows = [["path", "split", "label", "width", "height", "dup_of"]]
    for k in range(12 * len(SCENES)):
        Image.fromarray(np.full((80, 90), 5 * k, dtype=np.uint8)).save(folder / f"{k}.png")
        rows.append([f"{k}.png", "train", SCENES[k % len(SCENES)], "90", "80", ""])
    with (folder / "index.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for write in (write_digits, write_flights, write_bearings, write_scenes):
        write(folder)
    return folder


SMALL: dict[str, Callable[[Path], Task]] = {
    "digits": lambda data: digits.load(data, takes=3),
    "flights": lambda data: flights.load(data, windows=3),
    "bearings": lambda data: bearings.load(data, windows=120),
    "scenes": lambda data: scenes.load(data, a_class=12),
    "patches": lambda data: patches.load(data, count=30),
}


@pytest.fixture(scope="module")
def loaded(data: Path) -> dict[str, Task]:
    return {name: load(data) for name, load in SMALL.items()}


@pytest.mark.parametrize("name", SMALL)
def test_a_task_has_a_label_for_each_item_and_the_same_classes_to_test(loaded: dict[str, Task], name: str) -> None:
    task = loaded[name]

    assert task.name == name
    assert 0 < len(task.items) == len(task.labels)
    assert 0 < len(task.test_items) == len(task.test_labels)
    assert set(task.labels) == set(task.test_labels)
    assert task.groups is None or len(task.groups) == len(task.items)


@pytest.mark.parametrize("name", SMALL)
def test_a_space_has_8_to_12_features_and_a_shared_step(loaded: dict[str, Task], name: str) -> None:
    space = loaded[name].space

    assert 8 <= len(space) <= 12
    assert any(sum(f.step == step for f in space.features) > 1 for step in space.steps)


@pytest.mark.parametrize("name", SMALL)
def test_features_work_on_the_smallest_and_the_largest_item(loaded: dict[str, Task], name: str) -> None:
    task = loaded[name]
    rising = sorted([*task.items, *task.test_items], key=task.space.size)

    for item in (rising[0], rising[-1]):
        assert task.space.extract_all(item).shape == (sum(task.space.widths),)


@pytest.mark.parametrize(
    ("name", "smallest"), [("digits", 1148), ("flights", flights.MIN_LENGTH), ("bearings", bearings.MIN_LENGTH)]
)
def test_features_of_signals_are_finite_on_silence(name: str, smallest: int) -> None:
    shape = (smallest, flights.CHANNELS) if name == "flights" else (smallest,)
    space: FeatureSpace = {"digits": digits, "flights": flights, "bearings": bearings}[name].space

    assert np.isfinite(space.extract_all(np.zeros(shape, dtype=np.float32))).all()


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("flights", flights.MIN_LENGTH, flights.MAX_LENGTH),
        ("bearings", bearings.MIN_LENGTH, bearings.MAX_LENGTH),
        ("scenes", scenes.MIN_SIDE**2, scenes.MAX_SIDE**2),
    ],
)
def test_sizes_stay_in_range_and_differ_by_a_factor_of_four(
    loaded: dict[str, Task], name: str, low: int, high: int
) -> None:
    task = loaded[name]
    sizes = [task.space.size(item) for item in task.items]

    assert low <= min(sizes)
    assert max(sizes) <= high
    assert max(sizes) >= 4 * min(sizes)
    assert low <= min(task.test_sizes)
    assert max(task.test_sizes) <= high


def test_the_speaker_who_is_tested_is_never_built_with(loaded: dict[str, Task], data: Path) -> None:
    task = loaded["digits"]
    with np.load(data / "fsdd" / "fsdd.npz") as arrays:
        mine = arrays["speaker"] == digits.TESTED
        sizes = Counter(np.diff(arrays["offset"])[mine].tolist())

    assert set(task.groups or []) == set(SPEAKERS) - {digits.TESTED}
    assert sizes == Counter(len(item) for item in task.test_items)
    assert not {item.tobytes() for item in task.items} & {item.tobytes() for item in task.test_items}


def test_only_the_first_takes_are_built_with(loaded: dict[str, Task]) -> None:
    assert len(loaded["digits"].items) == 2 * 3 * 3
    assert max(map(len, loaded["digits"].items)) < max(map(len, loaded["digits"].test_items))


def test_recordings_are_scaled_to_one(loaded: dict[str, Task]) -> None:
    assert 0.05 < float(np.abs(loaded["digits"].items[0]).mean()) < 1.0


def test_no_condition_of_flight_is_both_built_with_and_tested(data: Path) -> None:
    labels = [label for label, conditions in CONDITIONS.items() for _ in conditions for _ in range(FLIGHTS_EACH)]
    conditions = [c for several in CONDITIONS.values() for c in several for _ in range(FLIGHTS_EACH)]

    tested = flights._tested(Path("file"), labels, conditions, seed=0)

    built = set(range(len(labels))) - tested
    assert {conditions[i] for i in tested} & {conditions[i] for i in built} == {"normal_flight"}
    assert Counter(labels[i] for i in tested) == {"normal": 2, "tape": 4, "cut_M3": 24}


def test_flights_are_grouped_by_condition_where_there_are_enough_of_them(loaded: dict[str, Task]) -> None:
    task = loaded["flights"]
    groups = dict(zip(map(str, task.groups or []), task.labels, strict=True))

    assert Counter(groups.values()) == {"normal": 2, "tape": 4, "cut_M3": 6}


def test_windows_of_a_flight_are_from_the_air(loaded: dict[str, Task]) -> None:
    for window in loaded["flights"].items:
        assert (window[:, flights.THRUST] > 0.0).all()


def test_bearings_are_split_by_load_and_of_one_rate(loaded: dict[str, Task]) -> None:
    task = loaded["bearings"]
    built, tested = ({float(window[0]) for window in part} for part in (task.items, task.test_items))

    assert built == {0.5 * (1 + k) for k in (0, 1, 2, 4, 5, 6)}
    assert tested == {0.5 * (1 + k) for k in (3, 7)}
    assert set(task.groups or []) == {0, 1, 2}
    assert set(task.labels) == {"B 7", "IR 7"}


def test_no_photo_is_both_built_with_and_tested(loaded: dict[str, Task]) -> None:
    task = loaded["scenes"]
    built, tested = ({int(np.median(image)) for image in part} for part in (task.items, task.test_items))

    assert len(built) == len(task.items)
    assert not built & tested


@pytest.mark.parametrize("name", [name for name in SMALL if name != "patches"])
def test_missing_data_is_a_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ItemError, match=r"must hold .*\."):
        SMALL[name](tmp_path)


@pytest.mark.parametrize(("name", "file"), [("digits", "fsdd/fsdd.npz"), ("flights", "crazypad/controller.npz")])
def test_a_file_of_another_kind_is_a_clear_error(tmp_path: Path, name: str, file: str) -> None:
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_bytes(b"no arrays")

    with pytest.raises(ItemError, match=r"must be an \.npz file"):
        SMALL[name](tmp_path)


def test_a_missing_array_is_named(tmp_path: Path) -> None:
    packed(tmp_path / "fsdd" / "fsdd.npz", [np.zeros(9, dtype=np.int16)], label=[0], take=[0])

    with pytest.raises(ItemError, match="Missing: speaker"):
        digits.load(tmp_path)


def test_an_unknown_task_is_a_clear_error() -> None:
    with pytest.raises(ItemError, match="Got birds"):
        tasks.chosen_loaders(["digits", "birds"], quick=False)


@pytest.mark.parametrize("module", [replay, spectra, table, windows])
def test_examples_in_docstrings_hold(module: Any) -> None:
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)

    assert found.attempted > 0
    assert found.failed == 0


def test_spectra_are_of_fast_lengths_that_lose_little() -> None:
    """No prime factor above 5, and at most one part in six is left out."""
    for n in range(1, 5000):
        length = rest = spectra.fast_length(n)
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        assert rest == 1
        assert 5 * n <= 6 * length <= 6 * n

    signal = np.random.default_rng(0).normal(size=(3064, 2))
    assert np.array_equal(spectra.power_spectrum(signal), spectra.power_spectrum(signal[:3000]))
