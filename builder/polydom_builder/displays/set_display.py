"""Which set answers at which size and deadline."""

from collections.abc import Sequence
from functools import cached_property
from string import ascii_uppercase
from typing import Any, NamedTuple

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.index import Candidate

from .display import Display
from .index_view import IndexView

N_COLUMNS, N_ROWS = 96, 160


class Place(NamedTuple):
    """Where a candidate answers."""

    name: str
    """A letter, or two; A is that of the largest region."""
    candidate: Candidate
    low: Floats
    high: Floats
    """Shape (n_columns,). The sizes between which it answers in each column of the map; NaN where it does not."""
    area: float
    """Its share of the map."""


class SetDisplay(Display):
    """A map of size against deadline, with the set that answers there by worst cases: the darker, the better."""

    size = (8.0, 5.0)

    @cached_property
    def places(self) -> list[Place]:
        """Where each set answers, the largest region first."""
        return places(self.view, *self._edges)

    @cached_property
    def _edges(self) -> tuple[Floats, Floats]:
        return _edges(self.view.deadlines(2), N_COLUMNS), _edges(self.view.size_range, N_ROWS)

    def draw(self, axes: Any) -> None:
        """Draw the map."""
        from polydom_builder.drawing.set_map import Region, draw_map

        columns, rows = self._edges
        rising = sorted(self.places, key=lambda place: place.candidate.accuracy)
        regions = [Region(place.name, place.low, place.high, place.area) for place in rising]
        draw_map(axes, columns, (float(rows[0]), float(rows[-1])), regions)


def _edges(ends: Sequence[float], count: int) -> Floats:
    """Return the ends of columns or rows, evenly on the log scale; of a single value, one around it."""
    low, high = max(ends[0], 1e-9), ends[-1]
    return np.geomspace(low, high, count + 1) if low < high else np.array([0.8 * low, 1.25 * low])


def places(view: IndexView, columns: Floats, edges: Floats) -> list[Place]:
    """Return where each candidate answers, the largest region first; O(columns · rows · log candidates).

    `columns`, `edges`: the deadlines and the sizes between which the columns and the rows of the map lie.
    """
    middles = np.sqrt(edges[:-1] * edges[1:]).tolist()
    stairs = [view.index.at_deadline(deadline) for deadline in np.sqrt(columns[:-1] * columns[1:]).tolist()]
    answers = [[stair.best(n) for n in middles] for stair in stairs]
    known = list(dict.fromkeys(candidate for row in answers for candidate in row))
    numbers = {candidate: k for k, candidate in enumerate(known)}
    cells = np.array([[numbers[candidate] for candidate in row] for row in answers])
    areas = np.bincount(cells.ravel(), minlength=len(known)) / cells.size
    found = []
    for rank, k in enumerate(np.argsort(-areas, kind="stable").tolist()):
        here, there = cells == k, (cells == k).any(axis=1)
        first, last = here.argmax(axis=1), here.shape[1] - here[:, ::-1].argmax(axis=1)
        low, high = (np.where(there, edges[ends], np.nan) for ends in (first, last))
        found.append(Place(letters(rank), known[k], low, high, float(areas[k])))
    return found


def letters(rank: int) -> str:
    """Return a short name.

    >>> letters(0), letters(25), letters(26)
    ('A', 'Z', 'AA')
    """
    rest, last = divmod(rank, 26)
    return (letters(rest - 1) if rest else "") + ascii_uppercase[last]
