"""The report on measured costs."""

from pathlib import Path

import pytest

from polydom_builder.__main__ import main
from polydom_builder.costs.report import CostRow, as_report, plot_costs, report_costs
from tests.builder.board import samples


@pytest.fixture(scope="module")
def rows() -> list[CostRow]:
    return report_costs(samples(), 0.99)


def test_report_has_a_row_for_each_unit_and_keeps_its_promise(rows: list[CostRow]) -> None:
    text = as_report(samples(), rows, 0.99)

    assert [row.unit for row in rows] == list(samples().units)
    assert all(row.exceeded <= 0.02 for row in rows)
    assert all(0.05 < row.typical_error < 0.15 for row in rows)
    assert all(row.unit in text for row in rows)
    assert "a board: 12 sizes from 8 to 2000, 100 rounds; enough" in text


def test_each_unit_gets_a_picture(rows: list[CostRow], tmp_path: Path) -> None:
    plot_costs(samples(), rows[-2:], 0.99, tmp_path / "pictures")

    assert sorted(f.name for f in (tmp_path / "pictures").iterdir()) == ["dispatch.png", "noise.png"]


def test_command_reports_on_a_file(board_costs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["costs", str(board_costs)]) == 0
    assert "worst case: quantile 0.999" in capsys.readouterr().out
