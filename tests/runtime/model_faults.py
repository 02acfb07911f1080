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

__all__ = ["SWITCH", "of_model", "space"]

SWITCH = "MODEL_FAULT_AT_LOAD"
"""The fault of the model at its first run, which is a part of its load; 0 for none."""

WIDTH, FIRST_OF_ITEM = 6, 3
"""The model with this many columns has the faults. This column is the first number of the item."""

OF_MODELS = 100


def of_model(fault: int) -> float:
    """Return the first number of an item on which the model has a fault."""
    return float(OF_MODELS + fault)


def faulty(load_sound: Callable[..., Any]) -> Callable[..., Any]:
    """Return what loads models and puts the faults into one."""

    def load(engine: Any, data: bytes, row: Any, width: int, *options: Any) -> Callable[[], int | float]:
        run: Callable[[], int | float] = load_sound(engine, data, row, width, *options)
        if width != WIDTH:
            return run
        FAULTS.get(int(os.environ[SWITCH]), lambda: None)()

        def run_with_fault() -> int | float:
            FAULTS.get(int(row.values[FIRST_OF_ITEM]) - OF_MODELS, lambda: None)()
            return run()

        return run_with_fault

    return load


if SWITCH in os.environ:
    vars(loaded_models)["load_model"] = faulty(load_model)
