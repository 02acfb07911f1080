"""The page about boards shows the reports that are there, and says so if there is none."""

from dataclasses import replace
from pathlib import Path

from docs.extensions.boards import FOLDER, NONE, PLACE, filled
from polydom_runtime.boards.report import BoardReport
from tests.runtime.boards.reports import COOL, a_report

PAGE = Path(__file__).parents[2] / "docs" / "boards.md"


def test_every_report_of_the_repository_can_be_read_and_has_its_place() -> None:
    titles = [f"### {BoardReport.read(file).facts.device}" for file in FOLDER.glob("*.json")]
    page = filled(PAGE.read_text())

    assert PLACE not in page
    assert (NONE in page) == (not titles)
    assert all(title in page for title in titles)


def test_a_report_is_shown_with_what_is_against_it(tmp_path: Path) -> None:
    a_report(note="# no | heading\n<b>").write(tmp_path / "a.board.json")
    a_report(before=replace(COOL, throttled=1)).write(tmp_path / "b.board.json")

    page = filled(f"Above\n{PLACE}\nBelow", tmp_path)

    fit, unfit = page.split("### ")[1:]
    assert "\nFit to be a profile." in fit
    assert r"| note | # no \| heading \<b\> |" in fit
    assert "\nNot fit to be a profile." in unfit
    assert "\n- The board was throttled" in unfit
