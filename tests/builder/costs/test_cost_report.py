"""The report on measured costs."""

from pathlib import Path

import numpy as np
import pytest

from polydom_builder.__main__ import main
from polydom_builder.costs.report import as_report, plot_costs, report_costs
from polydom_runtime.measuring.costs_file import SamplesHeader
from polydom_runtime.measuring.journal import FileJournal
from tests.builder.costs.test_target import samples


def test_report_has_a_row_for_each_unit_and_keeps_its_promise() -> None:
    rows = report_costs(samples(), 0.99)
    text = as_report(samples(), rows, 0.99)

    assert [row.unit for row in rows] == list(samples().units)
    assert all(row.exceeded <= 0.02 for row in rows)
    assert all(0.05 < row.typical_error < 0.15 for row in rows)
    assert all(row.unit in text for row in rows)
    assert "a board: 12 sizes from 8 to 2000, 100 rounds; enough" in text


def test_each_unit_gets_a_picture(tmp_path: Path) -> None:
    rows = report_costs(samples(), 0.99)[-2:]
    plot_costs(samples(), rows, 0.99, tmp_path / "pictures")

    assert sorted(f.name for f in (tmp_path / "pictures").iterdir()) == ["dispatch.png", "noise.png"]


def test_command_reports_on_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    s = samples()
    journal = FileJournal(tmp_path / "board.costs")
    cells = s.seconds.reshape(-1, s.n_rounds)
    columns = [cells, np.full(cells.shape, np.nan), list(s.kernels.values())]
    journal.begin(SamplesHeader(s.units, tuple(s.sizes), (1,) * len(cells), tuple(s.kernels), s.fingerprint, s.machine))
    journal.append(np.concatenate(columns).T, [])
    journal.finish({}, "enough")

    assert main(["costs", str(tmp_path / "board.costs")]) == 0
    assert "worst case: quantile 0.999" in capsys.readouterr().out
