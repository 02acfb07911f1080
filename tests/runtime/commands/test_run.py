"""What ``polydom-node run`` can be asked for besides answers, together."""

import json
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime.__main__ import main
from polydom_runtime.items import write_packed

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
