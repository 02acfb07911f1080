"""An earlier run of the experiment, perhaps by an earlier version: its deadlines, and its bundles to replay."""

from dataclasses import dataclass, replace
from pathlib import Path

from examples.paper.results import Row, column, load_rows, where
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle

ROUNDED = 1e-5
"""The relative error of a number in a file of results is less."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The results of an earlier run, and the folder that may hold its bundles."""

    rows: list[Row]
    folder: Path

    @classmethod
    def read(cls, file: Path) -> "Earlier":
        """Read a ``deadlines.csv``."""
        return cls(load_rows(file), file.parent)

    def deadlines(self, task: str) -> tuple[float, ...]:
        """Return the deadlines of a task in seconds, rising; none if it was not run."""
        return tuple(sorted(set(column(where(self.rows, task=task), "deadline"))))

    def bundle(self, task: str) -> Bundle | None:
        """Return the bundle of Poly-Dom, if it is beside the results, for a range that the rounded deadlines fit."""
        place = self.folder / f"{task}-poly-dom.bundle"
        if not place.is_dir():
            return None
        bundle = load_bundle(place)
        low, high = bundle.promise.budgets
        budgets = low * (1.0 - ROUNDED), high * (1.0 + ROUNDED)
        return replace(bundle, promise=bundle.promise._replace(budgets=budgets))
