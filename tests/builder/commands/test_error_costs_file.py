"""Costs of errors on the command line."""

from pathlib import Path

import pytest

from polydom_builder.__main__ import main
from polydom_builder.commands.error_costs_file import read_error_costs
from polydom_builder.exceptions import TrainingError
from polydom_runtime import load_bundle
from polydom_runtime.__main__ import main as node

WHOLE = "true,said,cost\ncalm,loud,1\ncalm,slow,1\nloud,calm,10\nloud,slow,1\nslow,calm,1\nslow,loud,1\n"


def test_labels_are_those_of_the_items(tmp_path: Path) -> None:
    file = tmp_path / "costs.csv"
    file.write_text("true,said,cost\n\n1,0,5\n0,1,0.5\n", encoding="utf-8-sig")

    assert read_error_costs(file, [0, 1]) == {(1, 0): 5.0, (0, 1): 0.5}
    assert read_error_costs(file, ["0", "1"]) == {("1", "0"): 5.0, ("0", "1"): 0.5}


def test_nothing_said_is_no_answer(tmp_path: Path) -> None:
    file = tmp_path / "costs.csv"
    file.write_text("true,said,cost\na,,5\n")

    assert read_error_costs(file, ["a", "b"]) == {("a", None): 5.0}
    assert read_error_costs(file, ["a", ""]) == {("a", ""): 5.0}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "must be a CSV file. .*No such file"),
        (b"\xff\xfe", "must be a CSV file"),
        (b'true,said,cost\n"a', "must be a CSV file"),
        (b"", "first line of .* must be true,said,cost. Got ''"),
        (b"fault,ok,5\n", "first line of .* Got 'fault,ok,5'"),
        (b"true,said,cost\nfault,ok\n", "two labels and a number, .* Got 'fault,ok'"),
        (b"true,said,cost\nfault,ok,5,6\n", "Got 'fault,ok,5,6'"),
        (b"true,said,cost\nfault,ok,dear\n", "Got 'fault,ok,dear'"),
        (b"true,said,cost\nfault,ok,5\nfault,ok,6\n", "each pair of labels once. Got 'fault,ok' twice"),
    ],
)
def test_file_of_another_form_is_refused(content: bytes | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "x.csv").write_bytes(content)

    with pytest.raises(TrainingError, match=said):
        read_error_costs(tmp_path / "x.csv", ["fault", "ok"])


@pytest.mark.parametrize("lattice", ["best-first", "greedy"])
def test_build_states_the_costs_and_both_commands_tell_them(
    lattice: str, board_costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "costs.csv").write_text(WHOLE + "calm,,0.5\nloud,,0.5\nslow,,0.5\n")
    out = str(tmp_path / "x.bundle")
    command = ["build", "tests.builder.task:space", "--items", "tests.builder.task:pairs", "--deadline", "1s"]
    options = ["--costs-of-errors", str(tmp_path / "costs.csv"), "--profile", str(board_costs), "--lattice", lattice]
    assert main([*command, "--out", out, *options, "--cv", "2", "--max-trainings", "6"]) == 0

    assert load_bundle(out).error_costs is not None
    capsys.readouterr()
    assert [main(["inspect", out]), node(["info", out])] == [0, 0]
    told = "score: cost_saved; answers have the least expected cost: to say 'calm' for 'loud' costs 10 times as much as"
    out = capsys.readouterr().out
    assert out.count(told) == out.count("; no answer costs 5 % of the highest cost") == 2


def test_label_that_no_item_has_is_an_error_of_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "costs.csv").write_text(WHOLE.replace("slow", "sloe"))
    command = ["build", "tests.builder.task:space", "--items", "tests.builder.task:pairs", "--deadline", "1s"]

    assert main([*command, "--out", str(tmp_path / "x"), "--costs-of-errors", str(tmp_path / "costs.csv")]) == 2
    assert "of the labels of the items, ['calm', 'loud', 'slow']. Got 'sloe'" in capsys.readouterr().err
