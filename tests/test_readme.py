"""The code of the README and of the pages is run as it is written, file by file, in a folder of its own.

Only deadlines are a thousand times as long: on a busy machine, costs that are measured exceed those of the pages.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime.items.packing import write_packed
from polydom_runtime.measuring.costs_file import load_costs

ROOT = Path(__file__).parents[1]
SHORT_TIME = r"\b0\.0\d+\b"
WARNINGS = ("-W", "error", "-W", "default:the machine was busy", "-W", "default:Deadlines are in seconds")


def thousandfold(number: re.Match[str]) -> str:
    return f"{1000.0 * float(number[0]):g}"


@pytest.mark.end_to_end
def test_readme_examples_run(tmp_path: Path) -> None:
    blocks = files_of("README.md")
    assert [name for _, name in blocks] == ["tones.py", "build.py", "node.py"]
    assert [len(re.findall(rf"deadline=.?{SHORT_TIME}", code)) for code, _ in blocks] == [0, 1, 1]

    assert run_files(tmp_path, blocks).split()[0] in ("low", "high")


@pytest.mark.end_to_end
def test_code_of_the_page_about_building_runs_with_the_features_of_the_tutorial(tmp_path: Path) -> None:
    features, *_ = files_of("docs/tutorial.md")
    blocks = [features, *files_of("docs/how-to/write.md")]
    assert [name for _, name in blocks] == ["tones.py", "build.py", "node.py"]

    assert run_files(tmp_path, blocks).split()[0] in ("low", "middle", "high")


def files_of(page: str) -> list[tuple[str, str]]:
    """Return code and name of each file that a page shows."""
    return re.findall(r"```python\n(# (\w+\.py)\n.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def run_files(folder: Path, blocks: list[tuple[str, str]]) -> str:
    """Run files one after another, and return what the last one prints."""
    for code, name in blocks:
        (folder / name).write_text(re.sub(SHORT_TIME, thousandfold, code))
        done = subprocess.run(
            [sys.executable, *WARNINGS, name],
            cwd=folder,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.end_to_end
def test_commands_of_the_pages_measure_build_and_run(tmp_path: Path) -> None:
    """The three commands as they are written, with a shorter measurement and this machine as both host and node.

    The deadline of 20 ms is 20 s.
    """
    page = ROOT / "docs" / "how-to" / "measure.md"
    (block,) = re.findall(r"```sh\n(polydom-node measure.*?)```", page.read_text(), flags=re.DOTALL)
    measure, build, run = (shlex.split(line) for line in block.replace(" 20ms ", " 20s ").splitlines())
    assert "20s" in build
    (tmp_path / "surface.py").write_bytes((ROOT / "examples" / "surface" / "surface.py").read_bytes())
    rng = np.random.default_rng(0)
    sides = np.geomspace(12, 64, 120).astype(int)
    patches = [rng.random((n, n), dtype=np.float32) ** (1 + k % 3) for k, n in enumerate(sides)]
    for name in ("train.npz", "test.npz"):
        write_packed(tmp_path / name, patches, [("brick", "grass", "gravel")[k % 3] for k in range(len(patches))])
    node = os.environ.get("POLYDOM_NODE_PYTHON", str(ROOT / ".venv-node" / "bin" / "python"))

    called(tmp_path, node, "polydom_runtime", *measure[1:], "--seconds", "2", "--quantile", "0.9")
    called(tmp_path, sys.executable, "polydom_builder", *build[1:], "--quantile", "0.9", "--alpha", "2")
    last = called(tmp_path, node, "polydom_runtime", *run[1:]).splitlines()[-1]

    device = load_costs(tmp_path / "pi.costs").machine["device"]
    assert json.loads(last)["summary"]["items"] == len(patches)
    assert json.loads(last)["summary"]["costs"].startswith(f"costs measured on {device}")


def called(folder: Path, python: str, module: str, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, "-m", module, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
