"""What ``polydom-node run`` can be asked for besides answers, together."""

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import FeatureSpace, Predictor
from polydom_runtime.__main__ import main
from polydom_runtime.bundles.confidence import Calibration, Confidence, Risk, RiskPoint
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands.tally import Tally
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.releases import current_release
from polydom_runtime.items.packing import write_packed
from polydom_runtime.items.sources import Arrived
from polydom_runtime.learning.summary import LearningSummary, MovedUnit
from polydom_runtime.prediction import Prediction
from polydom_runtime.records.flight_file import load_flight
from polydom_runtime.supervision.keeper import own_command, own_environment
from tests.bundle_parts import changed, outlook
from tests.draws import draws
from tests.runtime.conftest import make_bundle, write
from tests.runtime.node_space import space

SPACE = "tests.runtime.node_space:space"
HOUR = "3600s"
"""No pause of a busy machine takes so long that a feature no longer fits."""

pytestmark = pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")


@pytest.fixture
def command(bundle_folder: Path, tmp_path: Path) -> list[str]:
    write_packed(tmp_path / "items.npz", [np.arange(n, dtype=np.float32) for n in (3, 40, 900)], ["yes", "no", "no"])
    return ["run", str(bundle_folder), SPACE, "--items", str(tmp_path / "items.npz"), "--deadline", HOUR]


def summary_of(text: str) -> dict[str, object]:
    summary: dict[str, object] = json.loads(text.splitlines()[-1])["summary"]
    return summary


