"""What a margin rests on, as arrays of the proof file."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_builder.lattice.proof import Grounds
from polydom_runtime.codec.marks import bad
from polydom_runtime.costs import HUGE

GROUNDS: dict[str, tuple[str, tuple[int, ...]]] = {
    "parts": ("<f8", (-1, -1)),
    "shares": ("<f8", (-1,)),
    "margin": ("<f8", (3,)),  # margin, inflation, noise
    "scale": ("<f8", (4,)),
    "shape": ("<f8", (5,)),
    "weighed": ("<i8", (1,)),  # whether all sets were
}
"""Kind and shape of each array; -1 stands for any length."""

MOST_TRAINED = 4096
"""Limit for the number of trained sets: the time of the check grows with its cube."""

SMALLEST = 1e-100
"""Numbers that are divided by must not be smaller, lest a quotient is no number any more."""

RANGES: dict[str, tuple[tuple[float, ...], float]] = {
    "parts": ((-HUGE,), HUGE),
    "shares": ((0.0,), 1.0),
    "margin": ((0.0, 1.0, 0.0), HUGE),
    "scale": ((-HUGE, SMALLEST, -HUGE, SMALLEST), HUGE),
    "shape": ((SMALLEST,) * 5, HUGE),
    "weighed": ((0.0,), 1.0),
}
"""The least value or values of each array, and its largest value."""


def grounds_arrays(grounds: Grounds | None) -> dict[str, NDArray[Any]]:
    """Return the arrays of a proof file, none without grounds."""
    if grounds is None:
        return {}
    values = {
        "parts": grounds.parts,
        "shares": grounds.shares,
        "margin": (grounds.margin, grounds.inflation, grounds.noise),
        "scale": grounds.scale,
        "shape": grounds.shape,
        "weighed": (grounds.all_weighed,),
    }
    return {name: np.asarray(values[name], dtype=kind, order="C") for name, (kind, _) in GROUNDS.items()}


def grounds_from(arrays: Mapping[str, NDArray[Any]]) -> Grounds:
    """Return the grounds that arrays of a proof file hold; `BundleFormatError` if they are not possible."""
    if not 1 <= (n_trained := len(arrays["scores"])) <= MOST_TRAINED:
        raise bad(f"The number of trained sets of a proof must be from 1 to {MOST_TRAINED}", n_trained)
    expected = n_trained, len(arrays["shares"])
    if arrays["parts"].shape != expected:
        raise bad(f"Array 'parts' must be of shape {expected}", arrays["parts"].shape)
    for name, (least, most) in RANGES.items():
        if not ((arrays[name] >= least) & (arrays[name] <= most)).all():
            raise bad(f"Array {name!r} must hold numbers from {least[0]:g} to {most:g}", "others")
    if not abs(total := float(arrays["shares"].sum()) - 1.0) < 1e-6:
        raise bad("The numbers in 'shares' must sum to 1", 1.0 + total)
    margin, inflation, noise = arrays["margin"].tolist()
    ceiling, unit, mean, deviation = arrays["scale"].tolist()
    one, two, three, four, five = arrays["shape"].tolist()
    return Grounds(
        margin=margin,
        parts=arrays["parts"],
        shares=arrays["shares"],
        inflation=inflation,
        noise=noise,
        scale=(ceiling, unit, mean, deviation),
        shape=(one, two, three, four, five),
        all_weighed=bool(arrays["weighed"][0]),
    )
