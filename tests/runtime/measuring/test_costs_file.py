"""The file of cost samples: whatever is not whole, sound and possible is refused."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.frames import frame
from polydom_runtime.measuring.cost_samples import MAX_PAUSES, Pauses
from polydom_runtime.measuring.costs_file import FRAME, HEADER, MAGIC, JournalFrame, load_costs
from polydom_runtime.measuring.journal import FileJournal
from polydom_runtime.measuring.samples_so_far import SamplesHeader
from polydom_runtime.measuring.stopwatch import Disturbances
from tests.bundle_parts import floats

FACTS = SamplesHeader(
    ("mean", "(before)"), (10.0, 100.0), (1, 1, 4, 4), ("timer",), "f" * 64, {"device": "a board"}, ("linear",), 0.02
)
SEEN = Disturbances(Pauses.of(2.0, [0.25, 0.5], 1.5, [0.25]), 7, 0.75, 2)


def rounds(count: int = 20) -> np.ndarray:
    """Two units at two sizes, their blocks where there are any, one kernel."""
    times = np.random.default_rng(0).uniform(1e-6, 2e-6, (count, FACTS.n_columns))
    times[:, 4:6] = np.nan
    return times


def answers(*positions: int) -> np.ndarray:
    """Two units and a model, for items of the sizes 50, 51, ..."""
    times = np.random.default_rng(len(positions)).uniform(1e-6, 2e-6, (len(positions), FACTS.n_answer_columns))
    times[:, 0] = positions
    times[:, 1] = times[:, 0] + 50.0
    return times


def written(file: Path, header: SamplesHeader = FACTS, *parts: np.ndarray) -> Path:
    journal = FileJournal(file)
    journal.begin(header)
    for part in parts or (rounds(), rounds()):
        journal.append(part, ["hot"], SEEN)
    journal.enough("enough rounds")
    if header.models:
        journal.append(answers(3, 1, 2, 3, 1), [], regime="hot")
        journal.append(answers(2), [], SEEN, regime="hot")
        journal.append(answers(3, 1), [], regime="cold")
    journal.finish({"celsius_after": 50.0}, "enough")
    return file


@pytest.fixture(scope="module")
def sound_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("costs") / "pi.costs").read_bytes()


@pytest.fixture
def costs(tmp_path: Path, sound_bytes: bytes) -> Path:
    file = tmp_path / "pi.costs"
    file.write_bytes(sound_bytes)
    return file


def test_samples_come_back(costs: Path) -> None:
    samples = load_costs(costs)

    assert samples.units == FACTS.units
    assert samples.n_rounds == 40
    assert np.array_equal(samples.of("mean")[1, :20], rounds()[:, 1])
    assert np.array_equal(samples.typical_of("(before)")[0, :20], rounds()[:, 6])
    assert np.array_equal(samples.kernels["timer"][:20], rounds()[:, 8])
    assert samples.machine == {"device": "a board", "celsius_after": 50.0}
    assert (samples.fingerprint, samples.stopped) == ("f" * 64, "enough")


def test_answers_and_pauses_come_back(costs: Path) -> None:
    samples = load_costs(costs)
    hot, cold = samples.items["hot"], samples.items["cold"]

    first = answers(3, 1, 2, 3, 1)
    assert hot.sizes.tolist() == [53.0, 51.0, 52.0]
    assert hot.seconds.shape == (2, 3, 2)
    assert np.array_equal(hot.seconds[1, :2], [[first[0, 3], first[3, 3]], [first[1, 3], first[4, 3]]])
    assert np.array_equal(hot.models["linear"][2], [first[2, 4], answers(2)[0, 4]])
    assert (hot.asleep, cold.asleep) == (0.0, 0.02)
    assert cold.seconds.shape == (2, 2, 1)
    assert samples.pauses.watched == 6.0
    assert samples.pauses.lengths == (0.5, 0.5, 0.5, 0.25, 0.25, 0.25)


def test_unfinished_file_keeps_what_disturbed_it(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "new.costs")
    journal.begin(FACTS)
    for _ in range(2):
        journal.append(rounds(), [], SEEN)
    journal.close()
    earlier = FileJournal(tmp_path / "new.costs", resume=True).resumed()

    assert earlier is not None
    assert earlier.seen == SEEN.plus(SEEN) == Disturbances(SEEN.pauses.plus(SEEN.pauses), 14, 1.5, 4)


def test_file_cut_anywhere_is_refused(costs: Path) -> None:
    whole = costs.read_bytes()
    for length in range(0, len(whole), 37):
        costs.write_bytes(whole[:length])
        with pytest.raises(MeasurementError):
            load_costs(costs)


def test_byte_altered_anywhere_is_refused(costs: Path) -> None:
    whole = costs.read_bytes()
    for position in range(0, len(whole), 29):
        altered = bytearray(whole)
        altered[position] ^= 0x10
        costs.write_bytes(altered)
        with pytest.raises(MeasurementError):
            load_costs(costs)


def test_file_with_more_at_its_end_is_refused(costs: Path) -> None:
    costs.write_bytes(costs.read_bytes() + b"more")
    with pytest.raises(MeasurementError, match="complete"):
        load_costs(costs)


def test_other_format_version_is_named(costs: Path) -> None:
    costs.write_bytes(costs.read_bytes().replace(b"polydom-costs 1\n", b"polydom-costs 2\n"))
    with pytest.raises(MeasurementError, match=r"version 1\. Got 2\. Measure again, or upgrade polydom-runtime\."):
        load_costs(costs)


@pytest.mark.parametrize("content", [None, b"", b"no costs", b"\x93NUMPY" * 30], ids=["none", "empty", "text", "other"])
def test_what_is_no_such_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "bad.costs").write_bytes(content)
    with pytest.raises(MeasurementError, match=r"bad\.costs must be"):
        load_costs(tmp_path / "bad.costs")


@pytest.mark.parametrize("time", [0.0, -1e-6, np.nan, np.inf, 5e-324], ids=str)
@pytest.mark.parametrize("column", [0, 3, 6, 8], ids=["unit", "other unit", "block", "kernel"])
def test_impossible_time_is_refused(tmp_path: Path, time: float, column: int) -> None:
    times = rounds()
    times[3, column] = time
    with pytest.raises(MeasurementError, match="positive"):
        load_costs(written(tmp_path / "bad.costs", FACTS, times))


@pytest.mark.parametrize("sizes", [(100.0, 10.0), (10.0, 10.0), (0.0, 10.0), (10.0, np.inf), (10.0, 1e181)])
def test_impossible_sizes_are_refused(tmp_path: Path, sizes: tuple[float, float]) -> None:
    header = SamplesHeader(FACTS.units, sizes, FACTS.loops, FACTS.kernels, "", {})
    with pytest.raises(MeasurementError, match="sizes must be positive and rise"):
        load_costs(written(tmp_path / "bad.costs", header))


def sealed(*documents: dict[str, Any]) -> bytes:
    """Return a file of some frames, with the right digest of them."""
    data = MAGIC + b"1\n" + b"".join(map(frame, documents))
    return data + frame({"stopped": "enough", "machine": {}, "sha256": hashlib.sha256(data).digest()})


@pytest.mark.parametrize(
    "change",
    [
        {"units": []},
        {"units": [2, ["mean", "mean"]]},
        {"units": [1, ["mean"]]},
        {"sizes": [1, floats(10.0)]},
        {"sizes": [2, [1, 2]]},
        {"loops": [4, [1, 1, 1, 0]]},
        {"loops": [4, [1, 1, 1, 2**63]]},
        {"machine": {"device": 5}},
        {"machine": {"device": "a\x1b[2Jboard"}},
        {"machine": {"onnx": [1]}},
        {"machine": {"onnx": {"opset": 17.5}}},
        {"machine": {"memory_bytes": "big"}},
        {"machine": {"warnings": 5}},
        {"machine": {"warnings": [1]}},
        {"machine": {"threads": {"OMP_NUM_THREADS": 4}}},
        {"kernels": "timer"},
        {"machine": []},
        {"fingerprint": None},
        {"models": [2, ["linear", "linear"]]},
        {"models": 5},
        {"asleep": -1.0},
        {"asleep": np.inf},
        {"asleep": "long"},
    ],
    ids=str,
)
def test_unsound_header_is_refused_behind_a_right_digest(costs: Path, change: dict[str, Any]) -> None:
    header, some = HEADER.write(FACTS), FRAME.write(JournalFrame(rounds().tobytes()))
    costs.write_bytes(sealed(header, some))
    load_costs(costs)

    costs.write_bytes(sealed(header | change, some))
    with pytest.raises(MeasurementError, match="must"):
        load_costs(costs)


@pytest.mark.parametrize(
    "content",
    [
        {"regime": "warm", "table": answers(1, 2).tobytes()},
        {"regime": None, "table": answers(1, 2).tobytes()},
        {"regime": "hot", "table": b""},
        {"regime": "hot", "table": answers(1, 2).tobytes()[:-8]},
        {"regime": "hot", "table": answers(1, 2, 2).tobytes()},
        {"regime": "hot", "table": answers(1, 2, 2, 1).tobytes()},
        {"regime": "hot", "table": (-answers(1, 2)).tobytes()},
        {"regime": "hot", "table": (answers(1, 2) * np.nan).tobytes()},
        {"regime": "hot", "table": (answers(1, 2) * 1e30).tobytes()},
        {"table": b"123"},
        {"pauses": {"watched": 0.0, "lengths": b"123"}},
        *({"pauses": {"watched": 0.0, "lengths": [1, floats(x)]}} for x in (-1.0, 0.0, np.nan)),
        {"pauses": {"watched": 0.0, "lengths": [MAX_PAUSES + 1, bytes(8 * MAX_PAUSES + 8)]}},
        *({"pauses": {"watched": x, "lengths": []}} for x in (-1.0, np.nan)),
        {"stolen": "all"},
        {"switches": 1.5},
        {"switches": -1},
        {"throttled": -1},
        {"warnings": 3},
        {"warnings": None},
        {"warnings": "hot"},
        {"warnings": [1, [1]]},
    ],
)
def test_unsound_frame_is_refused_behind_a_right_digest(costs: Path, content: dict[str, Any]) -> None:
    some = FRAME.write(JournalFrame(rounds().tobytes()))
    of_seen = {name: value for name, value in content.items() if name in some["seen"]}
    other = {**some, **content, "seen": {**some["seen"], **of_seen}}
    costs.write_bytes(
        sealed(HEADER.write(FACTS), some, {name: value for name, value in other.items() if name not in of_seen})
    )

    with pytest.raises(MeasurementError, match="must"):
        load_costs(costs)


def test_other_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"end in \.costs"):
        FileJournal(tmp_path / "pi.npz")


def test_folder_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(MeasurementError, match="writable"):
        FileJournal("/proc/no/such.costs")
