"""The table of silent faults names tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
NAMED = sorted({*re.findall(r"`([\w/]+\.py)::(\w+)`", (TESTS / "silent_faults.md").read_text())})


@cache
def functions_of(file: str) -> set[str]:
    """Return the names of all functions in a file of tests."""
    return {node.name for node in ast.walk(ast.parse((TESTS / file).read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_silent_fault_is_held_by_a_test(file: str, name: str) -> None:
    assert name in functions_of(file)
