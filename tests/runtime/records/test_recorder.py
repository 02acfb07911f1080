"""The flight recorder: what a killed node leaves, and what a damaged file can never make of it."""

import argparse
import errno
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polydom_runtime import Predictor
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.bundles.promise import Identity
from polydom_runtime.commands.flight import OPTIONS, run, trace_of
from polydom_runtime.commands.lines import Lines
from polydom_runtime.commands.options import add_options
from polydom_runtime.commands.recording import Records
from polydom_runtime.exceptions import RecordingError
from polydom_runtime.records import recorder as recorder_module
from polydom_runtime.records.flight_file import (
    CRC,
    MAX_FILE_BYTES,
    MAX_REASON_BYTES,
    FlightHeader,
    decoded_flight,
    load_flight,
)
from polydom_runtime.records.recorder import KEPT_RECORDINGS, FlightRecorder, header_of
from tests.bundle_parts import changed
from tests.draws import draws
from tests.runtime.conftest import US, World, make_bundle
from tests.runtime.records.test_metrics import ANSWER, Watched, files_of_at_most, options, traced

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "node.flight"


def recorded(file: Path, numbers: range, capacity: int = 4) -> None:
    recorder = FlightRecorder(file, Watched(), capacity, wall_clock=lambda: 1_700_000_000_000_000_000)
    for number in numbers:
        recorder.add(ANSWER._replace(elapsed_ns=50_000 + number), traced(), number)
    recorder.close()


def test_record_says_what_was_done(file: Path) -> None:
    recorded(file, range(7, 8))

    (r,) = load_flight(file).records
    assert (r.sequence, r.number, r.time_ns) == (1, 7, 1_700_000_000_000_000_000)
    assert (r.size, r.slowdown, r.label, r.reason, r.deadline_met) == (10.0, 1.0, 1, "planned", True)
    assert (r.features, r.feature_ns, r.answered) == ((0, 1), (10_000, 30_000), (0, 1))
    assert (r.before_ns, r.model_ns, r.elapsed_ns) == (1_000, 9_000, 50_007)
    assert trace_of(r).marks == traced().marks


def test_header_says_what_it_is_of(file: Path) -> None:
    recorded(file, range(1))

    bundle = make_bundle()[0]
    expected = FlightHeader(bundle.names, ("no", "yes"), index_sha256(bundle), 200 * US, "anytime", 4)
    assert load_flight(file).header == expected


def test_header_names_the_bundle(file: Path) -> None:
    FlightRecorder(file, Watched(replace(make_bundle()[0], identity=Identity("bats", "1.2", builder="Ada"))), 4).close()

    assert load_flight(file).header.identity == Identity("bats", "1.2")


@pytest.mark.parametrize("name", ["\x1b[2J", "x" * 201, 3])
def test_a_name_that_is_no_short_text_is_refused(name: Any, file: Path) -> None:
    recorded(file, range(1))
    header = replace(load_flight(file).header, bundle_name=name)

    with pytest.raises(RecordingError, match="bundle_name must be a text"):
        decoded_flight(file, header.packed + bytes(header.capacity * header.record_bytes))


def test_digest_is_that_of_the_index_file(bundle_folder: Path, world: World) -> None:
    bundle = Predictor.load(bundle_folder, world.space).bundle

    assert (bundle_folder / "index.sha256").read_text().startswith(index_sha256(bundle) + " ")


@shared
@given(st.integers(1, 6), st.lists(st.integers(0, 15), min_size=1, max_size=3))
def test_last_records_come_back_in_order_however_often_it_was_reopened(
    tmp_path_factory: pytest.TempPathFactory, capacity: int, runs: list[int]
) -> None:
    file, total = tmp_path_factory.mktemp("ring") / "r", 0
    for n in runs:
        recorded(file, range(total, total + n), capacity)
        total += n

    records = load_flight(file).records
    assert [r.number for r in records] == list(range(max(total - capacity, 0), total))
    assert [r.sequence for r in records] == [r.number + 1 for r in records]


