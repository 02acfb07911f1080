"""What a node learned, kept: rows of units, what another bundle takes of them, and a file that is always whole."""

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime import Predictor, Seams
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.device.board import Board
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError
from polydom_runtime.learning import learned_file
from polydom_runtime.learning.learned_file import (
    MAGIC,
    Circumstances,
    Learned,
    Recalled,
    load_learned,
    read_learned,
    recalled_from,
    this_machine,
    write_learned,
)
from polydom_runtime.learning.learned_times import AFTER, BEFORE, WAKING, LearnedRow, LearnedTimes, Seen
from polydom_runtime.learning.unit_history import WINDOW
from polydom_runtime.supervision.worker_times import WorkerTimes
from tests.bundle_parts import floats
from tests.runtime.conftest import World, make_bundle

US = 1e-6
ROWS = (
    LearnedRow("hot", "ends", 4.0, 0.0, 40, 330 * US),
    LearnedRow("cold", BEFORE, 1.0, 20 * US, 50, 21 * US),
    LearnedRow("hot", 2, 1.5, 0.0, 31, 8 * US),
)


@pytest.fixture
def bundle(bundle_folder: Path) -> Bundle:
    return load_bundle(bundle_folder)


def learned_of(bundle: Bundle, **changes: Any) -> Learned:
    digest = bundle.sha256 or "0" * 64
    made = Learned(digest, bundle.identity.code, "2026-11-28T12:00:00Z", 700, 1.3, 31.6, ROWS, ())
    return replace(made, **changes)


def observed(bundle: Bundle, times: dict[str, float], regime: Any = "hot", n: int = WINDOW) -> LearnedTimes:
    """Return times that were learned from answers with all features; `times` in microseconds, as of units."""
    learned = LearnedTimes(bundle, 200 * US)
    took = {"before": 0.5, "mean": 12.0, "spread": 23.2, "ends": 82.0, "end": 5.5, **times}
    marks = np.cumsum([0.0, *(1e3 * t for t in took.values())]).round().astype(int).tolist()
    for _ in range(n):
        learned.observe(Seen(regime, 32.0, [0, 1, 2], marks, 2, ()))
    return learned


def rebuilt(bundle: Bundle, **changes: Any) -> Bundle:
    """Return another bundle of the same features."""
    promise = bundle.promise._replace(alpha=1.5)
    return replace(bundle, promise=promise, sha256="another", **changes)


def with_code(bundle: Bundle, code: str = "2:abc") -> Bundle:
    return replace(bundle, identity=bundle.identity._replace(code=code))


def test_what_was_learned_is_recalled_as_it_was(bundle: Bundle) -> None:
    learned = observed(bundle, {"ends": 328.0})
    again = LearnedTimes(bundle, 200 * US)
    again.recall(learned.rows(), learned.answers)

    assert again.answers == WINDOW
    assert again.change_of(("hot", "ends")).factor == pytest.approx(4.0, rel=0.01)
    for regime in ("hot", "cold"):
        for unit, change in learned.changes(regime).items():
            assert again.changes(regime)[unit] == pytest.approx(change)


def test_recalled_unit_changes_by_what_is_seen_from_there_on(bundle: Bundle) -> None:
    again = LearnedTimes(bundle, 200 * US)
    again.recall(observed(bundle, {"ends": 328.0}).rows())
    marks = np.cumsum([0, 500, 12000, 23200, 82000, 5500]).tolist()
    again.observe(Seen("hot", 32.0, [0, 1, 2], marks, 2, ()))
    assert again.change_of(("hot", "ends")).factor == pytest.approx(4.0, rel=0.01)  # one odd answer moves nothing
    for _ in range(3):
        again.observe(Seen("hot", 32.0, [0, 1, 2], marks, 2, ()))

    assert again.change_of(("hot", "ends")).factor == pytest.approx(1.0, rel=0.01)


def test_bundle_of_the_same_features_takes_the_seconds_and_no_models(bundle: Bundle) -> None:
    """The other bundle was built from measured times by then: twice as long for ``ends``, of which it takes no more."""
    bundle = with_code(bundle)
    rows = observed(bundle, {"ends": 328.0, "end": 55.0}).rows()
    doubled = {name: getattr(bundle.times, name).mapped(lambda cost: cost * 2.0) for name in ("typical", "worst")}
    other = rebuilt(bundle, times=bundle.times._replace(**doubled))
    recalled = Recalled(learned_of(bundle, rows=rows, margin=2.0), other, LearnedTimes(other, 200 * US))
    times = recalled.times

    assert times.expected_ns(("hot", "ends"), times.middle) == pytest.approx(328e3, rel=0.01)
    assert times.change_of(("hot", "ends")).factor == pytest.approx(2.0, rel=0.01)
    assert ("hot", 2) not in times.histories
    assert ("hot", AFTER) in times.histories
    assert (recalled.margin, times.answers) == (1.0, 0)


