"""How often laws of chance are tried: a few times in `make test`, every time in `make test-all`."""

import os
from typing import TypeVar

T = TypeVar("T")

EVERY = os.environ.get("POLYDOM_DRAWS") == "every"
"""Whether each law is tried as often as is written beside it; `make test-all` asks for that."""


def draws(few: T, every: T) -> T:
    """Return how many draws, seeds or cases are tried: `few`, or `every` one of them in `make test-all`."""
    return every if EVERY else few
