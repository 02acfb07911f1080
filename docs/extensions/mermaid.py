"""Flowcharts in the part of Mermaid's language that the pages use."""

import re
from dataclasses import dataclass

BOX = re.compile(r'(\w+)(\[[\[(]?)"(.*)"[\])]{1,2}')
GROUP = re.compile(r'subgraph \w+\["(.*)"\]')
ARROW = re.compile(r'(.+?) (<?)(-+|=+|-\.-)>(?:\|"(.*)"\|)? (.+)')


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from box to box, over rows; its line is thin ``-``, thick ``=`` or dotted ``.``."""

    tail: str
    head: str
    line: str
    rows: int
    label: tuple[str, ...]
    has_two_heads: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """A flowchart: the kind and the lines of each box, the arrows, and groups of boxes by title."""

    kinds: dict[str, str]
    lines: dict[str, tuple[str, ...]]
    arrows: list[Arrow]
    groups: dict[str, list[str]]


def read(text: str) -> Chart:
    """Return the chart of a text in the part of Mermaid's language that the pages use.

    Raises
    ------
    ValueError
        If a line is in another part.
    """
    chart = Chart({}, {}, [], {})
    group: list[str] | None = None
    for line in map(str.strip, text.strip().splitlines()[1:]):
        if match := GROUP.fullmatch(line):
            group = chart.groups.setdefault(match[1], [])
        elif line == "end":
            group = None
        elif match := BOX.fullmatch(line):
            chart.kinds[match[1]], chart.lines[match[1]] = match[2], tuple(match[3].split("<br>"))
            if group is not None:
                group.append(match[1])
        elif match := ARROW.fullmatch(line):
            tails, back, sign, label, heads = match.groups()
            rows = len(sign) - 1 if set(sign) != set("-.") else 1
            words = tuple(label.split("<br>")) if label else ()
            for tail in tails.split(" & "):
                for head in heads.split(" & "):
                    chart.arrows.append(Arrow(tail, head, sign[-2], rows, words, bool(back)))
        else:
            raise ValueError(f"A line of a flowchart must be a box, an arrow or a group. Got {line!r}.")
    return chart