def test_flight_and_metrics_tell_what_was_answered(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flight, prom, lines = (str(tmp_path / name) for name in ("node.flight", "node.prom", "metrics.jsonl"))
    assert main([*command, "--record", flight, "--metrics-prometheus", prom, "--metrics-json", lines]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()[:-1]]

    assert main(["flight", flight]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r["elapsed_ns"] for r in records] == [a["elapsed_ns"] for a in answers]
    assert json.loads(Path(lines).read_text().splitlines()[-1])["items"] == 3
    assert any(line.endswith(" 3") for line in Path(prom).read_text().splitlines() if "items_total" in line)


def test_summary_metrics_and_recording_name_the_bundle(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = Path(__file__).parents[2] / "golden" / "format_1.bundle"
    command[1], flight, lines = str(golden), str(tmp_path / "node.flight"), tmp_path / "metrics.jsonl"

    assert main([*command, "--record", flight, "--metrics-json", str(lines)]) == 0
    summary = summary_of(capsys.readouterr().out)
    assert main(["flight", flight, "--summary"]) == 0

    expected = {"name": "golden", "version": "1.2", "sha256": (golden / "index.sha256").read_text().split()[0]}
    assert expected == summary["bundle"]
    assert expected == json.loads(lines.read_text().splitlines()[-1])["bundle"]
    assert expected == summary_of(capsys.readouterr().out)["bundle"]


def test_loop_at_a_period_counts_what_the_summary_tells(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command[command.index(HOUR)] = "5ms"
    flight = str(tmp_path / "node.flight")

    assert main([*command, "--period", "10ms", "--overrun", "catch-up", "--record", flight]) == 0
    summary = summary_of(capsys.readouterr().out)

    assert summary["items"] == 3
    assert summary["loop"]["ended"] == "the source ended"  # type: ignore[index]
    assert main(["flight", flight, "--summary"]) == 0
    assert '"items": 3' in capsys.readouterr().out


def test_supervised_answers_like_unsupervised(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for more in ([], ["--supervised"]):
        assert main([*command, *more]) == 0
        said.append([json.loads(line) for line in capsys.readouterr().out.splitlines()])

    assert [a["label"] for a in said[0][:-1]] == [a["label"] for a in said[1][:-1]]
    assert said[1][-1]["summary"]["answered_by"] == {"worker": 3}


def test_energy_shortens_the_plan(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """At 1 W, 60 µJ are 60 µs, in which `ends` never fits."""
    assert main([*command, "--energy", "60uJ", "--watts", "1"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()[:-1]]

    assert all("ends" not in a["features"] for a in answers)


@pytest.mark.parametrize(
    "more",
    [
        ["--early-stop"],
        ["--energy", "1mJ"],
        ["--energy", "1mJ", "--energy-costs", "missing.json"],
        ["--supervised", "--early-stop"],
        ["--record", "/proc/no/flight"],
        ["--period", "1s"],
    ],
)
def test_what_cannot_be_is_one_line(command: list[str], more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, *more]) == 2
    error = capsys.readouterr().err
    assert error.startswith("polydom-node: ")
    assert error.count("\n") == 1


def lines(monkeypatch: pytest.MonkeyPatch, text: bytes, command: list[str]) -> list[str]:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    return [*command[:4], "-", *command[5:]]


@pytest.mark.parametrize("way", [[], ["--period", "10ms", "--overrun", "catch-up"]], ids=["as they come", "period"])
@pytest.mark.parametrize(
    ("text", "code", "items", "unreadable"),
    [
        (b"[1, 2]\n[3, 4, 5]\n", 0, 2, 0),
        (b"[1, 2]\nhello\n\xff\n[3, 4, 5]\n", 1, 2, 2),
        (b"hello\n", 1, 0, 1),
        (b"", 0, 0, 0),
    ],
)
def test_lines_that_are_no_items_are_counted_and_not_answered(
    text: bytes,
    code: int,
    items: int,
    unreadable: int,
    way: list[str],
    command: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command[command.index(HOUR)] = "5ms" if way else HOUR
    assert main([*lines(monkeypatch, text, command), *way]) == code
    said = summary_of(capsys.readouterr().out)
    assert (said["items"], said["unreadable"]) == (items, unreadable)


@pytest.mark.parametrize(
    ("scoring", "score"),
    [
        ("accuracy", 0.333333),
        ("balanced_accuracy", 0.5),
        ("f1_macro", 0.25),
        ("roc_auc", None),
        ("own.accuracy", None),
        ("r2", None),
        ("", None),
    ],
)
def test_summary_has_the_score_of_the_bundle_beside_the_accuracy(
    scoring: str, score: float | None, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All three answers are "yes", which one is."""
    bundle, models = make_bundle()
    command[1] = str(write(tmp_path / "scored.bundle", changed(bundle, scoring=scoring), models))

    assert main(command) == 0
    said = summary_of(capsys.readouterr().out)
    assert (said["scoring"], said["score"], said["accuracy"]) == (scoring or None, score, 0.333333)


def test_summary_without_labels_has_no_score(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lines(monkeypatch, b"[1, 2]\n", command)) == 0
    said = summary_of(capsys.readouterr().out)
    assert (said["score"], said["accuracy"]) == (None, None)


def windows_with_gaps() -> Iterator[Any]:
    yield None
    yield np.arange(5.0)
    yield None
    yield np.arange(7.0)


def numbers() -> list[float]:
    return [1.0, 2.0]


def broken_after_the_first() -> Iterator[Any]:
    yield np.arange(5.0)
    yield from [np.full(5, np.nan)] * 3


def test_none_is_no_item_yet(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command[4] = "tests.runtime.commands.test_run:windows_with_gaps"
    assert main(command) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()[:-1]]
    assert [a["item"] for a in answers] == [0, 1]


WAYS: dict[str, list[str]] = {
    "one by one": [],
    "supervised": ["--supervised"],
    "period": ["--deadline", "20ms", "--period", "20ms"],
}
KINDS = draws([*product(["pictures"], WAYS), ("waves", "one by one")], [*product(["pictures", "waves"], WAYS)])


@pytest.mark.parametrize("more", WAYS.values(), ids=WAYS)
def test_first_item_that_is_none_of_those_of_the_build_is_refused(
    more: list[str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command[4] = "tests.runtime.commands.test_run:numbers"
    assert main([*command, *more]) == 2
    said = capsys.readouterr()
    assert '"summary"' not in said.out
    assert "The first item of tests.runtime.commands.test_run:numbers must be like those" in said.err
    assert "Got 1.0. " in said.err


def starts_short() -> Iterator[Any]:
    yield np.zeros(0)
    yield np.arange(5.0)


def starts_cut() -> Iterator[Any]:
    yield from [np.zeros(0)] * 9
    yield np.arange(5.0)


def starts_with_a_text() -> Iterator[Any]:
    yield "sensor ready"
    yield np.arange(5.0)


@pytest.mark.parametrize("more", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("items", "bad"), [("starts_short", 1), ("starts_cut", 9), ("starts_with_a_text", 1)])
def test_bad_readings_at_the_start_do_not_end_the_run(
    items: str, bad: int, more: list[str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command[4] = f"tests.runtime.commands.test_run:{items}"
    assert main([*command, *more]) == 0

    said = capsys.readouterr()
    *answers, _ = map(json.loads, said.out.splitlines())
    assert [bool(answer["error"]) for answer in answers] == [*[True] * bad, False]
    assert said.err.count(f"The first item of {command[4]} must be") == 1
    assert "If the first 10 items are such, or all, the run ends.\n" in said.err


def never_usable() -> Iterator[Any]:
    while True:
        yield np.zeros(0)


@pytest.mark.parametrize("more", WAYS.values(), ids=WAYS)
def test_run_ends_when_all_of_the_first_items_are_unusable(
    more: list[str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command[4] = "tests.runtime.commands.test_run:never_usable"
    assert main([*command, *more]) == 2

    assert len(capsys.readouterr().out.splitlines()) == 10


def of_numpy() -> Iterator[Any]:
    for _ in range(5):
        yield Arrived(np.arange(5.0), np.int64(time.perf_counter_ns()))  # type: ignore[arg-type]


def of_the_wall_clock() -> Iterator[Any]:
    for _ in range(5):
        yield Arrived(np.arange(5.0), time.time_ns())


def of_seconds() -> Iterator[Any]:
    for _ in range(5):
        yield Arrived(np.arange(5.0), time.perf_counter())  # type: ignore[arg-type]


@pytest.mark.parametrize("more", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("items", "wrong"), [("of_numpy", 0), ("of_the_wall_clock", 5), ("of_seconds", 5)])
def test_times_of_arrival_of_another_clock_are_counted(
    items: str, wrong: int, more: list[str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command[4] = f"tests.runtime.commands.test_run:{items}"
    assert main([*command, *more]) == int(wrong > 0)

    said = capsys.readouterr()
    answers, summary = said.out.splitlines()[:-1], summary_of(said.out)
    wrong -= wrong > 0 and "--period" in more  # the first item of a loop is due after its warm-up
    errors = {"the time of arrival: another clock": wrong} if wrong else {}
    assert (len(answers), summary["another_clock"], summary["errors"]) == (5, wrong, errors)
    assert (f"{wrong} of 5 times of arrival were of another clock" in said.err) is (wrong > 0)


def test_share_of_priors_is_said_in_words(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command[4], command[command.index(HOUR)] = "tests.runtime.commands.test_run:old", "1ms"
    assert main(command) == 0
    said = capsys.readouterr()

    text = "12 of 12 answers were the prior, which knows nothing of the item: 100 %; expected are at most 0 %."
    assert summary_of(said.out)["priors"] == {"answers": 12, "expected": 0.0, "text": text}
    assert f"{text}\n" in said.err


def test_priors_that_were_expected_are_not_said() -> None:
    rows = (outlook(1e-3, 0.7, 0.5, (), 0.0), outlook(1.0, 0.9, 0.0, ("mean",), 0.0))
    bundle = make_bundle()[0]
    bundle = replace(bundle, times=bundle.times._replace(outlook=rows))
    prior, other = (Prediction("yes", features, 0.5, 2, True, "planned") for features in ((), ("mean",)))
    for deadline, most in ((1e-3, 51), (2.0, 1)):
        for n in (most, most + 1):
            tally = Tally(deadline, bundle)
            for k in range(100):
                tally.add(prior if k < n else other, "yes", 0)
            assert (tally.priors_text in tally.said) is (n > most)


@pytest.mark.parametrize("items", [[], ["--items", "elsewhere:items"]])
def test_module_that_changes_the_folder_moves_no_file(
    items: list[str], command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    module = f"import os; os.chdir({str(other)!r})\nfrom {SPACE.replace(':', ' import ')}\n"
    (tmp_path / "elsewhere.py").write_text(f"{module}\n\ndef items():\n    return []\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "elsewhere", raising=False)
    files = ["--record", "node.flight", "--metrics-json", "m.jsonl", "--metrics-prometheus", "m.prom"]
    command[1:5] = [Path(command[1]).name, "elsewhere:space", "--items", "items.npz"]

    assert main([*command, *files, *items, "--follow"]) == 0
    assert Path.cwd() == other
    assert [*other.iterdir()] == []
    assert {file.name for file in tmp_path.iterdir()} >= {"node.flight", "m.jsonl", "m.prom"}
    monkeypatch.delitem(sys.modules, "elsewhere")


def pictures() -> list[Any]:
    return [np.ones((5, 2))]


def waves() -> list[Any]:
    return [np.ones(5, dtype=np.complex64)]


@pytest.mark.parametrize(("items", "way"), KINDS)
def test_first_item_of_another_kind_than_at_the_build_is_refused(
    items: str, way: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Features may well give numbers for it. Under supervision none is tried before."""
    command[1] = str(Path(__file__).parents[2] / "golden" / "format_1.bundle")
    command[4] = f"tests.runtime.commands.test_run:{items}"

    assert main([*command, *WAYS[way]]) == 2
    found = capsys.readouterr()
    assert [json.loads(line)["features"] for line in found.out.splitlines()] == [[]]
    assert f"The first item of {command[4]} must be an array of 1 dimension, as those that the bundle" in found.err


def test_broken_items_in_between_are_answered(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command[4] = "tests.runtime.commands.test_run:broken_after_the_first"
    assert main(command) == 0
    assert summary_of(capsys.readouterr().out)["items"] == 4


def test_run_with_nothing_but_failures_ends_with_code_1(
    command: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A sensor may begin with readings that are no numbers."""
    text = b"[null, null, null]\n" * 3
    assert main(lines(monkeypatch, text, command)) == 1
    summary = summary_of(capsys.readouterr().out)
    assert (summary["items"], summary["errors"]) == (3, {"mean: Its values must be finite numbers.": 3})
    assert caplog.messages[0] == "mean failed. Its values must be finite numbers."


def fails_later() -> Iterator[Any]:
    yield np.arange(5.0)
    yield from [np.zeros((0,))] * 12


def test_what_fails_is_told_while_it_runs_and_in_every_record(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    flight, metrics = str(tmp_path / "node.flight"), tmp_path / "metrics.jsonl"
    command[4] = "tests.runtime.commands.test_run:fails_later"
    assert main([*command, "--record", flight, "--metrics-json", str(metrics)]) == 0
    errors: Any = summary_of(capsys.readouterr().out)["errors"]
    (error,) = errors

    assert error.startswith("size: ValueError: ")
    assert [message.split(". ")[0] for message in caplog.messages] == ["size failed", "size failed for the 10th time"]
    assert json.loads(metrics.read_text().splitlines()[-1])["errors"] == {error: 12}
    main(["flight", flight])
    assert [json.loads(line)["error"] for line in capsys.readouterr().out.splitlines()] == ["", *[error] * 12]


def test_late_answers_are_counted_by_reason_and_by_how_late_they_were(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command[4], command[command.index(HOUR)] = "tests.runtime.commands.test_run:old", "1ms"
    assert main(command) == 0

    summary: Any = summary_of(capsys.readouterr().out)
    assert summary["missed"] == 12
    reasons, shares = summary["misses"].values()
    assert (sum(reasons.values()), shares) == (12, {"more than 10": 12})


@pytest.mark.parametrize("more", [[], ["--supervised"], ["--follow"]], ids=["plain", "supervised", "follow"])
def test_broken_promise_is_said_in_words_with_its_chance(
    more: list[str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command[4], command[command.index(HOUR)] = "tests.runtime.commands.test_run:old", "1ms"
    assert main([*command, *more]) == 0
    said = capsys.readouterr()

    promise: Any = summary_of(said.out)["promise"]
    assert (promise["kept"], promise["late"], promise["paused"], promise["promised"]) == (False, 12, 12, 0.01)
    assert promise["text"] in said.err
    assert "12 of 12 answers were late, 100 %; promised is at most 1 %." in promise["text"]
    assert "12 of them would be late by any plan" in promise["text"]


def test_kept_promise_is_told_in_the_summary_alone(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 0
    said = capsys.readouterr()

    promise: Any = summary_of(said.out)["promise"]
    assert promise["text"].startswith("The promise was kept: 0 of ")
    assert said.err == ""


@pytest.mark.parametrize("more", [[], ["--supervised"], ["--follow"]], ids=["plain", "supervised", "follow"])
def test_summary_says_what_was_learned_and_that_there_was_no_slack(
    more: list[str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, *more]) == 0

    learning: Any = summary_of(capsys.readouterr().out)["learning"]
    assert (learning["had_slack"], learning["answers"], learning["moved"], learning["margin"]) == (False, 0, [], 1.0)
    assert learning["text"].startswith("No slack: answers came back to back, so no unit was tried")


def test_broken_promise_is_said_with_the_margin(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command[4], command[command.index(HOUR)] = "tests.runtime.commands.test_run:old", "1ms"
    assert main(command) == 0
    said = capsys.readouterr()

    learning: Any = summary_of(said.out)["learning"]
    assert learning["paused"] == 12
    assert learning["text"] in said.err


def test_units_that_moved_are_said_at_the_end(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = MovedUnit("hot", "mean", 1, 4.0, 0.0, 4e-5, 4.0, 60)
    found = LearningSummary(1.0, 0, 0, 0, (moved,), had_slack=True, answers=100, plans=1)
    monkeypatch.setattr(Predictor, "learning", lambda self: found)
    assert main(command) == 0

    assert f"{found}\n" in capsys.readouterr().err
    assert "mean 4.0 times as long as shipped, 40 µs (hot, since answer 60)" in str(found)


def test_late_answers_through_pauses_are_counted_over_all_bundles() -> None:
    """A new bundle has a margin of its own, which counts from 0."""
    bundle, _ = make_bundle()
    tally, late = Tally(1e-3, bundle), Prediction("yes", (), 0.5, 2_000_000, False, "planned")
    for paused in (1, 1, 2, 0, 1):
        tally.add(late, "yes", paused)

    assert (tally.kept.late, tally.kept.paused) == (5, 3)


def test_broken_promise_about_late_answers_in_a_row_is_said(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command[4], command[command.index(HOUR)] = "tests.runtime.commands.test_run:old", "1ms"
    assert main([*command, "--late-at-most", "2/10"]) == 0
    said = capsys.readouterr()

    text = "late at most 2 of any 10 answers: broken, 10 too many, 10 in the worst case"
    promise = {"most": 2, "window": 10, "broken": 10, "worst": 10, "text": text}
    assert summary_of(said.out)["late_at_most"] == promise
    assert text in said.err


@pytest.mark.parametrize("more", [[], ["--supervised"], ["--follow"]], ids=["plain", "supervised", "follow"])
def test_kept_promise_about_late_answers_in_a_row_is_in_the_summary(
    more: list[str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, *more, "--late-at-most", "1/20"]) == 0
    said = capsys.readouterr()

    promise: Any = summary_of(said.out)["late_at_most"]
    assert promise["text"] == "late at most 1 of any 20 answers: kept, 0 in the worst case"
    assert promise["text"] not in said.err


def test_without_a_promise_about_late_answers_in_a_row_there_is_none(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0

    assert summary_of(capsys.readouterr().out)["late_at_most"] is None


def old() -> Iterator[Any]:
    """Yield items that arrived ten seconds ago."""
    for _ in range(12):
        yield Arrived(np.arange(5.0), time.perf_counter_ns() - 10_000_000_000)


@pytest.mark.parametrize("more", [[], ["--supervised"]], ids=["", "supervised"])
def test_features_that_were_edited_since_the_build_are_refused_unless_asked(
    more: list[str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command[1] = str(Path(__file__).parents[2] / "golden" / "format_1.bundle")
    assert main([*command, *more]) == 0
    assert summary_of(capsys.readouterr().out)["compared"] is True
    command[2] = "tests.runtime.commands.test_run:edited"
    assert main([*command, *more]) == 2
    assert "On a reference item, feature 'mean' gives" in capsys.readouterr().err
    assert main([*command, *more, "--no-compare"]) == 0
    said = capsys.readouterr()
    assert summary_of(said.out)["compared"] is False
    assert "features are not compared" in said.err


edited = FeatureSpace(
    [replace(space.features[0], extract=lambda x: [1000 * x.mean()]), *space.features[1:]], size=space.size
)


FOLLOWED = 600
"""So many times an answer is awaited from another bundle, each after a pause."""


class FedNode:
    """A node in a process of its own that gets one item after another."""

    def __init__(self, folder: Path, *options: str) -> None:
        space = "tests.runtime.node_space:space"
        options = ("--items", "-", "--deadline", "1s", "--follow", *options)
        self.process = subprocess.Popen(
            own_command("polydom_runtime", "run", str(folder), space, *options),
            env=own_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answers: list[dict[str, Any]] = []

    def answer(self, text: str = json.dumps([1.0] * 40)) -> Any:
        """Return the answer for an item."""
        print(text, file=self.process.stdin, flush=True)
        self.answers.append(self._line())
        return self.answers[-1]

    def answer_until(self, bundle: str) -> None:
        """Give items until a bundle answers, and some more."""
        for _ in range(FOLLOWED):
            if self.answer()["bundle"] == bundle[:12]:
                break
            time.sleep(0.05)
        for _ in range(5):
            self.answer()

    def summary(self) -> Any:
        """End the items, and return the summary."""
        with self.process:
            assert self.process.stdin
            self.process.stdin.close()
            return self._line()["summary"]

    def _line(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())


@pytest.mark.parametrize("more", [[], ["--supervised"]], ids=["alone", "supervised"])
def test_follows_the_bundle_in_its_folder_and_looks_at_once_when_told(more: list[str], tmp_path: Path) -> None:
    bundle, models = make_bundle()
    labels = [{"no", "yes"}, {"good", "bad"}]
    for k, classes in enumerate(labels):
        write(tmp_path / f"{k}", changed(bundle, classes=tuple(classes), budgets=(1e-3, 1.0)), models)
    digests = [load_bundle(tmp_path / f"{k}").sha256 for k in (0, 1)]
    current, new = tmp_path / "current", tmp_path / "new"
    current.symlink_to("0")
    records = ["--record", str(tmp_path / "flight"), "--metrics-json", str(tmp_path / "metrics")]

    node = FedNode(current, "--trial", "3", *records, *more)
    node.answer()
    new.symlink_to("1")
    new.rename(current)
    node.process.send_signal(signal.SIGHUP)
    node.answer_until(digests[1])
    summary = node.summary()

    assert node.process.returncode == 0
    assert {a["bundle"] for a in node.answers} == {digest[:12] for digest in digests}
    assert all(a["label"] in labels[a["bundle"] == digests[1][:12]] for a in node.answers)
    assert [a["item"] for a in node.answers] == list(range(len(node.answers)))
    changes = {"taken": 1, "refused": 0, "sent_back": 0}
    assert summary["bundle"]["sha256"] == digests[1]
    assert summary["reloads"] == {**changes, "error": ""}
    assert sum(len(load_flight(tmp_path / name).records) for name in ("flight.1", "flight")) == len(node.answers)
    metrics = json.loads((tmp_path / "metrics").read_text().splitlines()[-1])
    assert (metrics["items"], metrics["bundle_changes"]) == (len(node.answers), changes)


def test_release_that_is_worse_than_promised_is_rolled_back(tmp_path: Path) -> None:
    """Items that are no numbers let all features fail, which they did not do before."""
    bundle, models = make_bundle()
    digests = []
    for k, classes in enumerate((("no", "yes"), ("good", "bad"))):
        folder = write(tmp_path / f"{k}", changed(bundle, classes=classes, budgets=(1e-3, 1.0)), models)
        digests.append(load_bundle(folder).sha256)
    install(load_bundle(tmp_path / "0"), tmp_path / "root")

    node = FedNode(tmp_path / "root" / "current", "--trial", "1000")
    node.answer()
    install(load_bundle(tmp_path / "1"), tmp_path / "root")
    node.process.send_signal(signal.SIGHUP)
    node.answer_until(digests[1])
    for _ in range(20):
        node.answer(json.dumps("no numbers"))
    summary = node.summary()

    assert summary["bundle"]["sha256"] == digests[0]
    assert summary["reloads"]["sent_back"] == 1
    assert current_release(tmp_path / "root").digest == digests[0]


def test_trial_of_updates_must_be_possible(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--trial", "-1"]) == 2
    assert "must be" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "labels", "abstained"),
    [
        (["--abstain-below", "0.75"], ["yes", "yes", "yes"], 0),
        (["--abstain-below", "0.8"], [None, None, None], 3),
        (["--accuracy-wanted", "0.9"], [None, None, None], 3),
        (["--accuracy-wanted", "0.9", "--supervised"], [None, None, None], 3),
    ],
)
def test_run_withholds_unsure_answers(
    options: list[str],
    labels: list[str | None],
    abstained: int,
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each answer is sure by 0.75; one in ten is wrong from 0.8 on. What is withheld is neither right nor wrong."""
    plain, models = make_bundle()
    risk = Risk("hot", 1e-4, 0.0, (RiskPoint(0.0, 1.0, 0.2), RiskPoint(0.8, 0.5, 0.1)))
    calibrated = tuple(model._replace(calibration=Calibration((0.5,), (0.75,))) for model in plain.models)
    bundle = replace(plain, models=calibrated, confidence=Confidence(0.5, (risk,)))
    assert main([command[0], str(write(tmp_path / "sure", bundle, models)), *command[2:], *options]) == 0
    *answers, _ = map(json.loads, (text := capsys.readouterr().out).splitlines())
    summary = summary_of(text)

    assert [(answer["label"], answer["confidence"]) for answer in answers] == [(label, 0.75) for label in labels]
    assert summary["abstained"] == abstained
    assert summary["accuracy"] == (None if abstained else pytest.approx(1 / 3, abs=1e-5))


def test_run_says_what_abstention_needs(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--abstain-below", "0.9"]) == 2
    assert "To abstain a bundle must be built with confidence" in capsys.readouterr().err
