"""A layered layout: boxes in rows, arrows from row to row. Two linear programmes find the rows and the places in them.

This is Sugiyama's method. Arrows against the order of the boxes are turned while they are in a cycle. An arrow over
several rows gets a point in each row that it passes; its label is such a point with a width and a height.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from scipy.optimize import linprog

GAP, ROW_GAP, PORT_GAP = 22.0, 34.0, 22.0
"""Pixels between neighbours in a row, between rows, and between the ends of arrows at a box."""

SWEEPS = 24
Size = tuple[float, float]
Spot = tuple[float, float]
"""A point, in pixels from the top left."""

Point = str | tuple[int, int]
"""The name of a box, or the number of an arrow and a row that it passes."""

Step = tuple[Point, Point, int]
"""A piece of an arrow from one row to the next: its ends, and the number of the arrow."""


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow to be laid out: its boxes, the rows that it spans at least, and the size of its label."""

    tail: str
    head: str
    rows: int = 1
    label: Size | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is: centres of the boxes, and for each arrow its pieces from tail to head and its label."""

    size: Size
    boxes: dict[str, Spot]
    pieces: list[list[tuple[Spot, Spot]]]
    labels: list[Spot | None]


def lay_out(sizes: dict[str, Size], links: Sequence[Link]) -> Layout:
    """Return a layout of boxes of these sizes."""
    down = [_turned(link, [*sizes], links) for link in links]
    scale = 2 if any(link.label for link in links) else 1  # labels need rows of their own
    rows = _rows([*sizes], down, scale)
    chains: list[list[Point]] = []
    extents: dict[Point, Size] = dict(sizes.items())
    labelled: list[Point | None] = []
    for i, link in enumerate(down):
        between: list[Point] = [(i, row) for row in range(rows[link.tail] + 1, rows[link.head])]
        extents |= dict.fromkeys(between, (0.0, 0.0))
        labelled.append(None)
        if link.label:  # in a row between those of boxes, in the middle or the next below
            labelled[-1] = at = between[(len(between) // 2 + 1) // 2 * 2]
            extents[at] = link.label
        chains.append([link.tail, *between, link.head])
    steps = [(a, b, i) for i, chain in enumerate(chains) for a, b in pairwise(chain)]
    order = _order(_filled(rows, extents), steps)
    ports = _ports(order, steps, extents)
    xs = _columns(order, steps, ports, extents)
    heights = [max(extents[point][1] for point in row) for row in order]
    tops = [sum(heights[:i]) + i * ROW_GAP / scale for i in range(len(order))]
    halves = {
        point: (extents[point] if isinstance(point, str) or point in labelled else (0.0, heights[i]))[1] / 2
        for i, row in enumerate(order)
        for point in row
    }
    middle = {point: tops[i] + heights[i] / 2 for i, row in enumerate(order) for point in row}

    def pieces(i: int) -> list[tuple[Spot, Spot]]:
        found: list[tuple[Spot, Spot]] = []
        for a, b in pairwise(chains[i]):
            start, end = ports[a, b, i]
            top, bottom = middle[a] + halves[a], middle[b] - halves[b]
            found.append(((xs[a] + start, top), (xs[b] + end, bottom)))
            if b not in labelled and b != down[i].head:  # straight past the boxes of its row
                found.append((found[-1][1], (xs[b], middle[b] + halves[b])))
        return found

    width = max(xs[point] + extents[point][0] / 2 for point in xs)
    return Layout(
        (width, tops[-1] + heights[-1]),
        {name: (xs[name], middle[name]) for name in sizes},
        [pieces(i) if link is down[i] else [(b, a) for a, b in reversed(pieces(i))] for i, link in enumerate(links)],
        [None if point is None else (xs[point], middle[point]) for point in labelled],
    )


def _turned(link: Link, names: list[str], links: Sequence[Link]) -> Link:
    """Return a link the other way round if it is in a cycle and goes against the order of the boxes."""
    reached = {link.head}
    while more := {other.head for other in links if other.tail in reached} - reached:
        reached |= more
    if link.tail in reached and names.index(link.head) < names.index(link.tail):
        return Link(link.head, link.tail, link.rows, link.label)
    return link


def _rows(names: list[str], links: list[Link], scale: int) -> dict[str, int]:
    """Return the rows for which all arrows together are shortest."""
    difference = np.zeros((len(links), len(names)))
    for i, link in enumerate(links):
        difference[i, names.index(link.head)] += 1.0
        difference[i, names.index(link.tail)] -= 1.0
    least = np.array([scale * link.rows for link in links])
    found = linprog(difference.sum(axis=0), -difference, -least, method="highs-ds")
    return {name: round(row) for name, row in zip(names, found.x, strict=True)}


def _filled(rows: Mapping[str, int], extents: Mapping[Point, Size]) -> list[list[Point]]:
    order: list[list[Point]] = [[] for _ in range(max(rows.values()) + 1)]
    for point in extents:
        order[rows[point] if isinstance(point, str) else point[1]].append(point)
    return order


def _order(order: list[list[Point]], steps: list[Step]) -> list[list[Point]]:
    """Return the order in rows with the fewest crossings, of those that sweeps up and down try."""
    best = order
    for sweep in range(SWEEPS):
        order = [row[:] for row in order]
        goes_down = sweep % 2 == 0
        for i in range(1, len(order)) if goes_down else range(len(order) - 2, -1, -1):
            places = {point: k for k, point in enumerate(order[i - 1 if goes_down else i + 1])}
            beside = {point: [k] for k, point in enumerate(order[i])}
            for point in order[i]:
                near = [places[a if goes_down else b] for a, b, _ in steps if (b if goes_down else a) == point]
                beside[point] = near or beside[point]
            order[i].sort(key=lambda point: sum(beside[point]) / len(beside[point]))
        if _crossings(order, steps) < _crossings(best, steps):
            best = order
    return best


def _crossings(order: list[list[Point]], steps: list[Step]) -> int:
    place = {point: (i, k) for i, row in enumerate(order) for k, point in enumerate(row)}
    ends = [(*place[a], place[b][1]) for a, b, _ in steps]
    return sum(r == s and (a - c) * (b - d) < 0 for (r, a, b), (s, c, d) in combinations(ends, 2))


def _ports(order: list[list[Point]], steps: list[Step], extents: Mapping[Point, Size]) -> dict[Step, Spot]:
    """Return how far from the middle of its two points each step begins and ends, so that ends do not meet."""
    place = {point: k for row in order for k, point in enumerate(row)}
    ports = {step: [0.0, 0.0] for step in steps}
    for point, (width, _) in extents.items():
        for end in (0, 1):
            own = sorted(
                (step for step in steps if step[end] == point), key=lambda step: place[step[0] if end else step[1]]
            )
            gap = min(PORT_GAP, 0.8 * width / max(len(own) - 1, 1))
            for k, step in enumerate(own):
                ports[step][end] = (k - (len(own) - 1) / 2) * gap
    return {step: (start, end) for step, (start, end) in ports.items()}


def _columns(
    order: list[list[Point]],
    steps: list[Step],
    ports: Mapping[Step, Spot],
    extents: Mapping[Point, Size],
) -> dict[Point, float]:
    """Return the places for which steps lean least; long arrows count more, and a narrow picture counts too."""
    column = {point: i for i, point in enumerate(extents)}
    n, m = len(extents), len(steps)  # variables: places, leans, the width
    rows: list[tuple[dict[int, float], float]] = []
    for i, step in enumerate(steps):
        (a, b, _), (start, end) = step, ports[step]
        for sign in (1.0, -1.0):
            rows.append(({column[a]: sign, column[b]: -sign, n + i: -1.0}, sign * (end - start)))
    for row in order:
        for left, right in pairwise(row):
            apart = (extents[left][0] + extents[right][0]) / 2 + GAP
            rows.append(({column[left]: 1.0, column[right]: -1.0}, -apart))
        rows.append(({column[row[-1]]: 1.0, n + m: -1.0}, -extents[row[-1]][0] / 2))
    matrix = np.zeros((len(rows), n + m + 1))
    for i, (entries, _) in enumerate(rows):
        for j, value in entries.items():
            matrix[i, j] = value
    costs = [0.0] * n + [4.0 ** sum(not isinstance(point, str) for point in step[:2]) for step in steps] + [20.0]
    least = [extents[point][0] / 2 for point in extents] + [0.0] * (m + 1)
    found = linprog(costs, matrix, [bound for _, bound in rows], bounds=[(low, None) for low in least])
    return {point: float(found.x[i]) for point, i in column.items()}