@shared
@given(
    st.floats() | st.integers(1, 10**6),
    st.floats(min_value=1.0),
    st.text(max_size=100),
    st.permutations((0, 1, 2)).flatmap(lambda p: st.integers(0, 3).map(lambda k: tuple(p[:k]))),
    st.lists(st.integers(-(1 << 61), 1 << 61), min_size=6, max_size=6),
    st.booleans(),
)
def test_any_answer_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    size: float,
    slowdown: float,
    reason: str,
    features: tuple[int, ...],
    marks: list[int],
    met: bool,
) -> None:
    file = tmp_path_factory.mktemp("ring") / "r"
    trace = traced(features, tuple(marks[: len(features) + 3]))
    trace.size = size
    recorder = FlightRecorder(file, Watched(), 2)
    recorder.add(ANSWER._replace(slowdown=slowdown, reason=reason, deadline_met=met), trace, 5)
    recorder.close()

    (r,) = load_flight(file).records
    assert repr((r.size, r.slowdown, r.features, r.deadline_met)) == repr((float(size), slowdown, features, met))
    assert trace_of(r).marks == [mark - marks[0] for mark in trace.marks]
    assert r.reason.encode()[:77] == reason.encode()[:MAX_REASON_BYTES].decode(errors="replace").encode()[:77]


def test_regressor_s_number_comes_back(file: Path) -> None:
    regressor = Watched(changed(make_bundle()[0], classes=(), prior=(0.0, 0.5)))
    recorder = FlightRecorder(file, regressor, 4)
    recorder.add(ANSWER._replace(label=2.5), traced(), 0)
    recorder.close()

    assert load_flight(file).records[0].label == 2.5


def test_trace_that_is_not_complete_is_recorded_without_times(file: Path) -> None:
    recorder = FlightRecorder(file, Watched(), 4)
    recorder.add(ANSWER, traced((0, 1), (0, 1_000)), 0)
    recorder.close()

    (r,) = load_flight(file).records
    assert (r.features, r.feature_ns, r.answered, r.elapsed_ns) == ((), (), (0, 1), 50_000)


@pytest.mark.parametrize(
    "answer",
    [
        ANSWER._replace(elapsed_ns=1 << 70),
        ANSWER._replace(label="another"),
        ANSWER._replace(features=("unknown",)),
    ],
)
def test_what_no_record_can_hold_is_counted(file: Path, answer: object) -> None:
    recorder = FlightRecorder(file, Watched(), 4)
    recorder.add(answer, traced(), 0)  # type: ignore[arg-type]
    recorder.add(ANSWER, traced(marks=(0, 1, 2, 3, 1 << 70)), 1)
    recorder.add(ANSWER, traced(), 2)
    recorder.close()

    assert recorder.n_dropped == 2
    assert [(r.sequence, r.number) for r in load_flight(file).records] == [(1, 2)]


