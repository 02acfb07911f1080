"""Comparison of two bundles or of two costs files: what changed, and whether it is worse than allowed."""

from pathlib import Path
from typing import Literal

from polydom_builder.exceptions import ComparisonError
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.measuring.costs_file import load_costs

from .bundles import compare_bundles
from .comparison import ChangeLimits, Comparison
from .costs import compare_costs

__all__ = ["ChangeLimits", "Comparison", "compare_files"]


def compare_files(before: str, after: str) -> Comparison:
    """Compare two bundle folders, or two costs files.

    Raises `ComparisonError` if they are of two kinds, or have nothing in common. Raises `BundleFormatError`,
    `MeasurementError` if one is not sound.
    """
    kinds = _kind(before), _kind(after)
    if kinds[0] != kinds[1]:
        raise ComparisonError(
            f"Both must be bundle folders, or both costs files. Got {kinds[0]} and {kinds[1]}. Give two of one kind."
        )
    if kinds[0] == "a bundle folder":
        return compare_bundles(load_bundle(before), load_bundle(after))
    return compare_costs(load_costs(before), load_costs(after))


def _kind(path: str) -> Literal["a bundle folder", "a file"]:
    if not Path(path).exists():
        raise ComparisonError(f"{path} must be a bundle folder or a costs file. Nothing is there. Check the path.")
    return "a bundle folder" if Path(path).is_dir() else "a file"
