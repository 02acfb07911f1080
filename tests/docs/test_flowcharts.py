"""Flowcharts of the pages are drawn whole: the picture has every box and arrow of the source, and nothing overlaps."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import pytest

from docs.extensions.flowchart import draw
from docs.extensions.layered import Link, lay_out

ROOT = Path(__file__).parents[2]
SOURCES = [
    text
    for page in (ROOT / "docs").rglob("*.md")
    for text in re.findall(r"```mermaid\n(.*?)```", page.read_text(), re.S)
]
Frame = tuple[float, float, float, float]
"""Left, top, right and bottom."""

flowcharts = pytest.mark.parametrize("source", SOURCES, ids=range(len(SOURCES)))


def picture(source: str) -> ET.Element:
    svg = re.search(r"<svg.*</svg>", draw(source), re.S)
    assert svg
    return ET.fromstring(svg[0])


def frame(box: ET.Element) -> Frame:
    left, top, width, height = (float(box.find("rect").attrib[name]) for name in ("x", "y", "width", "height"))  # type: ignore[union-attr]
    return left, top, left + width, top + height


def words(part: ET.Element) -> str:
    return "<br>".join(line.text or "" for line in part.iter("tspan"))


def touches(spot: tuple[float, float], at: Frame) -> bool:
    """Return whether a point is on the upper or the lower side of a box."""
    return at[0] <= spot[0] <= at[2] and min(abs(spot[1] - at[1]), abs(spot[1] - at[3])) < 0.11


def test_the_pages_have_flowcharts() -> None:
    assert len(SOURCES) >= 3


@flowcharts
def test_each_box_of_the_source_is_drawn_with_its_text(source: str) -> None:
    named = dict(re.findall(r'^\s*(\w+)\[[\[(]?"(.*)"', source, re.M))
    drawn = {box.attrib["data-box"]: words(box) for box in picture(source).iter("g") if "data-box" in box.attrib}

    assert len(named) > 5
    assert drawn == named


@flowcharts
def test_each_arrow_of_the_source_is_drawn_from_box_to_box_with_its_label(source: str) -> None:
    lines = re.findall(r'^\s*([\w &]+?) (<?)[-=.]+>(?:\|"(.*)"\|)? ([\w &]+)$', source, re.M)
    named = [
        (tail, head, label, 1 + bool(back))
        for tails, back, label, heads in lines
        for tail in tails.split(" & ")
        for head in heads.split(" & ")
    ]
    svg = picture(source)
    frames = {box.attrib["data-box"]: frame(box) for box in svg.iter("g") if "data-box" in box.attrib}
    drawn = []
    for arrow in svg.iter("g"):
        if "data-arrow" in arrow.attrib:
            tail, head = arrow.attrib["data-arrow"].split()
            line, heads = (path.attrib["d"] for path in arrow.iter("path"))
            tips = [(float(x), float(y)) for x, y in re.findall(r"M(\S+) (\S+?)l", heads)]
            starts = [(float(x), float(y)) for x, y in re.findall(r"M(\S+) ([\d.-]+)", line)]
            drawn.append((tail, head, words(arrow), len(tips)))
            assert touches(tips[0], frames[head])
            assert touches(tips[-1] if len(tips) == 2 else starts[0], frames[tail])

    assert len(named) > 5
    assert sorted(drawn) == sorted(named)


@flowcharts
def test_boxes_and_labels_do_not_overlap(source: str) -> None:
    svg = picture(source)
    frames = [frame(box) for box in svg.iter("g") if "data-box" in box.attrib]
    for arrow in svg.iter("g"):
        lines = list(arrow.iter("tspan")) if "data-arrow" in arrow.attrib else []
        for line in lines:
            x, y, half = float(line.attrib["x"]), float(line.attrib["y"]), 3.0 * len(line.text or "")
            frames.append((x - half, y - 9, x + half, y + 3))

    apart = [a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1] for a, b in combinations(frames, 2)]
    assert all(apart)


@flowcharts
def test_everything_is_inside_the_picture(source: str) -> None:
    svg = picture(source)
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    spots = [
        at[i : i + 2] for part in svg.iter("g") if part.find("rect") is not None for at in [frame(part)] for i in (0, 2)
    ]
    spots += [
        tuple(map(float, spot))
        for path in svg.iter("path")
        for spot in re.findall(r"([\d.-]+) ([\d.-]+)", path.attrib["d"])
    ]

    assert [(x, y) for x, y in spots if not (left <= x <= left + width and top <= y <= top + height)] == []


@flowcharts
def test_every_arrow_is_told_in_words(source: str) -> None:
    told = re.findall(r"<li>.*?</li>", draw(source))

    assert len([sentence for sentence in told if re.search("[→↔]", sentence)]) == len(
        list(picture(source).iterfind("g[@data-arrow]"))
    )


def test_a_line_that_is_not_understood_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a box, an arrow or a group"):
        draw('flowchart TB\n    a["A"]\n    style a fill:red')


def test_an_arrow_in_a_cycle_goes_up() -> None:
    size = 80.0, 20.0
    layout = lay_out({"a": size, "b": size}, [Link("a", "b"), Link("b", "a")])
    (start, end), (back_start, back_end) = (pieces[0] for pieces in layout.pieces)

    assert layout.boxes["a"][1] < layout.boxes["b"][1]
    assert start[1] < end[1]
    assert back_start[1] > back_end[1]
    assert start[0] != back_end[0]