def test_bundle_of_other_features_takes_nothing(bundle: Bundle) -> None:
    bundle = with_code(bundle)
    other = rebuilt(with_code(bundle, "2:other"))

    for learned, new in (
        (learned_of(bundle), other),
        (learned_of(with_code(bundle, "")), rebuilt(with_code(bundle, ""))),
    ):
        assert Recalled(learned, new, LearnedTimes(new, 200 * US)).times.histories == {}


def test_plan_that_is_made_later_is_known_to_have_what_was_learned(bundle: Bundle, world: World) -> None:
    """That of rehearsals is made at the first one; else it would be laid out anew."""
    rows = (LearnedRow("rehearsed", "ends", 4.0, 0.0, 40, 330 * US),)
    predictor = Predictor(bundle, world.space, learned=learned_of(bundle, rows=rows), seams=Seams(clock=world.clock))
    predictor.predict_one(np.ones(4))
    predictor.use_slack(0.005)
    world.clock.advance(seconds=0.01)
    predictor.rehearse()

    assert predictor._experience.learner is not None
    assert predictor._experience.learner.planned["rehearsed"]["ends"].factor == pytest.approx(4.0)


def test_workers_take_only_what_features_take_from_a_process_without_them_and_the_reverse(bundle: Bundle) -> None:
    """A hand-over to a worker is a part of the beginning and the end of its answers, and so of its models."""

    def new(by_worker: bool) -> LearnedTimes:
        hand_overs: Any = dict.fromkeys(("hot", "rehearsed", "cold"), 30 * US)
        return WorkerTimes(bundle, hand_overs, 200 * US) if by_worker else LearnedTimes(bundle, 200 * US)

    for by_worker in (False, True):
        learned = learned_of(bundle, by_worker=by_worker)
        alike, other = (Recalled(learned, bundle, new(which)) for which in (by_worker, not by_worker))

        assert set(alike.times.histories) == {("hot", "ends"), ("cold", BEFORE), ("hot", 2)}
        assert set(other.times.histories) == {("hot", "ends")}
        assert (alike.margin, other.margin) == (1.3, 1.0)


def test_waking_is_recalled_as_a_constant(bundle: Bundle) -> None:
    learned = observed(bundle, {"mean": 52.0}, "cold")
    again = LearnedTimes(bundle, 200 * US)
    again.recall(learned.rows())

    assert again.change_of(("cold", WAKING)) == learned.change_of(("cold", WAKING))
    assert again.change_of(("cold", WAKING)).offset == pytest.approx(40 * US, rel=0.05)


def test_rows_of_units_that_the_bundle_does_not_have_say_nothing(bundle: Bundle) -> None:
    times = LearnedTimes(bundle, 200 * US)
    times.recall([LearnedRow("hot", "gone", 2.0, 0.0, 9, US), LearnedRow("hot", 17, 2.0, 0.0, 9, US)])

    assert times.histories == {}


def test_changes_of_no_bounds_are_kept_within_them(bundle: Bundle) -> None:
    times = observed(bundle, {"ends": 0.0, "mean": 1e12})
    kept = {row.unit: row.factor for row in times.rows()}

    assert 0.0 < kept["ends"] < 0.01
    assert kept["mean"] == 1e4


def features(world: World, folder: Path, **options: Any) -> tuple[str, ...]:
    options |= {"deadline": 140 * US, "seams": Seams(clock=world.clock), "policy": "strict"}
    return Predictor.load(folder, world.space, **options).predict_one(np.ones(4)).features


def test_first_plan_is_made_by_what_was_learned(
    bundle: Bundle, bundle_folder: Path, tmp_path: Path, world: World
) -> None:
    """Of 140 µs, three features take 92 µs: as shipped they fit, and with one that takes 162 µs longer only two do."""
    rows = observed(bundle, {"ends": 328.0}).rows()
    write_learned(file := tmp_path / "pi.learned", learned_of(bundle, rows=rows))

    assert features(world, bundle_folder) == ("mean", "spread", "ends")
    assert features(world, bundle_folder, learned=file) == ("mean", "spread")
    assert features(world, bundle_folder, learned=tmp_path / "no.learned") == ("mean", "spread", "ends")


