"""Recording the ratios of a benchmark run."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from . import ratios
from .__main__ import main
from .side_by_side import report


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be a benchmark that prints two ratios at once."""

    def run() -> None:
        report("a against b", 2e-6, 1e-6, "<= 3")
        report("c against d", 1e-6, 4e-6, "")

    monkeypatch.setitem(sys.modules, "tests.benchmarks.pretended", SimpleNamespace(main=run))
    ratios.taken()


def lines(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_each_ratio_is_a_line_with_its_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pretended", "--record", str(tmp_path / "ratios.jsonl")])

    found = lines(tmp_path / "ratios.jsonl")
    assert [(line["benchmark"], line["what"], line["ratio"], line["target"]) for line in found] == [
        ("pretended", "a against b", 2.0, "<= 3"),
        ("pretended", "c against d", 0.25, ""),
    ]
    assert "a against b" in capsys.readouterr().out


def test_a_line_names_commit_and_machine(tmp_path: Path) -> None:
    main(["pretended", "--record", str(tmp_path / "ratios.jsonl")])

    line, _ = lines(tmp_path / "ratios.jsonl")
    assert line["commit"] == ratios.commit()
    assert isinstance(line["machine"], dict)
    assert line["machine"].keys() >= {"device", "cores", "python", "onnxruntime", "governors", "load"}


def test_a_further_run_appends(tmp_path: Path) -> None:
    for _ in range(2):
        main(["pretended", "--record", str(tmp_path / "ratios.jsonl")])

    assert len(lines(tmp_path / "ratios.jsonl")) == 4


def test_a_run_that_is_not_recorded_leaves_nothing_for_the_next(tmp_path: Path) -> None:
    main(["pretended"])
    main(["pretended", "--record", str(tmp_path / "ratios.jsonl")])

    assert len(lines(tmp_path / "ratios.jsonl")) == 2


def test_the_commit_is_known_in_a_repository_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratios, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert ratios.commit() == "unknown"

    settings = ["user.name=a", "user.email=a@b.example", "commit.gpgsign=false"]
    git = ["git", "-C", str(tmp_path), *(word for setting in settings for word in ("-c", setting))]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "First"], check=True)
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True)
    assert ratios.commit() == head[:12]
