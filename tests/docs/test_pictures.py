"""The pictures of the documentation show the numbers of its pages, with ticks and names."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from docs.extensions import anytime_pictures, how_it_works, surface_picture
from docs.extensions.surface_picture import DOCS
from examples.deadlines.figure import LINES
from examples.deadlines.figure import draw as draw_deadlines
from polydom_builder.drawing.style import style

GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")
ANYTIME = (DOCS / "anytime.md").read_text(encoding="utf-8")


def texts(figure: Figure) -> list[str]:
    figure.draw_without_rendering()
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_the_surface_picture_has_the_rows_of_the_gallery() -> None:
    rows = surface_picture.rows_of(GALLERY)

    assert [row.deadline for row in rows] == pytest.approx([400e-6, 600e-6, 1e-3, 2e-3, 4e-3])
    assert f"{rows[0].poly_dom:.3f}        {rows[0].single:.3f}        {rows[0].cheap_first:.3f}  " in GALLERY
    low, high = rows[0].interval()
    assert low < rows[0].poly_dom < high


def test_the_surface_picture_says_the_gain_and_names_its_lines() -> None:
    rows = [surface_picture.Row(4e-4, 0.9, 0.84, 0.8, 1500), surface_picture.Row(4e-3, 0.92, 0.92, 0.91, 1500)]
    with style():
        figure = surface_picture.draw(rows)
        names = texts(figure)

    assert set(surface_picture.NAMES) <= {*names}
    assert figure.axes[0].get_title("left") == "At 400 µs, 10 points more than one fixed feature set"


def test_a_page_without_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="Found no row"):
        surface_picture.rows_of("# Gallery\n")
    with pytest.raises(ValueError, match="Found none"):
        anytime_pictures.rows_of("# Always in time\n", "tested", "hot")


@pytest.mark.parametrize(("kind", "regime"), anytime_pictures.PICTURES.values())
def test_each_table_of_scores_is_read_whole(kind: str, regime: str) -> None:
    rows = anytime_pictures.rows_of(ANYTIME, kind, regime)

    assert len(rows) == 5 * len(LINES) * 8
    assert {row["system"] for row in rows} == {*LINES}
    assert all(0.0 <= float(row[kind]) <= 1.0 for row in rows)


def test_each_panel_of_deadlines_has_ticks_and_a_finding() -> None:
    with style():
        figure = draw_deadlines(anytime_pictures.rows_of(ANYTIME, "estimated", "hot"), "estimated")
        names = texts(figure)
        ticks = [np.clip(axes.get_xticks(), *axes.get_xlim()) == axes.get_xticks() for axes in figure.axes[:5]]

    assert {*LINES} <= {*names}
    assert all(3 <= inside.sum() <= 8 for inside in ticks)
    assert figure.axes[0].get_title("left") == "scenes: any-time 2.2 points above strict"


def test_the_staircase_falls_and_has_no_gap() -> None:
    scores = [example.score for example, _, _ in how_it_works.steps()]
    ends = [(low, high) for _, low, high in how_it_works.steps()]

    assert scores == sorted(scores, reverse=True)
    assert [high for _, high in ends[:-1]] == [low for low, _ in ends[1:]]
    assert (ends[0][0], ends[-1][1]) == (np.min(how_it_works.SIZES), np.max(how_it_works.SIZES))