def test_predictor_hands_on_what_it_learned_and_its_margin(bundle: Bundle, world: World, tmp_path: Path) -> None:
    options: dict[str, Any] = {"deadline": 200 * US, "seams": Seams(clock=world.clock)}
    first = Predictor(bundle, world.space, **options)
    first.save_learned(tmp_path / "none.learned")
    assert first.learned is None
    assert not (tmp_path / "none.learned").exists()

    world.seconds["ends"] = 100 * US
    for _ in range(20):
        world.clock.advance(seconds=0.01)
        first.predict_one(np.ones(4))
        first.use_slack(0.005)
    first.margin.value = 1.5
    first.save_learned(tmp_path / "pi.learned", period=0.01)
    kept = load_learned(tmp_path / "pi.learned", bundle)
    second = Predictor(bundle, world.space, learned=kept.learned, **options)

    assert kept.circumstances.period == 0.01
    assert kept.learned == first.learned
    assert second.margin.value == 1.5
    assert second.learned == kept.learned
    assert "20 answers showed here" in str(second.bundle.times.origin)
    second.use_slack(0.005)
    assert second.learned.answers == 20


def test_quicker_engines_run_the_models(bundle: Bundle, world: World) -> None:
    learned = learned_of(bundle, engines=("numpy",) * 3)
    predictor = Predictor(bundle, world.space, deadline=2e-4, learned=learned, seams=Seams(clock=world.clock))

    assert [model.engine for model in predictor.bundle.models] == ["numpy"] * 3
    assert learned.applied(rebuilt(bundle)).models == bundle.models


def test_file_keeps_everything(bundle: Bundle, tmp_path: Path) -> None:
    learned = learned_of(bundle, engines=("numpy", "onnxruntime", "numpy"))
    kept = write_learned(tmp_path / "pi.learned", learned, period=0.02, warnings=("hot", "old"))

    assert load_learned(tmp_path / "pi.learned", bundle) == kept
    assert kept.learned == learned
    assert kept.warnings[-2:] == ("hot", "old")
    assert [file.name for file in tmp_path.glob("*learned*")] == ["pi.learned"]


def test_file_of_another_bundle_is_read_if_its_features_are_the_same(bundle: Bundle, tmp_path: Path) -> None:
    bundle = with_code(bundle)
    write_learned(file := tmp_path / "pi.learned", learned_of(bundle))

    assert load_learned(file, rebuilt(bundle)).learned.rows == ROWS
    with pytest.raises(BundleMismatchError, match="with this bundle, or with one of the same features"):
        load_learned(file, rebuilt(with_code(bundle, "2:other")))


@pytest.mark.parametrize("fact", ["device", "cpu", "numpy", "onnxruntime"])
def test_file_of_another_machine_or_version_is_refused(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fact: str
) -> None:
    write_learned(file := tmp_path / "pi.learned", learned_of(bundle))
    monkeypatch.setattr(learned_file, "this_machine", lambda board: {**this_machine(board), fact: "another"})

    with pytest.raises(BundleMismatchError, match=f"on this machine. It was with {fact} .* and not another"):
        load_learned(file, bundle)


