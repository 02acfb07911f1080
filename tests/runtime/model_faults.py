"""The space of `supervised_space`, and a model that does what the item says in every process that is told to have it.

A process has it if `SWITCH` is set in its environment when it imports this module. A test sets it later, so only the
processes that it starts have it.
"""

import os
from collections.abc import Callable
from typing import Any

from polydom_runtime.bundles.engines import load_model
from polydom_runtime.policy import loaded_models

from .supervised_space import FAULTS, space

__all__ = ["SWITCH", "of_model", "space", "switch"]

SWITCH = "MODEL_FAULTS"
"""The fault of the model when it is loaded, and on numbers beyond `EXTREME`; 0 for none."""

EXTREME = 1e20

WIDTH, FIRST_OF_ITEM = 6, 3
"""The model with this many columns has the faults. This column is the first number of the item."""

OF_MODELS = 100


def of_model(fault: int) -> float:
    """Return the first number of an item on which the model has a fault."""
    return float(OF_MODELS + fault)


def have(fault: int) -> None:
    """Have a fault, if it is one."""
    FAULTS.get(fault, lambda: None)()


def switch(at_load: int = 0, at_extremes: int = 0) -> tuple[str, str]:
    """Return the variable of the environment that gives a process the model with these faults, and its value."""
    return SWITCH, f"{at_load} {at_extremes}"


def faulty(load_sound: Callable[..., Any]) -> Callable[..., Any]:
    """Return what loads models and puts the faults into one."""
    at_load, at_extremes = map(int, os.environ[SWITCH].split())

    def load(engine: Any, data: bytes, row: Any, width: int, *options: Any) -> Callable[[], int | float]:
        run: Callable[[], int | float] = load_sound(engine, data, row, width, *options)
        if width != WIDTH:
            return run
        have(at_load)

        def run_with_fault() -> int | float:
            first = float(row.values[FIRST_OF_ITEM])
            have(at_extremes if first > EXTREME else int(first) - OF_MODELS)
            return run()

        return run_with_fault

    return load


if SWITCH in os.environ:
    vars(loaded_models)["load_model"] = faulty(load_model)
