"""What all displays have in common."""

from typing import Any, ClassVar, Self

from polydom_builder.drawing.extra import check_extra
from polydom_runtime.bundles.bundle import Bundle

from .index_view import IndexView


class Display:
    """A picture of an index.

    `ax_`: set by `plot`.
    """

    size: ClassVar[tuple[float, float]] = (8.0, 4.5)
    """Inches."""

    ax_: Any
    figure_: Any

    def __init__(self, view: IndexView) -> None:
        self.view = view

    @classmethod
    def from_search(cls, search: Any, *, ax: Any = None) -> Self:
        """Draw a fitted search, and return the display.

        `ax`: a new figure is made if not given.

        Raises `NotFittedError` if the search is not fitted. Raises `FitError` if matplotlib is not installed.
        """
        return cls(IndexView.of_search(search)).plot(ax)

    @classmethod
    def from_bundle(cls, bundle: Bundle, *, ax: Any = None) -> Self:
        """Draw a bundle; see `from_search`."""
        return cls(IndexView.of_bundle(bundle)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into the given axes, or into a new figure, and return the display.

        Raises `FitError` if matplotlib is not installed.
        """
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
