"""The runs on other processors name tests that exist."""

import re
from pathlib import Path

import pytest

from tests.aarch64.run import ROOT
from tests.x86.run import ARITHMETIC, KERNELS

OTHER_RUNS = (ROOT / "tests" / "aarch64" / "run.py", ROOT / "tests" / "armhf" / "run.py")


@pytest.mark.parametrize("path", sorted({*ARITHMETIC, *KERNELS}))
def test_tests_that_depend_on_arithmetic_are_where_the_run_looks(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("run", OTHER_RUNS, ids=lambda run: run.parent.name)
def test_tests_that_a_run_leaves_out_exist(run: Path) -> None:
    named = re.findall(r'"(tests/[\w/]+\.py)::(\w+)', run.read_text())

    assert len(named) > 0
    assert [(file, name) for file, name in named if f"def {name}(" not in (ROOT / file).read_text()] == []
