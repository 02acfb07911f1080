"""Tables: plain lines in a file, and fitted to a terminal."""

import io
import re

import pytest

from polydom_builder.commands.tables import print_table, print_warning
from polydom_runtime.tables import TextTable
from tests.hostile_texts import HOSTILE, controls

COLUMNS, ROWS = ("#deadline", "#score", "set"), [("2 ms", "0.9", "mean"), ("10 ms", "0.95", "mean+spread")]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def shown(self) -> str:
        """Return what was printed, without colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.getvalue())


def terminal_of(width: int, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard output a terminal with colours."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return terminal


def test_columns_are_aligned_in_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(TextTable("By deadline", COLUMNS, ROWS))

    assert capsys.readouterr().out.splitlines() == [
        "By deadline",
        "deadline  score  set",
        "    2 ms    0.9  mean",
        "   10 ms   0.95  mean+spread",
        "",
    ]


@pytest.mark.parametrize("width", [30, 80])
def test_table_fits_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(width, monkeypatch)
    print_table(TextTable("By deadline", COLUMNS, [*ROWS, ("1 s", "1", "a" * 40)]))

    lines = terminal.shown().splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.count("a") for line in lines[1:]) >= 40


@pytest.mark.parametrize("width", [60, 80])
def test_numbers_stay_whole_in_further_tables_with_the_first_column(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = terminal_of(width, monkeypatch)
    rows = [[f"{size} to {10 * size}", *(f"{size + k / 1000:.3f}" for k in range(12))] for size in (1, 30000)]
    print_table(TextTable("By size", ["#size", *(f"#column{k}" for k in range(12))], rows))

    lines = [line.split() for line in terminal.shown().splitlines()]
    for row in rows:
        found = [line[3:] for line in lines if line[:3] == row[0].split()]
        assert len(found) > 1
        assert [number for part in found for number in part] == row[1:]


@pytest.mark.parametrize("width", [60, 80])
def test_text_folds_inside_its_column_and_between_names(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(width, monkeypatch)
    names = [f"feature_{k}_of_the_spectrum" for k in range(9)]
    print_table(TextTable("Sets", ("#score", "set"), [("0.9", "+".join(names)), ("-0.5", "x" * 200)]))

    lines = terminal.shown().splitlines()
    start = lines[1].index("set")
    folded = [(line[:start].strip(), line[start:].strip()) for line in lines[3:] if line]
    last = [score for score, _ in folded].index("-0.5")
    assert {score for score, _ in folded} == {"0.9", "-0.5", ""}
    assert " ".join(text for _, text in folded[:last]) == " + ".join(names)
    assert "".join(text for _, text in folded[last:]) == "x" * 200


def test_texts_that_control_a_terminal_are_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("1 ms", "0.9", HOSTILE), ("1 ms", "0.9", "[red]x[/red]")]
    print_table(TextTable(HOSTILE, COLUMNS, rows))
    assert controls(capsys.readouterr().out) == []

    terminal = terminal_of(80, monkeypatch)
    print_table(TextTable(HOSTILE, COLUMNS, rows))
    assert controls(terminal.shown()) == []
    assert "[red]x[/red]" in terminal.getvalue()


def test_empty_no_colour_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(80, monkeypatch)
    monkeypatch.setenv("NO_COLOR", "")
    print_table(TextTable("By deadline", COLUMNS, ROWS))

    assert "\x1b" in terminal.getvalue()


def test_no_colour_means_the_same_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(80, monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(TextTable("By deadline", COLUMNS, [*ROWS, ("1 s", "1", "a" * 100)]))

    assert "\x1b" not in terminal.getvalue()
    assert "a" * 81 not in terminal.getvalue()


def test_a_warning_begins_with_the_word_and_is_in_colour_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    print_warning("it is \x1b[2J late")
    in_a_file = capsys.readouterr().out
    monkeypatch.setenv("TERM", "xterm")
    terminal = terminal_of(80, monkeypatch)
    print_warning("it is late")

    assert in_a_file == "warning: it is ?[2J late\n"
    assert terminal.getvalue() == "\x1b[1;33mwarning: it is late\x1b[0m\n"
