"""Flowcharts in Mermaid, which GitHub draws. The site draws them as SVG: Mermaid's script comes from elsewhere."""

import math
from collections.abc import Iterator
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .layered import Link, Size, Spot, lay_out
from .mermaid import Arrow, Chart, read

FONT, LINE, PAD = 13.0, 17.0, 9.0
"""Pixels: the size of letters, from line to line, and around the text of a box."""

MARGIN, TITLE = 14.0, 22.0
"""Pixels around a group and around the picture; of the title of a group."""

HEAD = 8.0
BOLD = ' font-weight="600"'
LINES = {"-": 'stroke-width="1.3"', "=": 'stroke-width="3.2"', ".": 'stroke-width="1.3" stroke-dasharray="2 4"'}
"""How arrows are drawn, by their `Arrow.line`."""


def draw(text: str) -> str:
    """Return the chart of a text as SVG in the colour of the words around it, and in words for who cannot see it."""
    chart = read(text)
    sizes = {name: _size(lines, 2 * PAD) for name, lines in chart.lines.items()}
    links = [Link(a.tail, a.head, a.rows, _size(a.label, 4.0) if a.label else None) for a in chart.arrows]
    layout = lay_out(sizes, links)
    boxes = layout.boxes
    parts = [_group(title, [(boxes[n], sizes[n]) for n in names]) for title, names in chart.groups.items()]
    parts += map(_arrow, chart.arrows, layout.pieces, layout.labels)
    parts += [_box(name, chart, boxes[name], sizes[name]) for name in boxes]
    top = -MARGIN - (TITLE if chart.groups else 0.0)
    width, height = layout.size[0] + 2 * MARGIN, layout.size[1] + MARGIN - top
    names = [lines[0] for lines in chart.lines.values()]
    words = "".join(f"<li>{escape(sentence)}</li>" for sentence in _in_words(chart))
    return (
        f'<div class="flowchart" tabindex="0"><svg role="img" width="{width:.0f}" height="{height:.0f}" '
        f'style="min-width: {0.8 * width:.0f}px" viewBox="{-MARGIN} {top} {width:.0f} {height:.0f}" '
        f'font-size="{FONT:g}" text-anchor="middle" stroke="currentColor" fill="none">'
        f"<title>Flowchart from {escape(names[0])} to {escape(names[-1])}</title>"
        f"<desc>Its {len(names)} boxes and {len(chart.arrows)} arrows follow as a list.</desc>"
        f'{"".join(parts)}</svg></div>\n<ul class="in-words">{words}</ul>'
    )


def _in_words(chart: Chart) -> Iterator[str]:
    for title, names in chart.groups.items():
        yield f"{title}: {', '.join(' '.join(chart.lines[name]) for name in names)}"
    for arrow in chart.arrows:
        sign = "↔" if arrow.has_two_heads else "→"
        about = f" ({' '.join(arrow.label)})" if arrow.label else ""
        yield f"{' '.join(chart.lines[arrow.tail])} {sign} {' '.join(chart.lines[arrow.head])}{about}"


def _size(lines: tuple[str, ...], pad: float) -> Size:
    """Return the room that a text needs: letters of most fonts are narrower."""
    return 0.59 * FONT * max(map(len, lines)) + pad, LINE * len(lines) + pad


def _edges(at: Spot, size: Size) -> tuple[float, float, float, float]:
    """Return the left, top, right and bottom of a box."""
    return at[0] - size[0] / 2, at[1] - size[1] / 2, at[0] + size[0] / 2, at[1] + size[1] / 2


def _text(lines: tuple[str, ...], at: Spot, first: str = "") -> str:
    x, y = at[0], at[1] - LINE * (len(lines) - 1) / 2 + 0.36 * FONT
    spans = (
        f'<tspan x="{x:.1f}" y="{y + i * LINE:.1f}"{first if i == 0 else ""}>{escape(line)}</tspan>'
        for i, line in enumerate(lines)
    )
    return f'<text stroke="none" fill="currentColor">{"".join(spans)}</text>'


def _box(name: str, chart: Chart, at: Spot, size: Size) -> str:
    left, top, right, bottom = _edges(at, size)
    kind = chart.kinds[name]
    sides = f'<path d="M{left + 5:.1f} {top:.1f}V{bottom:.1f}M{right - 5:.1f} {top:.1f}V{bottom:.1f}"/>'
    return (
        f'<g data-box="{name}"><rect x="{left:.1f}" y="{top:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" '
        f'rx="{14 if kind == "[(" else 4}" fill="currentColor" fill-opacity="0.07" stroke-opacity="0.6"/>'
        f"{sides if kind == '[[' else ''}{_text(chart.lines[name], at, BOLD)}</g>"
    )


def _arrow(arrow: Arrow, pieces: list[tuple[Spot, Spot]], label: Spot | None) -> str:
    start, end = pieces[0][0], pieces[-1][1]
    down = math.copysign(HEAD, end[1] - start[1])
    tips = {end: -down} | ({start: down} if arrow.has_two_heads else {})  # and how far from them the line is
    curves = "".join(_curve(*((x, y + tips.get((x, y), 0.0)) for x, y in piece)) for piece in pieces)
    heads = "".join(f"M{x:.1f} {y:.1f}l{-HEAD / 2} {back}h{HEAD}z" for (x, y), back in tips.items())
    return (
        f'<g data-arrow="{arrow.tail} {arrow.head}"><path {LINES[arrow.line]} d="{curves}"/>'
        f'<path stroke="none" fill="currentColor" d="{heads}"/>{_text(arrow.label, label) if label else ""}</g>'
    )


def _curve(a: Spot, b: Spot) -> str:
    """Return a curve that begins and ends upright."""
    middle = (a[1] + b[1]) / 2
    return f"M{a[0]:.1f} {a[1]:.1f}C{a[0]:.1f} {middle:.1f} {b[0]:.1f} {middle:.1f} {b[0]:.1f} {b[1]:.1f}"


def _group(title: str, members: list[tuple[Spot, Size]]) -> str:
    lefts, tops, rights, bottoms = zip(*(_edges(at, size) for at, size in members), strict=True)
    left, top, right, bottom = min(lefts) - 7, min(tops) - TITLE, max(rights) + 7, max(bottoms) + 7
    return (
        f'<g><rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" rx="4" '
        f'stroke-opacity="0.5" stroke-dasharray="5 3"/>{_text((title,), ((left + right) / 2, top + TITLE / 2))}</g>'
    )


class Flowchart(SphinxDirective):
    """A block ``mermaid``: its boxes and arrows, drawn."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture of the block."""
        return [nodes.raw("", draw("\n".join(self.content)), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the block."""
    app.add_directive("mermaid", Flowchart)
    return {"parallel_read_safe": True}
