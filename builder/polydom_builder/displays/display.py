"""Pictures of an index as `Display` objects, in scikit-learn's way."""

from collections.abc import Sequence
from functools import cached_property
from string import ascii_uppercase
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from polydom_builder.drawing.extra import check_extra
from polydom_builder.drawing.score_names import SINGLE, STRICT
from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index import Candidate

from .index_view import IndexView
from .worth import Worth, worths

N_DRAWN = 40
N_COLUMNS, N_ROWS = 96, 160


class Display:
    """A picture of an index."""

    size: ClassVar[tuple[float, float]] = (8.0, 4.5)
    """Inches."""

    ax_: Any
    figure_: Any

    def __init__(self, view: IndexView) -> None:
        self.view = view

    @classmethod
    def from_search(cls, search: Any, *, ax: Any = None) -> Self:
        """Draw a fitted search into axes, or into a new figure, and return the display."""
        return cls(IndexView.of_search(search)).plot(ax)

    @classmethod
    def from_bundle(cls, bundle: Bundle, *, ax: Any = None) -> Self:
        """Draw a bundle; see `from_search`."""
        return cls(IndexView.of_bundle(bundle)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into the given axes, or into a new figure, and return the display; FitError without matplotlib."""
        check_extra("matplotlib")
        from matplotlib import pyplot

        from polydom_builder.drawing.style import style

        with style():
            if ax is None:
                _, ax = pyplot.subplots(figsize=self.size, layout="constrained")
            self.draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def draw(self, axes: Any) -> None:
        """Draw into axes, inside the style of the project; without a title."""
        raise NotImplementedError


class DeadlineDisplay(Display):
    """The planned score against the deadline: of the index, and of the best single set that fits the largest item."""

    def draw(self, axes: Any) -> None:
        """Draw both lines."""
        from polydom_builder.drawing.curves import Curve, draw_scores

        view, deadlines = self.view, self.view.deadlines(N_DRAWN)
        stairs = [view.index.at_deadline(deadline) for deadline in deadlines]
        strict = [float(np.mean([stair.best(n).accuracy for n in view.sizes])) for stair in stairs]
        single = [best_single(view.candidates, view.size_range[1], deadline).accuracy for deadline in deadlines]
        curves = (Curve(STRICT, deadlines, strict), Curve(SINGLE, deadlines, single))
        draw_scores(axes, curves, view.budgets, view.score)


def best_single(candidates: Any, largest: float, deadline: float) -> Any:
    """Return the candidate of the highest score that fits the largest item, hence every item."""
    fitting = (c for c in candidates if c.mask == 0 or c.cost(largest) <= deadline)
    return max(fitting, key=lambda candidate: candidate.accuracy)


class FeatureDisplay(Display):
    """A bar for each feature and step: the planned score that would be gained if it took half its time."""

    worths_: list[Worth]

    def draw(self, axes: Any) -> None:
        """Draw the bars."""
        from polydom_builder.drawing.bars import draw_bars

        self.worths_ = worths(self.view)
        names, gained = [worth.name for worth in self.worths_], [worth.gained for worth in self.worths_]
        draw_bars(axes, names, gained, "green", "score gained at half its time")


class CostDisplay(Display):
    """The median and the worst case of each feature and step, of items of the median size."""

    def draw(self, axes: Any) -> None:
        """Draw a row for each unit."""
        from polydom_builder.drawing.bars import UnitBar, draw_units

        n = float(np.median(self.view.sizes))
        pairs = zip(self.view.worst.names, self.view.typical.terms, self.view.worst.terms, strict=True)
        draw_units(axes, [UnitBar(name, typical(n), worst(n)) for name, typical, worst in pairs])


class Place(NamedTuple):
    """Where a candidate answers."""

    name: str
    """A letter, or two; A is that of the largest region."""
    candidate: Candidate
    low: Floats
    high: Floats
    """`low`, `high`: shape (n_columns,). The sizes between which it answers in each column; NaN where it does not."""
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
