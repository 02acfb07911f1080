"""Metric 1: feature sets trained against the number of features."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure

from polydom_builder.drawing.style import headline

from .algorithms.fewest_trainings import fewest_trainings
from .figures import against_features, band, last_median, panels
from .results import Row, column, where
from .synthetic_world import ALPHA, KINDS, SHORT, Scale, worlds
from .systems import AS_PRINTED, BEST_FIRST, EVERY_SET, LAYERED, Search, World, greedy

DEADLINES = (3e3, 1e5)
"""c0, in the unit of the costs: about the cost of a few features at the sizes 22 and 130."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A search and the number of sets that it trains.

    Parameters
    ----------
    name : str
    alpha : float
    count : callable
        Returns the number of sets trained in a world.
    affordable : dict of str to int
        The greatest number of features that takes little time, by kind of world.
    """

    name: str
    alpha: float
    count: Callable[[World], int]
    affordable: dict[str, int]


def _trained(search: Search, alpha: float, world: World) -> int:
    return len(search.expand(world, alpha, 0.0))


def _with_budget(c0: float, world: World) -> int:
    return _trained(BEST_FIRST, ALPHA, world.with_budget(c0))


ALL = {"cf1": 15, "cfinf": 15}
AFFORDABLE = {"cf1": 15, "cfinf": 10}
"""With α = 1 and many features, best first is too slow: it trains thousands of sets and chooses each of them."""

COUNTED = (
    Counted("Naive-Expand-All", 1.0, partial(_trained, EVERY_SET, 1.0), ALL),
    *(Counted("as printed", a, partial(_trained, AS_PRINTED, a), ALL) for a in (1.0, ALPHA)),
    *(Counted("layer by layer", a, partial(_trained, LAYERED, a), ALL) for a in (1.0, ALPHA)),
    Counted("Poly-Dom", 1.0, partial(_trained, BEST_FIRST, 1.0), AFFORDABLE),
    Counted("Poly-Dom", ALPHA, partial(_trained, BEST_FIRST, ALPHA), ALL),
    *(Counted(f"Poly-Dom, c0 = {c0:g}", ALPHA, partial(_with_budget, c0), ALL) for c0 in DEADLINES),
    Counted("Greedy", 0.0, lambda world: len(greedy(world).trained), ALL),
    Counted("Greedy, kept", 0.0, lambda world: len(greedy(world).candidates), ALL),
)
"""The searches that are counted. Greedy has no α."""

BOUNDED_FEATURES = 10
"""The fewest trainings are bounded up to this number of features, as that takes tables of all pairs of sets."""


def measure(scale: Scale) -> list[Row]:
    """Count the sets that each search trains in each world, then bound the fewest that are possible."""
    return [*_counts(scale), *_bounds(scale)]


def _counts(scale: Scale) -> Iterator[Row]:
    for kind, n_features, seed, world in worlds(scale, 15):
        for way in COUNTED:
            if n_features <= way.affordable[kind]:
                here: Row = {"kind": kind, "n_features": n_features, "seed": seed}
                yield here | {"system": way.name, "alpha": way.alpha, "trained": way.count(world)}


def _bounds(scale: Scale) -> Iterator[Row]:
    for kind, n_features, seed, world in worlds(scale, BOUNDED_FEATURES):
        fewest = fewest_trainings(world.scores, world.costs, world.region, alpha=ALPHA)
        here: Row = {"kind": kind, "n_features": n_features, "seed": seed}
        for system, trained in (("at least", fewest.at_least), ("enough", len(fewest.enough))):
            yield here | {"system": f"{system}, omniscient", "alpha": ALPHA, "trained": trained}


LINES = {
    ALPHA: (
        ("Naive-Expand-All", 1.0, "Naive-Expand-All"),
        ("as printed", ALPHA, "as printed"),
        ("layer by layer", ALPHA, "layer by layer"),
        ("Greedy", 0.0, "Greedy"),
        ("Poly-Dom", ALPHA, "Poly-Dom"),
        (f"Poly-Dom, c0 = {DEADLINES[1]:g}", ALPHA, "Poly-Dom, c0 fixed"),
        ("at least, omniscient", ALPHA, "least possible"),
    ),
    1.0: (
        ("Naive-Expand-All", 1.0, "Naive-Expand-All"),
        ("as printed", 1.0, "as printed"),
        ("layer by layer", 1.0, "layer by layer"),
        ("Greedy", 0.0, "Greedy"),
        ("Poly-Dom", 1.0, "Poly-Dom"),
    ),
}
"""For each α the lines that are drawn: system, its α, label."""


def draw(rows: Sequence[Row], alpha: float) -> Figure:
    """Draw medians and quartiles over the seeds for one α, on a log scale."""
    figure, axes = panels(f"Feature sets trained at α = {alpha:g}", len(KINDS))
    for ax, (kind, meaning) in zip(axes, KINDS.items(), strict=True):
        mine = where(rows, kind=kind)
        for system, its_alpha, label in LINES[alpha]:
            band(ax, where(mine, system=system, alpha=its_alpha), "n_features", "trained", label)
        headline(ax, f"{SHORT[kind]}: {_finding(mine, alpha)}", f"{meaning}; medians, bands: quartiles of the worlds")
    against_features(axes, "sets trained")
    return figure


def _finding(rows: Sequence[Row], alpha: float) -> str:
    """Say how many sets Poly-Dom and the printed search train, with the most features that both were counted at."""
    ours = where(rows, system="Poly-Dom", alpha=alpha)
    most = max(column(ours, "n_features"))
    printed = where(rows, system="as printed", alpha=alpha, n_features=most)
    counts = [last_median(mine, "n_features", "trained") for mine in (ours, printed)]
    return f"of {2**most:,.0f} sets, Poly-Dom trains {counts[0]:,.0f}, the printed search {counts[1]:,.0f}"
