"""The five tasks by name."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from polydom_runtime.exceptions import ItemError

from . import bearings, digits, flights, patches, scenes
from .task import Task

Load = Callable[[Path], Task]

LOADERS: dict[str, Load] = {
    "scenes": scenes.load,
    "digits": digits.load,
    "flights": flights.load,
    "bearings": bearings.load,
    "patches": patches.load,
}

QUICK_LOADERS: dict[str, Load] = {
    "scenes": partial(scenes.load, a_class=12),
    "digits": partial(digits.load, takes=6),
    "flights": partial(flights.load, windows=2),
    "bearings": partial(bearings.load, windows=330),
    "patches": partial(patches.load, count=240),
}
"""Loaders of few items, for a run of some minutes that checks that everything works."""


def chosen_loaders(names: Sequence[str], quick: bool) -> list[Load]:
    """Return the loaders of some tasks, or of all if none is named."""
    if unknown := set(names) - LOADERS.keys():
        raise ItemError(f"A task must be one of {', '.join(LOADERS)}. Got {', '.join(sorted(unknown))}.")
    loaders = QUICK_LOADERS if quick else LOADERS
    return [loaders[name] for name in names or loaders]
