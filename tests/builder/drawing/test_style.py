"""Pictures look the same everywhere, on light and dark pages, and their axes always have ticks."""

from pathlib import Path

import html5lib
import numpy as np
import pytest
from matplotlib.figure import Figure

from polydom_builder.drawing.labels import label_lines, spread
from polydom_builder.drawing.saving import inline_svg, save
from polydom_builder.drawing.style import DARK, LIGHT, LOOKS, headline, panel, style
from polydom_builder.drawing.ticks import RoundNumbers, linear_axis, log_axis, percent_axis

HOSTILE = "<script>alert(1)</script> & $x^2$ \N{RIGHT-TO-LEFT OVERRIDE}"


def draw() -> Figure:
    figure, axes = panel()
    for look, name in zip(LOOKS, (HOSTILE, "strict"), strict=False):
        axes.plot([1e-3, 2e-3, 4e-3], [0.7, 0.8, 0.9], **look.line, label=name)
    log_axis(axes.xaxis, "s", "deadline")
    percent_axis(axes.yaxis, "score")
    headline(axes, "More time, better answers", "points: measured")
    label_lines(axes)
    return figure


def test_a_picture_is_written_for_light_and_dark_pages(tmp_path: Path) -> None:
    files = save(draw, tmp_path / "picture")

    assert [file.name for file in files] == [
        *("picture.png", "picture.svg"),
        *("picture-dark.png", "picture-dark.svg"),
    ]
    light, dark = (tmp_path / name for name in ("picture.svg", "picture-dark.svg"))
    assert LIGHT["blue"] in light.read_text()
    assert DARK["blue"] not in light.read_text()
    assert DARK["blue"] in dark.read_text()
    assert LIGHT["blue"] not in dark.read_text()


def test_the_same_picture_gives_the_same_bytes(tmp_path: Path) -> None:
    first = [file.read_bytes() for file in save(draw, tmp_path / "picture")]
    second = [file.read_bytes() for file in save(draw, tmp_path / "other")]

    assert first == second
    assert b"<dc:date>" not in first[1]


def test_a_picture_in_a_page_takes_its_colours_and_has_no_text_that_is_markup() -> None:
    svg = inline_svg(draw, "scores", 'score "against" deadline')

    html5lib.HTMLParser(strict=True).parse(f"<!DOCTYPE html><title>t</title>{svg}")
    assert "var(--blue)" in svg
    assert "#0072b2" not in svg
    assert "<script" not in svg
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; $x^2$" in svg
    assert "<style" not in svg


def test_two_pictures_in_a_page_share_no_identifier() -> None:
    pages = [html5lib.parse(inline_svg(draw, name, "")) for name in ("one", "two")]
    own = [{e.get("id") for e in page.iter() if e.get("id")} for page in pages]

    assert own[0]
    assert not own[0] & own[1]
    for page, known in zip(pages, own, strict=True):
        used = [e.get("{http://www.w3.org/1999/xlink}href") or e.get("href") for e in page.iter()]
        used += [e.get("clip-path", "")[4:-1] for e in page.iter()]
        assert {u for u in used if u} <= {f"#{name}" for name in known}


@pytest.mark.parametrize(("low", "high"), [(4e-4, 4e-3), (1e-3, 1.2e-3), (12.0, 192.0), (1.0, 1e9), (3e-6, 2e-2)])
def test_a_logarithmic_axis_has_some_ticks_of_round_numbers(low: float, high: float) -> None:
    ticks = RoundNumbers().tick_values(low, high)

    assert 3 <= len(ticks) <= 8
    assert all(low <= tick <= high for tick in ticks)


def test_a_panel_with_one_value_leaves_a_shared_axis_room_for_the_others() -> None:
    with style():
        panels = Figure().subplots(2, sharey=True)
        for axes, values in zip(panels, ([3.0, 3.0], [1.0, 900.0]), strict=True):
            axes.plot([0.0, 1.0], values)
        for axes in panels:
            log_axis(axes.yaxis)

    low, high = panels[0].get_ylim()
    assert low < 1.0 < 900.0 < high


def test_ticks_have_units() -> None:
    with style():
        figure, axes = panel()
        axes.plot([1e-3, 5e-3], [0.5, 0.75])
        linear_axis(axes.xaxis, "s")
        percent_axis(axes.yaxis)
        figure.draw_without_rendering()

    assert "2 ms" in [text.get_text() for text in axes.get_xticklabels()]
    assert "60 %" in [text.get_text() for text in axes.get_yticklabels()]


def test_labels_do_not_overlap_and_stay_inside() -> None:
    with style():
        _figure, axes = panel()
        for k in range(7):
            axes.plot([0.0, 1.0], [0.0, 1.0 + 1e-3 * k], label=f"line {k}")
        label_lines(axes)
    heights = sorted(text.get_position()[1] for text in axes.texts)

    assert len(heights) == 7
    assert np.diff(heights).min() > 0.06
    assert heights[0] >= 0.0
    assert heights[-1] <= 1.0


def test_a_long_leader_of_a_label_does_not_look_like_a_line() -> None:
    with style():
        _figure, axes = panel()
        axes.plot([0.0, 1.0], [0.0, 1.0], label="whole")
        axes.plot([0.0, 0.3], [0.0, 0.2], label="ends early")
        label_lines(axes)

    leaders = [line for line in axes.get_lines() if line.get_label() == "_leader"]
    assert [line.get_linestyle() for line in leaders] == ["-", "--"]


def test_labels_with_room_stay_at_their_lines() -> None:
    assert spread([0.9, 0.1, 0.5], 0.1) == [0.9, 0.1, 0.5]


def test_looks_differ_in_grey() -> None:
    assert len({(look.dashes, look.marker) for look in LOOKS}) == len(LOOKS)
