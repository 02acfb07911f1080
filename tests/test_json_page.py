"""The page on JSON: each command line on it runs, and prints JSON of the shape that the page shows."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from polydom_builder.__main__ import COMMANDS as OF_HOST
from polydom_builder.__main__ import main
from polydom_runtime import __version__
from polydom_runtime.__main__ import COMMANDS as OF_NODE
from polydom_runtime.__main__ import main as node_main
from polydom_runtime.commands.outcome import FORMAT, ExitCode
from polydom_runtime.items.packing import write_packed
from tests.builder import task
from tests.builder.board import write_costs

PAGE = Path(__file__).parents[1] / "docs" / "json.md"
EXAMPLES = re.findall(r"```sh\n(polydom.*?)\n```\n+```json\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)

NAMED_BY_DATA = {"sets", "reasons", "features", "engines", "steps", "staircases", "misses", "machine", "dropped"}
"""Fields whose names depend on the data or the machine."""


def scene(folder: Path) -> None:
    """Write the files that the command lines of the page name and do not make."""
    (folder / "tones.py").write_text("from tests.builder.task import space\n\n__all__ = ['space']\n")
    write_packed(folder / "train.npz", *task.items(150))
    write_packed(folder / "test.npz", *task.items(60, seed=1))
    write_costs(folder / "pi.costs")


def run_line(line: str) -> int:
    program, *words = shlex.split(line)
    return (node_main if program == "polydom-node" else main)(words)


def same_shape(shown: Any, found: Any, where: str) -> None:
    """Assert that everything that the page shows is there, of the same type; null stands for no number."""
    if isinstance(shown, dict):
        assert isinstance(found, dict), where
        for name, value in shown.items():
            if name in found:
                same_shape(value, found[name], f"{where}.{name}")
            else:
                assert where.rpartition(".")[2] in NAMED_BY_DATA, f"{where}.{name}"
    elif isinstance(shown, list):
        assert isinstance(found, list), where
        for one in found[:1] if shown else ():
            same_shape(shown[0], one, where)
    elif shown is not None and found is not None:
        kinds = [float if type(value) is int else type(value) for value in (shown, found)]
        assert kinds[0] is kinds[1], where


def test_page_shows_every_command_but_the_demo() -> None:
    lines = {" ".join(line.split()[:2]) for line, _ in EXAMPLES}

    assert lines == {f"polydom {name}" for name in OF_HOST if name != "demo"} | {f"polydom-node {n}" for n in OF_NODE}


def test_page_states_every_exit_code() -> None:
    stated = re.findall(r"^\| (\d+)", PAGE.read_text(), flags=re.MULTILINE)

    assert [int(code) for code in stated] == [int(code) for code in ExitCode]


@pytest.mark.end_to_end
def test_command_lines_of_the_page_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scene(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for line, shown in EXAMPLES:
        code = run_line(line)
        printed, said = capsys.readouterr()
        document, expected = json.loads(printed), json.loads(shown)

        assert code == document["exit_code"], said
        assert (document["version"], document["format"]) == (__version__, FORMAT)
        assert document["command"] == " ".join(line.split()[:2])
        same_shape(expected, document, line)
        if "result" in expected:
            assert set(document["result"]) == set(expected["result"]), line
            assert code in (ExitCode.DONE, ExitCode.WRONG, ExitCode.OPEN)
