"""The command polydom report."""

import tomllib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import polydom_builder
from polydom_builder.__main__ import main
from polydom_runtime.items.packing import write_packed
from polydom_runtime.records.recorder import FlightRecorder
from tests.builder import task
from tests.runtime.records.test_metrics import ANSWER, Watched, traced

from .pages import checked, text, titles


def test_a_bundle_with_costs_and_items(
    folder: Path, board_costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items, labels = task.items(40, seed=1)
    write_packed(tmp_path / "test.npz", [np.asarray(item) for item in items], labels)
    line = ["report", folder, "--out", tmp_path / "r.html", "--costs", board_costs, "--deadline", "150us", "400us"]
    line += ["--items", tmp_path / "test.npz", "--space", "tests.builder.task:space"]

    assert main(list(map(str, line))) == 0
    root = checked((tmp_path / "r.html").read_text())
    seen = text(root)
    assert "Answers to labelled items" in titles(root)
    assert "Expected scores: what the models that answer scored on held-out items of the build" in seen
    assert "Scores here are of the answers to these items. The expected scores at the top" in seen
    assert "r.html: bundle report" in capsys.readouterr().out


def test_a_flight_and_a_device(tmp_path: Path) -> None:
    with closing(FlightRecorder(tmp_path / "node.flight", Watched(), 4)) as recorder:
        recorder.add(ANSWER, traced(), 0)

    for about, first in ((tmp_path / "node.flight", "What happened"), ("raspberry_pi_5", "Calibration")):
        assert main(["report", str(about), "--out", str(tmp_path / "r.html")]) == 0
        assert titles(checked((tmp_path / "r.html").read_text()))[0] == first


def test_the_distribution_has_the_template() -> None:
    package = Path(polydom_builder.__file__).parent
    project = tomllib.loads((package.parent / "pyproject.toml").read_text())
    shipped = {f for p in project["tool"]["setuptools"]["package-data"]["polydom_builder"] for f in package.glob(p)}

    assert {*package.rglob("*.jinja")}
    assert {*package.rglob("*.jinja")} <= shipped


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("report none --out r.html", "A device must be one of"),
        ("report raspberry_pi_5 --out r.html --costs a.costs", "--costs must come with a bundle folder"),
        ("report raspberry_pi_5 --out r.html --items a.npz", "--items must come with --space"),
        ("report raspberry_pi_5 --out none/r.html", "must be written to a file"),
    ],
)
def test_mistakes_are_one_line_and_no_file(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(line.split()) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()