WRITER = """
import os, sys
from pathlib import Path
from types import SimpleNamespace as Some
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.records.recorder import FlightRecorder

predictor = Some(bundle=load_bundle(sys.argv[1]), deadline=2e-4, policy="anytime", margin=Some(value=1.0, paused=0))
answer = Some(label="yes", features=("mean",), deadline_met=True, reason="planned", slowdown=1.0, elapsed_ns=0)
answer.waited_ns, answer.error, answer.confidence = 0, "", None
trace = Some(size=0.0, features=[0], marks=[])

def write():
    recorder, k = FlightRecorder(sys.argv[2], predictor, 50), 0
    while True:
        trace.size, trace.marks, answer.elapsed_ns = k / 2, [0, k, 3 * k, 7 * k], k
        recorder.add(answer, trace, k)
        k += 1
        if k == 20:
            print(os.getpid(), flush=True)

for _ in sys.stdin:
    if not (child := os.fork()):
        write()
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


def test_kill_at_any_instant_leaves_all_but_the_record_being_written(bundle_folder: Path, file: Path) -> None:
    """A process that starts others, each of which records until it is killed, at a random instant."""
    command, moments = [sys.executable, "-c", WRITER, str(bundle_folder), str(file)], random.Random(0)
    last, pipe = 0, subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        for _ in range(draws(8, 25)):
            print("next", file=process.stdin, flush=True)
            pid = int(process.stdout.readline())
            time.sleep(moments.uniform(0.0, 0.01))
            os.kill(pid, signal.SIGKILL)
            assert process.stdout.readline() == "gone\n"

            flight = load_flight(file)
            sequences = [r.sequence for r in flight.records]
            assert flight.n_torn <= 1
            assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
            assert sequences[-1] >= last + 20
            assert len(sequences) >= min(sequences[-1], 50) - 1
            for r in flight.records:
                k = r.number
                assert (r.size, r.feature_ns, r.model_ns, r.elapsed_ns, r.before_ns) == (k / 2, (2 * k,), 4 * k, k, k)
            last = sequences[-1]
        process.stdin.close()


def test_record_that_is_partly_written_is_skipped_and_then_written_over(file: Path) -> None:
    """Whatever part of a record the kill let through, all others are there."""
    recorded(file, range(6))
    before = file.read_bytes()
    recorded(file, range(6, 7))
    after, header = file.read_bytes(), load_flight(file).header
    start = header.slot_start(6 % 4)

    for k in range(1, header.record_bytes):
        torn = before[:start] + after[start : start + k] + before[start + k :]
        flight = decoded_flight(file, torn)
        numbers = [r.number for r in flight.records]
        assert (numbers, flight.n_torn) in (([3, 4, 5], 1), ([2, 3, 4, 5], 0), ([3, 4, 5, 6], 0))
    file.write_bytes(before[:start] + after[start : start + 30] + before[start + 30 :])
    recorded(file, range(6, 7))
    assert [r.number for r in load_flight(file).records] == [3, 4, 5, 6]


def test_every_cut_is_noticed(file: Path) -> None:
    recorded(file, range(6))
    data = file.read_bytes()

    for end in (*range(len(data)), len(data) + 1):
        with pytest.raises(RecordingError):
            decoded_flight(file, data.ljust(end, b"x")[:end])


def test_altered_byte_never_makes_another_record(file: Path) -> None:
    recorded(file, range(3))
    data, whole = bytearray(file.read_bytes()), load_flight(file)
    n_refused = 0
    for at in range(len(data)):
        for flip in (1 << at % 8, 0xFF):
            data[at] ^= flip
            try:
                flight = decoded_flight(file, bytes(data))
            except RecordingError:
                n_refused += 1
            else:
                assert flight.header == whole.header
                assert set(flight.records) < set(whole.records) or (flight.records, flight.n_torn) == (whole.records, 1)
            data[at] ^= flip

    assert n_refused == 2 * whole.header.slot_start(0)


@pytest.mark.parametrize(
    "changed",
    [
        {0: 0},
        {0: 2},
        {8: 1 << 3},
        {9: math.nan},
        {9: 0.5},
        {9: 2.0},
        {9: -1.0},
        {11: 4},
        {14: b"\3"},
        {20: 0.99},
        {20: math.nan},
    ],
    ids=str,
)
def test_record_of_impossible_values_is_not_taken_though_its_checksum_is_right(
    file: Path, changed: dict[int, object]
) -> None:
    recorded(file, range(1))
    header, data = load_flight(file).header, bytearray(file.read_bytes())
    values = list(header.layout.unpack_from(data, header.slot_start(0) + CRC.size))
    for position, value in changed.items():
        values[position] = value
    body = header.layout.pack(*values)
    data[header.slot_start(0) : header.slot_start(1)] = CRC.pack(zlib.crc32(body, header.seed)) + body

    flight = decoded_flight(file, bytes(data))
    assert (flight.records, flight.n_torn) == ((), 1)


def test_record_of_another_ring_is_not_taken(file: Path, tmp_path: Path) -> None:
    recorded(file, range(4))
    FlightRecorder(tmp_path / "other", Watched(deadline=1.0), 4).close()
    ours, theirs = file.read_bytes(), (tmp_path / "other").read_bytes()
    start = load_flight(file).header.slot_start(0)

    flight = decoded_flight(file, theirs[:start] + ours[start:])
    assert (flight.records, flight.n_torn) == ((), 4)


def test_other_version_says_so(file: Path) -> None:
    recorded(file, range(1))
    data = file.read_bytes().replace(b"polydom-flight 1\n", b"polydom-flight 5\n")

    with pytest.raises(
        RecordingError, match=r"format version 1\. Got 5\. Read it with the version that wrote it, or upgrade"
    ):
        decoded_flight(file, data)


@pytest.mark.parametrize(
    "other",
    [
        Watched(deadline=1e-3),
        Watched(policy="strict"),
        Watched(changed(make_bundle()[0], alpha=1.5)),
        Watched(changed(make_bundle()[0], names=("mean", "spread", "edges"))),
    ],
    ids=["deadline", "policy", "bundle", "names"],
)
def test_recording_of_something_else_is_kept_aside(file: Path, other: Watched) -> None:
    recorded(file, range(3))
    FlightRecorder(file, other, 4).close()
    FlightRecorder(file, Watched(), 5).close()

    assert [r.number for r in load_flight(file.with_name("node.flight.1")).records] == [0, 1, 2]
    assert load_flight(file.with_name("node.flight.2")).header == header_of(other, 4)
    assert not load_flight(file).records


def test_cut_recording_is_kept_aside(file: Path) -> None:
    recorded(file, range(3))
    cut = file.read_bytes()[:-1]
    file.write_bytes(cut)
    recorded(file, range(1))

    assert file.with_name("node.flight.1").read_bytes() == cut
    assert [r.number for r in load_flight(file).records] == [0]


def test_only_the_newest_of_earlier_recordings_stay(file: Path) -> None:
    """Numbers go on, and a file that is no recording stays although its name looks like one."""
    file.with_name("node.flight.1").write_text("a diary")
    file.with_name("node.flight.old").touch()
    for capacity in range(1, KEPT_RECORDINGS + 5):
        FlightRecorder(file, Watched(), capacity).close()

    last = KEPT_RECORDINGS + 4  # the first recording was given the number 2
    numbers = [1, *range(last - KEPT_RECORDINGS + 1, last + 1)]
    assert {p.name for p in file.parent.iterdir()} == {
        "node.flight",
        "node.flight.old",
        *(f"node.flight.{number}" for number in numbers),
    }
    assert load_flight(file.with_name(f"node.flight.{last}")).header.capacity == last - 1


def test_recording_that_is_still_written_is_not_removed(file: Path) -> None:
    """A process that was given another name for its file, by a link say, goes on with it."""
    with closing(FlightRecorder(file.with_name("node.flight.1"), Watched(), 4)):
        for capacity in range(1, KEPT_RECORDINGS + 3):
            FlightRecorder(file, Watched(), capacity).close()

        assert file.with_name("node.flight.1").exists()


def test_file_that_is_no_recording_is_left_alone(file: Path, tmp_path: Path) -> None:
    file.write_text("a diary")
    for path in (file, tmp_path, Path("/dev/null")):
        with pytest.raises(RecordingError, match="must be a"):
            FlightRecorder(path, Watched(), 4)

    assert file.read_text() == "a diary"
    assert [p.name for p in tmp_path.iterdir()] == ["node.flight"]
    with pytest.raises(RecordingError, match="must be a flight recording"):
        load_flight(file)
    with pytest.raises(RecordingError, match="must be a readable"):
        load_flight(tmp_path)


def test_two_recorders_do_not_share_a_file(file: Path) -> None:
    first = FlightRecorder(file, Watched(), 4)
    with pytest.raises(RecordingError, match="must be free"):
        FlightRecorder(file, Watched(), 4)
    first.close()
    first.close()

    FlightRecorder(file, Watched(), 4).close()


def no_room(descriptor: int, offset: int, length: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_full_disk_is_told_at_the_start_and_nothing_is_lost(file: Path, tmp_path: Path) -> None:
    recorded(file, range(3))
    before = file.read_bytes()

    with pytest.raises(RecordingError, match=r"with \d+ bytes\..*No space left.*Free some space"):
        FlightRecorder(file, Watched(deadline=1.0), 4, allocate=no_room)
    with files_of_at_most(8192), pytest.raises(RecordingError, match="Free some space, or keep fewer items"):
        FlightRecorder(tmp_path / "new", Watched(), 10_000)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["node.flight"]


def test_ring_has_its_room_from_the_start(file: Path) -> None:
    """So a full disk does not touch it later."""
    with closing(FlightRecorder(file, Watched(), 1_000)):
        assert file.stat().st_blocks * 512 >= file.stat().st_size == load_flight(file).header.file_bytes


def test_records_that_cannot_be_written_are_counted_and_later_ones_are_there(file: Path) -> None:
    """A file system that copies on each write may be full all the same."""
    with closing(FlightRecorder(file, Watched(), 10)) as recorder:
        with files_of_at_most(0):
            for number in range(3):
                recorder.add(ANSWER, traced(), number)
        recorder.add(ANSWER, traced(), 3)

        assert recorder.n_dropped == 3
    assert [r.number for r in load_flight(file).records] == [3]


def cut_and_copied(file: Path) -> None:
    """As logrotate does with ``copytruncate``."""
    file.with_name("copy").write_bytes(file.read_bytes())
    os.truncate(file, 0)


def renamed(file: Path) -> None:
    """As logrotate does without it."""
    file.rename(file.with_name("copy"))


def cut_in_the_middle(file: Path) -> None:
    os.truncate(file, load_flight(file).header.slot_start(1))


def replaced(file: Path) -> None:
    file.unlink()
    recorded(file, range(2))


def replaced_by_another_kind(file: Path) -> None:
    file.unlink()
    FlightRecorder(file, Watched(deadline=1.0), 4).close()


@pytest.mark.parametrize(
    ("harm", "before", "said"),
    [
        (cut_and_copied, [], "was cut"),
        (cut_in_the_middle, [0], "was cut"),
        (renamed, [], "was moved or removed"),
        (Path.unlink, [], "was moved or removed"),
        (replaced, [0, 1], "was moved or removed"),
        (replaced_by_another_kind, [], "was moved or removed"),
    ],
)
def test_recording_goes_on_whatever_others_do_to_its_file(
    harm: Callable[[Path], None],
    before: list[int],
    said: str,
    file: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder_module, "LOOK_EVERY_S", 0.0)
    with closing(FlightRecorder(file, Watched(), 4)) as recorder:
        recorder.add(ANSWER, traced(), 0)
        recorder.add(ANSWER, traced(), 1)
        recorder.on_slack(1.0)
        assert caplog.text == ""

        harm(file)
        recorder.on_slack(1.0)
        recorder.add(ANSWER, traced(), 7)

        assert [r.number for r in load_flight(file).records] == [*before, 7]
        recorder.on_slack(1.0)
    assert [said in message for message in caplog.messages] == [True]
    kept = file.with_name("copy")
    assert not kept.exists() or [r.number for r in load_flight(kept).records] == [0, 1]


def test_item_that_is_recorded_right_after_a_cut_is_no_end_of_the_node(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process whose mapped file is cut is ended by the system."""
    monkeypatch.setattr(recorder_module, "LOOK_EVERY_S", 0.0)
    with closing(FlightRecorder(file, Watched(), 40)) as recorder:
        for number in range(30):
            recorder.add(ANSWER, traced(), number)
        os.truncate(file, 0)
        recorder.add(ANSWER, traced(), 30)
        recorder.on_slack(1.0)
        recorder.add(ANSWER, traced(), 31)

    assert [r.number for r in load_flight(file).records] == [30, 31]


