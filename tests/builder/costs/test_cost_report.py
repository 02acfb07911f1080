"""The report on measured costs."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polydom_builder.__main__ import main
from polydom_builder.commands.costs import print_costs
from polydom_builder.costs.cost_fit import fit_cost
from polydom_builder.costs.cost_report import CostRow, plot_costs, report_costs
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.measuring.cost_samples import WAKING, CostSamples, ItemSamples, Pauses
from tests.builder.board import samples


@pytest.fixture(scope="module")
def rows() -> list[CostRow]:
    return report_costs(samples(), 0.99)


def test_report_has_a_row_for_each_unit_and_keeps_its_promise(
    rows: list[CostRow], capsys: pytest.CaptureFixture[str]
) -> None:
    print_costs(samples(), rows, 0.99)
    text = capsys.readouterr().out

    assert [row.unit for row in rows] == [unit for unit in samples().units if unit != WAKING]
    assert all(row.exceeded <= 0.02 for row in rows)
    assert all(0.05 < row.typical_error < 0.15 for row in rows)
    assert all(row.unit in text for row in rows)
    assert "a board: 12 sizes from 8 to 2000, 100 rounds; enough" in text


def with_items() -> CostSamples:
    """Return samples with items: cold adds 30 µs to each unit; every fourth item takes twice as long at the first."""
    made, sizes = samples(), np.random.default_rng(2).permutation(np.geomspace(10, 1900, 80).astype(int)).astype(float)
    typical = np.array([np.interp(sizes, made.sizes, np.median(made.of(unit), axis=1)) for unit in made.units])[
        :, :, None
    ]
    hot = typical * np.random.default_rng(3).uniform(0.9, 1.05, (*typical.shape[:2], 4))
    hot[0, ::4] *= 2.0
    items: dict[Regime, ItemSamples] = {
        "hot": ItemSamples(sizes, hot, {}),
        "cold": ItemSamples(sizes[:20], hot[:, :20, :1] + 30e-6, {}, 0.02),
    }
    return replace(made, items=items, pauses=Pauses.of(9.0, lengths := [0.5, 0.5, 2e-3], 9.0, lengths))


@pytest.fixture(scope="module")
def rows_of_items() -> list[CostRow]:
    return report_costs(with_items(), 0.99)


def test_exceedance_is_checked_on_held_out_items(rows: list[CostRow], rows_of_items: list[CostRow]) -> None:
    """A worst case that was fitted at the sizes does not hold for items whose content takes twice as long."""
    made = with_items()
    row = rows_of_items[0]
    typical = [fit_cost(made.sizes, made.of(row.unit), 0.99).worst(n) for n in made.items["hot"].sizes]

    assert (made.items["hot"].seconds[0] > np.array(typical)[:, None]).mean() > 0.15
    assert row.exceeded_by_items <= 0.02
    assert all(math.isnan(row.exceeded_by_items) for row in rows)


def test_exceedance_is_told_where_one_half_of_the_items_says_nothing_of_the_other() -> None:
    made = with_items()
    hot = made.items["hot"]
    seconds = hot.seconds.copy()
    seconds[1] *= 0.1
    seconds[1, np.argsort(hot.sizes, kind="stable")[::2]] *= 100.0
    row = report_costs(replace(made, items={"hot": replace(hot, seconds=seconds)}), 0.99)[1]

    assert row.exceeded_by_items == pytest.approx(0.5)


def test_report_tells_pauses_sleeps_and_spreads(
    rows_of_items: list[CostRow], capsys: pytest.CaptureFixture[str]
) -> None:
    made = with_items()
    print_costs(made, rows_of_items, 0.99)
    text = capsys.readouterr().out

    assert "pauses, which are in no time below: 3 in 9 s of work, the longest 500 ms" in text
    assert "the measurement got 90 % of a processor" in text
    assert "late, if they work until their deadline: 0.01 % at 300 µs, 0.033 % at 1 ms" in text
    assert f"{made.units[0]} 30.0" in re.findall("cold, µs more .*", text)[0]
    assert "after 20 ms asleep" in text
    assert re.search(rf"{made.units[0]}: up to (1\.9|2\.\d) times as long", text)
    assert "likely cause: the content" in text


def test_report_begins_with_the_warning_of_a_busy_machine(
    rows_of_items: list[CostRow], capsys: pytest.CaptureFixture[str]
) -> None:
    print_costs(replace(with_items(), pauses=Pauses.of(1.0, [3.0])), rows_of_items, 0.99)

    assert capsys.readouterr().out.startswith("warning: the machine was busy: the measurement got 25 % of a processor")


def test_report_without_items_has_nothing_of_them(rows: list[CostRow], capsys: pytest.CaptureFixture[str]) -> None:
    print_costs(samples(), rows, 0.99)
    text = capsys.readouterr().out

    assert "asleep" not in text
    assert "pause" not in text


def test_each_unit_gets_a_picture(rows: list[CostRow], tmp_path: Path) -> None:
    plot_costs(samples(), rows[-2:], 0.99, tmp_path / "pictures")

    pages = ("after", "after-dark", "before", "before-dark")
    made = {f.name for f in (tmp_path / "pictures").iterdir()}
    assert made == {f"{page}.{kind}" for page in pages for kind in ("png", "svg")}
    assert all(f.stat().st_size < 150_000 for f in (tmp_path / "pictures").glob("*.svg"))


def test_command_reports_on_a_file(board_costs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["costs", str(board_costs)]) == 0
    assert "worst case: quantile 0.999" in capsys.readouterr().out
