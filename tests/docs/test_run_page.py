"""The code of the page about running, run as it is written."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write
from tests.runtime.node_space import space

ROOT = Path(__file__).parents[2]


def test_code_for_threads_gives_each_its_predictor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "how-to" / "run.md").read_text()
    (code,) = [code for code in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL) if "local()" in code]
    made, models = make_bundle()
    write(tmp_path / "pi.bundle", changed(made, budgets=(1e-3, 1.0)), models)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"space": space}
    exec(code, names)
    together = Barrier(4)

    def answers(_: int) -> list[Any]:
        together.wait(60.0)
        return [names["answer"](np.arange(float(n))) for n in range(1, 100)]

    with ThreadPoolExecutor(4) as pool:
        found = [answer for each in pool.map(answers, range(4)) for answer in each]

    assert {answer.label for answer in found} <= {"no", "yes"}
    assert not any(answer.error for answer in found)
