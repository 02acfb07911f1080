"""What commands print on a terminal, for people; in a pipe, programs read what they always did."""

import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime import load_bundle
from polydom_runtime.commands.summary_text import RunFacts, summary_lines
from polydom_runtime.delivery.install import install
from polydom_runtime.describing.knee import verdict
from polydom_runtime.items.packing import write_packed
from tests.runtime.conftest import make_bundle, write

ROOT = Path(__file__).parents[3]
SPACE = "tests.runtime.node_space:space"
GOLDEN = ROOT / "tests" / "golden" / "format_1.bundle"
SETS = "mean + spread + ends"


def on_terminal(*words: str | Path, columns: int = 80, code: int = 0) -> list[str]:
    """Run a command whose standard output is a terminal of this width; return the lines that it shows."""
    own, its = pty.openpty()
    termios.tcsetwinsize(its, (24, columns))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "polydom_runtime", *map(str, words)]
    with subprocess.Popen(command, stdout=its, stderr=subprocess.DEVNULL, cwd=ROOT, env=environment) as process:
        os.close(its)
        shown = b""
        while part := _read(own):
            shown += part
    os.close(own)
    assert process.returncode == code
    return shown.decode().replace("\r\n", "\n").splitlines()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # nobody writes to it any more
        return b""


