"""The answer without features, where the user chooses it."""

import math
from contextlib import suppress
from typing import Any

from polydom_builder.exceptions import TrainingError
from polydom_runtime.causes import shown
from polydom_runtime.codec.near_names import one_of

from .labels import Targets, plain

BEST, ABSTAIN = "label", "abstain"


def chosen_prior(given: Any, targets: Targets) -> int | float | None:
    """Return the number of the answer without features: a class, the number after all to abstain; None for the best.

    For a regression it is the number itself.
    """
    wanted, classes = plain(given), targets.classes.tolist()
    if type(wanted) is str and wanted == BEST:
        return None
    if not classes:
        with suppress(TypeError, ValueError):
            if math.isfinite(number := float(wanted)):
                return number
        raise TrainingError(f"The prior must be {BEST} or a finite number for a regressor. Got {shown(given)}.")
    if type(wanted) is str and wanted == ABSTAIN:
        return len(classes)
    if type(wanted) is not type(classes[0]) or wanted not in classes:
        raise TrainingError(one_of("The prior", [BEST, ABSTAIN, *classes], given))
    return int(classes.index(wanted))
