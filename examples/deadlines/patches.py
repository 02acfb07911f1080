"""The surface that a camera looks at: the surface example, whose photographs come with scikit-image."""

from pathlib import Path

from examples.surface import surface

from .task import Task

PATCHES = 1500
"""Number of patches to build with; the number to test is the same."""

space = surface.space


def load(data: Path | None = None, count: int = PATCHES) -> Task:
    """Return patches from the left halves of the photographs to build with, and as many from the right ones to test."""
    items, labels = surface.patches("train", count)
    test_items, test_labels = surface.patches("test", count)
    return Task("patches", space, list(items), list(labels), None, list(test_items), list(test_labels))