def in_pipe(*words: str | Path) -> str:
    command = [sys.executable, "-m", "polydom_runtime", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a bundle, items for it, and a recording of a run."""
    found = tmp_path_factory.mktemp("terminal")
    write(found / "node.bundle", *make_bundle())
    write_packed(found / "items.npz", [np.arange(n, dtype=np.float32) for n in (3, 40, 900)], ["yes", "no", "no"])
    in_pipe(*answering(found), "--record", found / "node.flight")
    return found


def answering(folder: Path) -> list[str | Path]:
    return ["run", folder / "node.bundle", SPACE, "--items", folder / "items.npz", "--deadline", "1s"]


def test_a_run_ends_with_its_verdict_and_what_is_useful(folder: Path) -> None:
    first, second, third, empty, *told = on_terminal(*answering(folder), columns=200)

    assert [json.loads(line)["label"] for line in (first, second, third)] == ["yes"] * 3
    assert (empty, told[0]) == ("", "The promise was kept: 0 of 3 answers were late, 0 %; promised is at most 1 %.")
    assert told[1:5] == ["bundle: no name", "deadline: 1 s", "items: 3", "late: 0"]
    assert told[5].startswith("time of an answer: half within ")
    assert told[6:8] == ["accuracy: 0.3333", f"answered by {SETS}: 100 %"]
    assert told[8].startswith("learned: No slack")
    assert told[-1].startswith("SHA-256 of the bundle: ")
    assert len(told) <= 12


def test_a_run_in_a_pipe_ends_with_a_line_of_json(folder: Path) -> None:
    *answers, last = map(json.loads, in_pipe(*answering(folder)).splitlines())

    assert [answer["item"] for answer in answers] == [0, 1, 2]
    assert last["summary"]["promise"]["kept"] is True


def test_a_quiet_run_shows_its_summary_only(folder: Path) -> None:
    assert on_terminal(*answering(folder), "--quiet")[0].startswith("The promise was kept")


def test_a_run_on_a_terminal_prints_one_document_if_asked(folder: Path) -> None:
    assert json.loads("\n".join(on_terminal(*answering(folder), "--json")))["result"]["summary"]["items"] == 3


def test_a_run_tells_what_was_wrong(folder: Path, tmp_path: Path) -> None:
    write_packed(tmp_path / "items.npz", [np.arange(9, dtype=np.float32)] * 2, ["maybe", "no"])
    command: list[str | Path] = [
        "run",
        folder / "node.bundle",
        SPACE,
        "--items",
        tmp_path / "items.npz",
        "--deadline",
        "1s",
    ]
    told = on_terminal(*command, "--quiet", columns=200)

    assert [line for line in told if line.startswith("warning: 1 labels, such as 'maybe' (str)")]


def test_a_run_without_items_says_so(folder: Path) -> None:
    told = on_terminal("run", folder / "node.bundle", SPACE, "--items", "builtins:list", "--quiet")

    assert told[0] == "No item was answered."
    assert "items: 0" in told


def test_frequent_sets_and_errors_are_told_by_themselves() -> None:
    sets, errors = {"a+b": 50, "a": 30, "c": 10, "(prior)": 6, "b": 4}, {"a: no sound": 3, "b: late": 2, "c": 1}
    bundle = {"name": "tones", "version": "2", "sha256": "5" * 64}
    facts = RunFacts(bundle, 0.005, 100, 2, [1e-3, 2e-3, 6e-3], sets, errors, withheld=7, verdict="Kept.")

    assert [*summary_lines(facts)] == [
        "Kept.",
        "bundle: tones 2",
        "deadline: 5 ms",
        "items: 100",
        "late: 2",
        "time of an answer: half within 1 ms, 99 % within 2 ms, longest 6 ms",
        "answered by a + b: 50 %",
        "answered by a: 30 %",
        "answered by c: 10 %",
        "answered by other sets: 10 %",
        "withheld: 7, since they were not sure enough",
        "warning: a: no sound (items: 3)",
        "warning: b: late (items: 2)",
        "SHA-256 of the bundle: 555555555555...",
    ]


def test_a_recording_is_summed_up_like_a_run(folder: Path) -> None:
    told = on_terminal("flight", folder / "node.flight", "--summary", columns=200)

    assert told[:5] == [
        "0 of 3 answers were late, 0 %.",
        "bundle: no name",
        "deadline: 1 s",
        "items: 3",
        "late: 0",
    ]
    assert f"answered by {SETS}: 100 %" in told
    assert json.loads(in_pipe("flight", folder / "node.flight", "--summary"))["summary"]["items"] == 3


def test_info_begins_with_what_is_most_useful_and_ends_with_digests() -> None:
    told, piped = on_terminal("info", GOLDEN, columns=1000), in_pipe("info", GOLDEN).splitlines()
    begins = [line.partition(":")[0] for line in told]

    assert (begins[0], begins[1], begins[4]) == ("bundle", "hot", "rehearsed")
    assert begins[-3:] == ["SHA-256 of the index", "SHA-256 of the data", "fingerprint of the features' code"]
    expected = next(k for k, line in enumerate(told) if line.startswith("expected answers"))
    assert expected < begins.index("promise") < begins.index("signature") < begins.index("built")
    lines = {line.strip().replace(" + ", "+") for line in told}
    assert {line.strip() for line in piped} <= lines
    knees = {line for line in verdict(load_bundle(GOLDEN)) if "knee" in line}
    assert {line for line in lines if "knee" in line} == knees


def test_status_has_a_line_for_each_release_with_the_name_before_the_digest(tmp_path: Path) -> None:
    digest = install(load_bundle(GOLDEN), tmp_path / "root").digest
    (told,) = on_terminal("status", tmp_path / "root", columns=200)

    name = next(line for line in in_pipe("info", GOLDEN).splitlines() if line.startswith("bundle: "))
    assert told.startswith(f"{name.removeprefix('bundle: ')}: current, sound, installed ")
    assert told.endswith(f"SHA-256 {digest[:12]}...")
    assert in_pipe("status", tmp_path / "root").startswith(f"current {digest}  ")


def test_status_says_that_there_is_no_release(tmp_path: Path) -> None:
    (tmp_path / "releases").mkdir()
    assert on_terminal("status", tmp_path, code=1) == ["No release is installed."]


@pytest.mark.parametrize("command", ["run", "flight", "info", "status"])
def test_texts_fit_a_narrow_terminal_without_colours(command: str, folder: Path, tmp_path: Path) -> None:
    install(load_bundle(GOLDEN), tmp_path)
    words: dict[str, list[str | Path]] = {
        "run": [*answering(folder), "--quiet"],
        "flight": ["flight", folder / "node.flight", "--summary"],
        "info": ["info", GOLDEN],
        "status": ["status", tmp_path],
    }
    told = on_terminal(*words[command], columns=40)

    assert len(told) > 1
    assert max(map(len, told)) <= 40
    assert "\x1b" not in "".join(told)
