"""Every block of the tutorial runs as it stands, and the notebook has the same blocks."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from docs.extensions.notebook import BLOCK, executed, notebook

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "tutorial.md").read_text("utf-8")
UNITS = {"us": "ms", "ms": "s"}
STEPS = ("Features", "Items", "Measure", "Build", "Look", "Run a loop", "Run it as a service", "Update")


def thousandfold(code: str) -> str:
    """Return code for a busy machine, which takes longer: with deadlines a thousand times as long."""
    lengthened = re.sub(r"(?<=\d)(us|ms)(?=[: \n])", lambda unit: UNITS[unit[1]], code)
    lines = "".join(
        long if "--deadline" in old else old
        for old, long in zip(code.splitlines(True), lengthened.splitlines(True), strict=True)
    )
    lines = lines.replace("polydom build", "polydom build --busy")
    return lines.replace("--period 20ms", "--period 600ms --deadline 500ms")  # a deadline is not longer than a period


def test_the_tutorial_has_eight_steps_and_each_block_is_run_or_marked() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    languages = re.findall(r"^```(\w+)$", PAGE, re.MULTILINE)
    consoles = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

    assert [heading.startswith(step) for heading, step in zip(headings, STEPS, strict=False)] == [True] * 8
    assert set(languages) == {"python", "ini", "sh", "console"}
    assert all(line.startswith("$ ") for block in consoles for line in block.splitlines())


def test_the_notebook_has_the_blocks_of_the_page_and_was_run() -> None:
    stored = json.loads((DOCS / "tutorial.ipynb").read_text("utf-8"))
    shown = [("".join(cell["source"]), cell["cell_type"]) for cell in stored["cells"]]

    assert shown == [(cell.source, cell.cell_type) for cell in notebook(PAGE).cells]
    codes = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in codes] == list(range(1, len(codes) + 1))


def not_printed(cells: Iterable[Any]) -> list[str]:
    """Return the words that the page explains of the output of a build, and that the first build did not print."""
    build = next(cell for cell in cells if cell["cell_type"] == "code" and "polydom build" in "".join(cell["source"]))
    printed = "".join("".join(out["text"]) for out in build["outputs"])
    words = re.findall(r"^\| `(.*?)` \|", PAGE, re.MULTILINE)
    assert len(words) > 10
    return [word for word in words if word not in printed]


def test_the_page_explains_what_a_build_prints() -> None:
    assert not_printed(json.loads((DOCS / "tutorial.ipynb").read_text("utf-8"))["cells"]) == []


@pytest.mark.end_to_end
@pytest.mark.filterwarnings("default")  # those of Jupyter; the commands run in processes of their own
def test_the_tutorial_runs_in_an_empty_folder(tmp_path: Path) -> None:
    run = executed(notebook(PAGE), tmp_path, thousandfold)

    outputs = ["".join(out.text for out in cell.outputs) for cell in run.cells if cell.source.startswith("%%bash")]
    assert re.search(r"^(low|middle|high) \(", "".join(outputs), re.MULTILINE)
    assert not_printed(run.cells) == []
    assert re.findall(r"^current .* tones (\d)$", outputs[-1], re.MULTILINE) == ["2", "1"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_finds_no_fault_in_the_unit_of_the_tutorial(tmp_path: Path) -> None:
    (unit,) = (block[2] for block in BLOCK.finditer(PAGE) if block[1] == "ini")
    file = tmp_path / "tones.service"
    file.write_text(unit)

    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