@pytest.mark.parametrize("wrong", ["cut", "version", "folder", "machine"])
def test_file_of_no_use_is_one_line_and_the_shipped_times(
    bundle: Bundle, bundle_folder: Path, tmp_path: Path, world: World, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    write_learned(file := tmp_path / "pi.learned", learned_of(bundle))
    content = file.read_bytes()
    file.write_bytes(content[:-1] if wrong == "cut" else content.replace(b"learned 1\n", b"learned 2\n"))
    if wrong == "folder":
        file.unlink()
        file.mkdir()
    if wrong == "machine":
        file.write_bytes(packed({**unpacked(content), "machine": dict.fromkeys(this_machine(), "another")}))

    assert features(world, bundle_folder, learned=file) == ("mean", "spread", "ends")
    (record,) = caplog.records
    assert record.getMessage().startswith("plans begin with the shipped times. ")
    assert "\n" not in record.getMessage()


def test_missing_file_is_no_fault(bundle: Bundle, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert recalled_from(tmp_path / "pi.learned", bundle) is None
    assert not caplog.records


def packed(document: dict[str, Any]) -> bytes:
    body = bytes(msgpack.packb(document))
    return MAGIC + b"1\n" + hashlib.sha256(body).digest() + body


def unpacked(content: bytes) -> dict[str, Any]:
    document: dict[str, Any] = msgpack.unpackb(content.partition(b"\n")[2][32:])
    return document


def _written() -> bytes:
    kept: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learned_file, "replace_file", lambda file, content, sync: kept.append(content))
        write_learned("pi.learned", learned_of(make_bundle()[0]))
    return kept[0]


CONTENT = _written()


@given(st.data())
def test_file_that_is_cut_or_altered_anywhere_is_refused(data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        at = data.draw(st.integers(0, len(CONTENT) - 1))
        altered = CONTENT[:at] + bytes([CONTENT[at] ^ 1]) + CONTENT[at + 1 :]
        broken = CONTENT[:at] if data.draw(st.booleans()) else altered
        patch.setattr(learned_file, "read_bounded", lambda file, limit: broken)
        with pytest.raises(BundleFormatError, match="must be a sound file of learned times"):
            read_learned(__file__)


def column(name: str, *values: float) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["learned"]["rows"][1].update({name: floats(*values)})


def put(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for name in path[:-1]:
            document = document[name]
        document[path[-1]] = value

    return change


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "change",
    [
        *(column("factor", 1.0, bad, 1.0) for bad in (NAN, INF, 0.0, -1.0, 1e5)),
        *(column("offset", 0.0, bad, 0.0) for bad in (NAN, -INF, 1e7)),
        *(column("seconds", 1.0, bad, 1.0) for bad in (NAN, INF, 0.0, -1.0)),
        column("factor", 1.0, 1.0),
        put("learned", "margin", value=0.5),
        put("learned", "margin", value=NAN),
        put("learned", "size", value=0.0),
        put("learned", "answers", value=-1),
        put("learned", "engines", value=[1, ["onnx"]]),
        put("machine", value={"device": "a board"}),
        put("circumstances", "processor_share", value=2.0),
        put("warnings", value=[21, {"all": "x"}]),
        lambda document: document.pop("saved"),
    ],
)
def test_impossible_values_are_refused(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    document = unpacked(CONTENT)
    change(document)
    (file := tmp_path / "pi.learned").write_bytes(packed(document))

    with pytest.raises(BundleFormatError, match=r"pi\.learned must be a sound file of learned times"):
        read_learned(file)


def test_engines_must_be_of_all_models(bundle: Bundle, tmp_path: Path) -> None:
    write_learned(file := tmp_path / "pi.learned", learned_of(bundle, engines=("numpy",)))

    with pytest.raises(BundleFormatError, match=r"an engine for each of 3 models\. Got 1"):
        load_learned(file, bundle)


def test_save_that_is_killed_leaves_the_old_file_or_the_new_one(bundle: Bundle, tmp_path: Path) -> None:
    """A process that writes without end is killed at various times."""
    write_learned(file := tmp_path / "pi.learned", learned_of(bundle, answers=1))
    code = """
        import sys
        from itertools import count
        from dataclasses import replace
        from polydom_runtime.learning.learned_file import read_learned, write_learned
        learned = read_learned(sys.argv[1]).learned
        for n in count(2):
            write_learned(sys.argv[1], replace(learned, answers=n), sync=False)
            if n == 2:
                print("begun", flush=True)
    """
    for n in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(file)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            for _ in range(997 * n):
                pass
            process.send_signal(signal.SIGKILL)
        assert load_learned(file, bundle).learned.answers >= 2


def test_save_that_is_interrupted_before_its_end_leaves_the_old_file(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_learned(file := tmp_path / "pi.learned", learned_of(bundle, answers=1))
    steps = count()

    def interrupted(*_: object) -> None:
        next(steps)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_learned(file, learned_of(bundle, answers=2))

    assert next(steps) == 1
    assert load_learned(file, bundle).learned.answers == 1


def board(root: Path, **files: str) -> Board:
    paths = {
        "flags": "sys/devices/platform/soc/soc:firmware/get_throttled",
        "allowed": "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
        "highest": "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
        "governor": "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "schedule": "proc/self/schedstat",
    }
    for name, text in files.items():
        (root / paths[name]).parent.mkdir(parents=True, exist_ok=True)
        (root / paths[name]).write_text(text)
    return Board(root)


@pytest.mark.parametrize(
    ("files", "sound", "says"),
    [
        ({}, True, []),
        ({"flags": "50000"}, False, ["throttled"]),
        ({"allowed": "600000", "highest": "1500000"}, False, ["capped at 40 %"]),
        ({"allowed": "1500000", "highest": "1500000", "governor": "performance"}, True, []),
        ({"governor": "ondemand"}, True, ["governor was ondemand"]),
        ({"schedule": "600 400 7"}, True, ["got 60 % of a processor"]),
    ],
)
def test_circumstances_say_what_speaks_against_the_times(
    tmp_path: Path, files: dict[str, str], sound: bool, says: list[str]
) -> None:
    found = Circumstances.now(board(tmp_path, **files), 0.02)

    assert found.is_sound == sound
    assert len(found.warnings) == len(says)
    assert all(text in warning for text, warning in zip(says, found.warnings, strict=True))
