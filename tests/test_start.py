"""How much of the runtime each kind of start loads: what it does not need is imported where it is used."""

import hashlib
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polydom_runtime.bundles.references import References, stored
from polydom_runtime.device.tiny_models import linear_pipeline
from polydom_runtime.items.packing import write_packed
from tests.runtime.conftest import make_bundle, write

SPACE = "tests.runtime.node_space"

ANSWER = f"""
import numpy
from polydom_runtime import Predictor
from {SPACE} import space
assert Predictor.load("node.bundle", space).predict_one(numpy.arange(9.0)).features
"""
COMMAND = "from polydom_runtime.__main__ import main\nassert main({words!r}) == 0\n"

STARTS = {
    "import": ("import polydom_runtime\n", 2, 250),
    "answer": (ANSWER, 52, 8_740),
    "run": (COMMAND.format(words=["run", "node.bundle", f"{SPACE}:space", "--items", "items.npz"]), 83, 12_000),
    "info": (COMMAND.format(words=["info", "node.bundle"]), 43, 5_550),
}
"""What a fresh process does, and the most modules and lines of ours that it may load."""

COUNT = """
import sys
files = [m.__file__ for name, m in sys.modules.items() if name.partition(".")[0] == "polydom_runtime"]
print(len(files), sum(len(open(file).readlines()) for file in files))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a bundle whose models numpy runs, as it does most, and items for it."""
    bundle, _ = make_bundle()
    widths = [sum(bundle.space.widths[i] for i in model.order) for model in bundle.models]
    data = [linear_pipeline(width, 2, scalers=1) for width in widths]
    models = tuple(
        model._replace(size_bytes=len(d), sha256=hashlib.sha256(d).digest(), engine="numpy")
        for model, d in zip(bundle.models, data, strict=True)
    )
    found = tmp_path_factory.mktemp("start")
    items = [np.arange(9.0), np.arange(12.0)]
    kept = stored(items[0])
    assert kept is not None
    references = References((kept,), ((0.0,) * 6,), (math.inf,) * 6)
    write(found / "node.bundle", replace(bundle, models=models, references=references), data)
    write_packed(found / "items.npz", items)
    return found


@pytest.mark.parametrize("start", STARTS)
def test_a_start_loads_little(start: str, folder: Path) -> None:
    script, most_modules, most_lines = STARTS[start]
    root = str(Path(__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {root!r})\n{script}{COUNT}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    modules, lines = map(int, done.stdout.splitlines()[-1].split())

    assert (modules <= most_modules, lines <= most_lines) == (True, True), f"{modules} modules, {lines} lines"
