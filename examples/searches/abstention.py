"""Is a wanted accuracy met by the answers that are given? On test items, on a virtual clock."""

import numpy as np

from examples.paper.results import Row, where
from polydom_runtime.exceptions import ConfidenceError
from polydom_runtime.policy.abstention import least_confidence

from .confidence import answers
from .setting import Setting

WANTED = (0.8, 0.9, 0.95)

WORDS = (
    "For a wanted accuracy a bundle finds the confidence below which no answer is given. At how many deadlines it "
    "finds one, the share of the test items that are answered there, the accuracy of these answers, and at how many of "
    "these deadlines it is as wanted, or less by at most two standard errors."
)


def rows(setting: Setting) -> list[Row]:
    """Return a row for each deadline and each wanted accuracy that the bundle has a threshold for."""
    bundle = setting.fitted(answers__confidence=True).export(setting.folder / f"{setting.task.name}-sure.bundle")
    found: list[Row] = []
    for deadline, confidences, right in answers(bundle, setting):
        for wanted in WANTED:
            try:
                threshold = least_confidence(bundle, deadline, None, wanted)
            except ConfidenceError:  # no threshold reaches it
                continue
            given = right[confidences >= threshold]
            found.append(
                {
                    "task": setting.task.name,
                    "deadline": deadline,
                    "wanted": wanted,
                    "threshold": threshold,
                    "answered": len(given) / len(right),
                    "right": float(given.mean()) if len(given) else 1.0,
                    "error": float(np.sqrt(wanted * (1.0 - wanted) / max(len(given), 1))),
                }
            )
    return found


def in_short(rows: list[Row]) -> list[Row]:
    """Return a row for each task and wanted accuracy."""
    found: list[Row] = []
    for task, wanted in dict.fromkeys((row["task"], row["wanted"]) for row in rows):
        mine = where(rows, task=task, wanted=wanted)
        met = [float(row["right"]) >= float(row["wanted"]) - 2.0 * float(row["error"]) for row in mine]
        answered, right = (np.array([float(row[key]) for row in mine]) for key in ("answered", "right"))
        share = float(answered @ right / answered.sum()) if answered.any() else 1.0
        found.append(
            {
                "task": task,
                "wanted": f"{float(wanted):.0%}",
                "deadlines": len(mine),
                "answered": f"{answered.mean():.0%}",
                "right": f"{share:.1%}",
                "met": f"{sum(met)} of {len(met)}",
            }
        )
    return found
