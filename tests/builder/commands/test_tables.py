"""Tables: plain lines in a file, and fitted to a terminal."""

import io
import re

import pytest

from polydom_builder.commands.tables import print_table
from tests.hostile_texts import HOSTILE, controls

COLUMNS, ROWS = ("deadline", "score", "set "), [("2 ms", "0.9", "mean"), ("10 ms", "0.95", "mean+spread")]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_columns_are_aligned_in_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("By deadline", COLUMNS, ROWS)

    assert capsys.readouterr().out.splitlines() == [
        "By deadline",
        "deadline  score  set",
        "    2 ms    0.9  mean",
        "   10 ms   0.95  mean+spread",
        "",
    ]


@pytest.mark.parametrize("width", [30, 80])
def test_table_fits_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_table("By deadline", COLUMNS, [*ROWS, ("1 s", "1", "a" * 40)])

    lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.count("a") for line in lines[1:]) >= 40


def test_texts_that_control_a_terminal_are_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("1 ms", "0.9", HOSTILE), ("1 ms", "0.9", "[red]x[/red]")]
    print_table(HOSTILE, COLUMNS, rows)
    assert controls(capsys.readouterr().out) == []

    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_table(HOSTILE, COLUMNS, rows)
    assert controls(re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())) == []
    assert "[red]x[/red]" in terminal.getvalue()


def test_no_colour_means_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    print_table("By deadline", COLUMNS, ROWS)

    assert "\x1b" not in terminal.getvalue()
