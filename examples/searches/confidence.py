"""Are confidences right? Answers to test items, on a virtual clock."""

from collections.abc import Iterator

import numpy as np

from examples.paper.results import Row, column, where
from polydom_builder.bundling.calibration import calibration_error, equal_parts
from polydom_builder.bundling.risks import risk_points
from polydom_builder.evaluation.labelled import Labelled
from polydom_builder.evaluation.predictions import planned_answers
from polydom_runtime.arrays import Bools, Floats
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.policy.deadline import too_short

from .setting import Setting

N_PARTS, N_LINES = 10, 4

WORDS = (
    "The mean distance between confidence and share of right answers on test items, in points, over all deadlines: for "
    "the probability that the model itself gives, and for the calibrated confidence that the node states. Then the "
    "wrong answers, in percent, at the longest deadline: of all items, and of the surest 80 and 50 %."
)


def rows(setting: Setting) -> list[Row]:
    """Return a row for each test item at each deadline that is not too short."""
    task = setting.task
    search = setting.fitted(answers__confidence=True)
    bundle = search.export(setting.folder / f"{task.name}-sure.bundle")
    found: list[Row] = []
    for deadline, confidences, right in answers(bundle, setting):
        own = search.predict_proba(task.test_items, deadline).max(axis=1)
        for sure, raw, hit in zip(confidences.tolist(), own.tolist(), right.tolist(), strict=True):
            found.append({"task": task.name, "deadline": deadline, "confidence": sure, "own": raw, "right": int(hit)})
    return found


def answers(bundle: Bundle, setting: Setting) -> Iterator[tuple[float, Floats, Bools]]:
    """Yield each deadline that is not too short, with the confidence of each answer and whether it is right."""
    task = setting.task
    test = Labelled.of(bundle.space_of(task.space), task.test_items, task.test_labels)
    for deadline in setting.deadlines:
        if not too_short(bundle.at(deadline), deadline):
            given = planned_answers(bundle, test, deadline, "anytime")
            right = [answer.label == label for answer, label in zip(given, task.test_labels, strict=True)]
            yield deadline, np.array([answer.confidence for answer in given], dtype=float), np.array(right)


def in_short(rows: list[Row]) -> list[Row]:
    """Return a row for each task."""
    found: list[Row] = []
    for name in dict.fromkeys(row["task"] for row in rows):
        mine = where(rows, task=name)
        right = np.array(column(mine, "right")) > 0.0
        ones = np.ones(len(mine))
        own, calibrated = (calibration_error(np.array(column(mine, key)), right, ones) for key in ("own", "confidence"))
        *_, curve = risks(mine).values()
        wrong = {share: min(curve, key=lambda point: abs(point[0] - share))[1] for share in (1.0, 0.8, 0.5)}
        found.append(
            {
                "task": name,
                "error of the model": f"{100.0 * own:.1f}",
                "of the confidence": f"{100.0 * calibrated:.1f}",
                **{f"wrong of {share:.0%}": f"{100.0 * risk:.1f}" for share, risk in wrong.items()},
            }
        )
    return found


def reliability(rows: list[Row]) -> list[tuple[float, float, float]]:
    """Return (confidence, share of right answers, share of the answers) for ten parts of the answers, by confidence."""
    sure, right = np.array(column(rows, "confidence")), np.array(column(rows, "right"))
    parts = equal_parts(sure, np.ones(len(sure)), N_PARTS)
    mass = np.bincount(parts)
    points = np.bincount(parts, sure) / mass, np.bincount(parts, right) / mass, mass / mass.sum()
    return [(float(x), float(y), float(share)) for x, y, share in zip(*points, strict=True)]


def risks(rows: list[Row]) -> dict[float, list[tuple[float, float]]]:
    """Return (coverage, risk) at some deadlines, the longest among them."""
    deadlines = sorted({float(row["deadline"]) for row in rows})
    found = {}
    for deadline in deadlines[:: -max(len(deadlines) // N_LINES, 1)][::-1]:
        mine = where(rows, deadline=deadline)
        sure, right = np.array(column(mine, "confidence")), np.array(column(mine, "right")) > 0.0
        points = risk_points(sure, right, np.ones(len(sure)))
        found[deadline] = [(point.coverage, point.risk) for point in points]
    return found