def test_recording_whose_folder_is_gone_is_reported_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "LOOK_EVERY_S", 0.0)
    folder = tmp_path / "records"
    folder.mkdir()
    with closing(FlightRecorder(folder / "node.flight", Watched(), 4)) as recorder:
        folder.rename(tmp_path / "away")
        for _ in range(3):
            recorder.on_slack(1.0)
        assert caplog.text.count("the recording failed") == 1

        folder.mkdir()
        recorder.on_slack(1.0)
        recorder.add(ANSWER, traced(), 5)
    assert [r.number for r in load_flight(folder / "node.flight").records] == [5]


@pytest.mark.parametrize("capacity", [0, -1, MAX_FILE_BYTES])
def test_impossible_capacity_is_refused(file: Path, capacity: int) -> None:
    with pytest.raises(RecordingError, match=r"must keep at most|must have room for 1 to"):
        FlightRecorder(file, Watched(), capacity)


def test_folder_that_cannot_be_written_is_an_error_or_no_recording(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.touch()
    for path in (tmp_path / "missing" / "r", file / "r", Path("/proc/r")):
        with pytest.raises(RecordingError, match="must be writable"):
            Records(options("--record", str(path)), Watched(), Lines(sys.stdout))
        with Records(options("--record", str(path), "--record-optional"), Watched(), Lines(sys.stdout)) as records:
            records.add(ANSWER, traced(), 0)

    assert capsys.readouterr().err.count("running without a recording") == 3


def flight_lines(capsys: pytest.CaptureFixture[str], *line: str) -> list[dict[str, object]]:
    parser = argparse.ArgumentParser()
    add_options(parser, OPTIONS)
    run(parser.parse_args(line))
    return [json.loads(text) for text in capsys.readouterr().out.splitlines()]


def test_flight_prints_names_and_labels(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Records(options("--record", str(file), "--record-items", "2"), Watched(), Lines(sys.stdout)) as records:
        for number in range(3):
            records.add(ANSWER, traced(), number)

    said = flight_lines(capsys, str(file))
    assert [x["item"] for x in said] == [1, 2]
    assert (said[0]["label"], said[0]["features"]) == ("yes", ["mean", "spread"])
    assert said[0]["steps_ns"] == {"mean": 10_000, "spread": 30_000}


def test_flight_prints_a_summary(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorder = FlightRecorder(file, Watched(), 10)
    recorder.add(ANSWER, traced(), 0)
    recorder.add(ANSWER._replace(deadline_met=False, features=(), slowdown=2.5), traced(), 1)
    recorder.close()

    (line,) = flight_lines(capsys, str(file), "--summary")
    said = line["summary"]
    assert isinstance(said, dict)
    assert (said["items"], said["misses"], said["largest_slowdown"], said["torn"]) == (2, 1, 2.5, 0)
    assert said["features"] == {"mean+spread": 1, "(prior)": 1}
    assert said["stages"]["mean"]["total"] == 2e-5


def test_number_too_large_for_json_is_null(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    regressor = Watched(changed(make_bundle()[0], classes=(), prior=(0.0, 0.5)))
    recorder = FlightRecorder(file, regressor, 10)
    recorder.add(ANSWER._replace(label=math.inf), traced(), 0)
    recorder.close()

    assert flight_lines(capsys, str(file))[0]["label"] is None


def test_waited_time_is_recorded(file: Path) -> None:
    with closing(FlightRecorder(file, Watched(), 4)) as recorder:
        recorder.add(ANSWER._replace(waited_ns=7_000), traced(), 0)

    assert [record.waited_ns for record in load_flight(file).records] == [7_000]


def test_margin_of_each_answer_is_recorded(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That which the answer was planned with: a late one changes that of the next."""
    watched = Watched()
    with closing(FlightRecorder(file, watched, 4)) as recorder:
        for number, late in enumerate((False, True, False)):
            if late:
                watched.margin.add_late(paused=False)
            recorder.add(ANSWER, traced(), number)

    margins = [record.margin for record in load_flight(file).records]
    assert margins == [1.0, 1.0, watched.margin.value]
    assert margins[2] > 1.03
    assert [line["margin"] for line in flight_lines(capsys, str(file))] == margins
    (line,) = flight_lines(capsys, str(file), "--summary")
    summary: Any = line["summary"]
    assert summary["margin"] == {"smallest": 1.0, "largest": margins[2], "last": margins[2]}


def test_first_error_of_an_item_is_recorded(file: Path) -> None:
    with closing(FlightRecorder(file, Watched(), 4)) as recorder:
        recorder.add(ANSWER._replace(error="mean: ValueError: no sound"), traced(), 0)
        recorder.add(ANSWER._replace(error="µ" * 100), traced(), 1)

    assert [record.error for record in load_flight(file).records] == ["mean: ValueError: no sound", "µ" * 60]


def test_an_answer_that_is_withheld_comes_back_with_its_confidence(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(FlightRecorder(file, Watched(), 4)) as recorder:
        recorder.add(ANSWER._replace(label=None, confidence=0.25, reason="unsure"), traced(), 0)
        recorder.add(ANSWER._replace(confidence=0.0), traced(), 1)

    assert [(r.label, r.confidence) for r in load_flight(file).records] == [(None, 0.25), (1, 0.0)]
    assert [(r["label"], r["confidence"]) for r in flight_lines(capsys, str(file))] == [(None, 0.25), ("yes", 0.0)]
