"""Long names on narrow terminals: no line of a command is too wide, and nothing is lost; a file gets whole lines."""

import io
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from polydom_builder.__main__ import main
from polydom_builder.commands.costs import print_costs
from polydom_builder.costs.cost_report import report_costs
from polydom_runtime import Bundle
from tests.builder.board import samples
from tests.builder.commands.test_tables import Terminal
from tests.bundle_parts import changed, outlook, with_regimes
from tests.runtime.conftest import US, make_bundle, write

LONG = "_of_the_filtered_acceleration_spectrum"
NAMES = ("mean" + LONG, "spread" + LONG, "ends" + LONG)

COMMANDS = (
    "inspect OLD",
    "inspect TASK --models",
    "compare OLD NEW --max-score-loss 0.01",
    "simulate TASK --costs BOARD",
)


def old_bundle() -> Bundle:
    """Return the small bundle with long names of features, and an outlook."""
    rows = (outlook(30 * US, 0.5, 1.0, (), 0.0), outlook(100 * US, 0.75, 0.25, NAMES, 0.004))
    return with_regimes(changed(make_bundle()[0], names=NAMES, outlook=rows), cold=30 * US)


def slower_and_worse(bundle: Bundle) -> Bundle:
    return replace(bundle, models=tuple(m._replace(accuracy=0.65, seconds=9 * US) for m in bundle.models))


def long_costs() -> None:
    """Print the costs of a board with long names of units."""
    made = samples()
    made = replace(made, units=tuple(unit + LONG for unit in made.units))
    print_costs(made, report_costs(made, 0.99), 0.99)


@pytest.fixture(params=[*COMMANDS, "costs"])
def command(request: pytest.FixtureRequest, folder: Path, board_costs: Path, tmp_path: Path) -> Callable[[], object]:
    """What prints something on standard output."""
    if request.param == "costs":
        return long_costs
    old, models = old_bundle(), make_bundle()[1]
    paths = {
        "OLD": write(tmp_path / "old", old, models),
        "NEW": write(tmp_path / "new", slower_and_worse(old), models),
        "TASK": folder,
        "BOARD": board_costs,
    }
    return partial(main, [str(paths.get(word, word)) for word in request.param.split()])


def printed(command: Callable[[], object], out: io.StringIO) -> str:
    with redirect_stdout(out):
        command()
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80])
def test_output_fits_the_terminal_and_nothing_is_lost(
    width: int, command: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")

    plain, fitted = printed(command, io.StringIO()), printed(command, Terminal())

    assert max(map(len, plain.splitlines())) > 80
    assert max(map(len, fitted.splitlines())) <= width
    assert Counter("".join(plain.split())) <= Counter(fitted)


def test_a_file_gets_whole_lines_without_colours(
    command: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    narrow = printed(command, io.StringIO())
    monkeypatch.setenv("COLUMNS", "300")

    assert printed(command, io.StringIO()) == narrow
    assert "\x1b" not in narrow


def test_json_is_the_same_on_every_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    inspect = partial(main, ["inspect", str(write(tmp_path / "old", old_bundle(), make_bundle()[1])), "--json"])

    assert printed(inspect, Terminal()) == printed(inspect, io.StringIO())
