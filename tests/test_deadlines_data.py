"""The tasks of score against deadline: their loaders on small stand-ins for the data sets, and the experiment once."""

import csv
import doctest
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from examples.deadlines import bearings, digits, flights, patches, replay, scenes, spectra, table, tasks, windows
from examples.deadlines.__main__ import main
from examples.deadlines.experiment import run_task, write_results
from examples.deadlines.measuring import halves, measured_costs
from examples.deadlines.replay import ANY_TIME, ORACLE, STRICT, SYSTEMS
from examples.deadlines.systems import N_DEADLINES
from examples.deadlines.task import Task
from examples.paper.results import Row, column, load_rows, where
from polydom_runtime import Feature, FeatureSpace, Step
from polydom_runtime.device.calibration import REFERENCES
from polydom_runtime.exceptions import ItemError
from polydom_runtime.measuring.cost_samples import CostSamples, units_of

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


def test_rounds_are_split_into_halves_that_share_none() -> None:
    samples = CostSamples(
        ("f", "(dispatch)"),
        np.array([1.0]),
        np.arange(1.0, 15.0).reshape(2, 1, 7),
        np.ones((2, 1), dtype=np.int64),
        np.full((2, 1, 7), np.nan),
    )

    planned, fresh = halves(samples)

    assert planned.of("f").tolist() == [[1.0, 3.0, 5.0, 7.0]]
    assert fresh.of("f").tolist() == [[2.0, 4.0, 6.0]]


@pytest.mark.parametrize("module", [replay, spectra, table, windows])
def test_examples_in_docstrings_hold(module: Any) -> None:
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)

    assert found.attempted > 0
    assert found.failed == 0


def halved(x: Any) -> Any:
    return x[: len(x) // 2]


def mean(x: Any) -> list[float]:
    return [float(x.mean())]


def spread(x: Any) -> list[float]:
    return [float(x.std())]


@pytest.fixture(scope="module")
def made_up_task() -> Task:
    """Three features of which two share a step; each tells a little of three classes."""
    step = Step("halved", halved)
    features = [Feature("mean", mean), Feature("half_mean", mean, 1, step), Feature("half_spread", spread, 1, step)]
    rng = np.random.default_rng(0)
    labels = [k % 3 for k in range(180)]
    items = [rng.normal(label % 2, 1.0 + label // 2, 4 * 2 ** (k % 5)) for k, label in enumerate(labels)]
    return Task("made-up", FeatureSpace(features, len), items[:90], labels[:90], None, items[90:], labels[90:], folds=3)


@pytest.fixture(scope="module")
def made_up_samples(made_up_task: Task) -> CostSamples:
    """Times that grow at different rates and jitter by half."""
    rng, units = np.random.default_rng(1), units_of(made_up_task.space)
    sizes = np.array(sorted({float(len(item)) for item in made_up_task.items}))
    exact = np.array([1e-4 * (k + 1) + 4e-5 * (k % 3) * sizes for k in range(len(units))])
    seconds = exact[:, :, None] * rng.uniform(1.0, 1.5, (*exact.shape, 40))
    kernels = {name: rng.uniform(1e-5, 1.5e-5, 40) for name in REFERENCES}
    loops = np.ones(exact.shape, dtype=np.int64)
    return CostSamples(units, sizes, seconds, loops, np.full(seconds.shape, np.nan), kernels, stopped="enough")


@pytest.fixture(scope="module")
def results(
    made_up_task: Task, made_up_samples: CostSamples, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[Row]]:
    """The folder and the rows of the experiment on a task of three features."""
    out = tmp_path_factory.mktemp("results")
    rows, facts = run_task(made_up_task, made_up_samples, out, verbose=0)
    write_results(rows, [facts], out)
    return out, rows


def test_there_is_a_row_for_each_system_and_deadline(results: tuple[Path, list[Row]]) -> None:
    _, rows = results

    for system in SYSTEMS:
        assert len({row["deadline"] for row in where(rows, system=system)}) == N_DEADLINES
    assert len(rows) == N_DEADLINES * len(SYSTEMS)
    assert all(0.0 <= float(row[kind]) <= 1.0 for row in rows for kind in ("estimated", "tested"))


def test_nobody_is_promised_more_than_the_oracle(results: tuple[Path, list[Row]]) -> None:
    _, rows = results
    best = np.array(column(where(rows, system=ORACLE), "estimated"))

    for system in SYSTEMS:
        assert (np.array(column(where(rows, system=system), "estimated")) <= best + 0.02).all(), system


def test_with_all_the_time_everybody_may_use_the_best_set(results: tuple[Path, list[Row]]) -> None:
    _, rows = results
    longest = max(float(row["deadline"]) for row in rows)
    last = where(rows, deadline=longest)
    scores = {str(row["system"]): float(row["estimated"]) for row in last}

    assert scores[ORACLE] > min(column(rows, "estimated"))
    assert scores[ANY_TIME] == pytest.approx(scores[ORACLE], abs=0.05)
    assert scores[STRICT] == pytest.approx(scores[ORACLE], abs=0.05)


def test_tables_and_figures_are_drawn_again_from_raw_results(results: tuple[Path, list[Row]]) -> None:
    out, rows = results
    written = (out / "deadlines.md").read_text(encoding="utf-8")
    (out / "deadlines_tested.svg").unlink()

    assert main(["--out", str(out), "--redraw"]) == 0
    assert (out / "deadlines.md").read_text(encoding="utf-8") == written
    assert (out / "deadlines_tested.svg").stat().st_size > 0
    assert all(system in written for system in SYSTEMS)
    assert len(load_rows(out / "deadlines.csv")) == len(rows)


def test_the_page_has_the_words_of_the_report(results: tuple[Path, list[Row]]) -> None:
    out, _ = results
    written = (out / "deadlines.md").read_text(encoding="utf-8").replace("made-up", "scenes")
    page = (Path(__file__).parents[1] / "docs" / "anytime.md").read_text(encoding="utf-8")
    blocks = [block.splitlines()[0] for block in written.replace("# Score", "## Score", 1).split("\n\n")]

    assert len(blocks) == 10
    # Paragraphs are wrapped on the page.
    assert [block for block in blocks if f" {block} " not in f" {' '.join(page.split())} "] == []


def test_measured_costs_are_kept_until_the_items_or_the_features_change(made_up_task: Task, tmp_path: Path) -> None:
    first = measured_costs(made_up_task, tmp_path, seconds=0.01)
    file = tmp_path / "made-up.costs"
    written = file.stat().st_mtime_ns

    assert measured_costs(made_up_task, tmp_path, seconds=0.01).n_rounds == first.n_rounds
    assert file.stat().st_mtime_ns == written

    fewer = replace(made_up_task, space=made_up_task.space.part(["mean", "half_mean"]))
    assert measured_costs(fewer, tmp_path, seconds=0.01).units == units_of(fewer.space)


def test_the_command_without_data_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--out", str(tmp_path), "--tasks", "digits"]) == 2
    assert "Got no --data" in capsys.readouterr().err
