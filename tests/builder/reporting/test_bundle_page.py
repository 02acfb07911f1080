"""The page about a bundle: sound for bundles of every kind, and true to the bundle."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_builder import GreedySearch
from polydom_builder.reporting.bundle_page import bundle_page
from polydom_builder.reporting.replayed import replayed
from polydom_builder.simulation.expected import expected
from polydom_builder.simulation.recorded import Recorded
from polydom_builder.simulation.trials import Trials
from polydom_runtime import load_bundle
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.bundle_times import CostOrigin
from polydom_runtime.bundles.confidence import Calibration, Confidence, Risk, RiskPoint
from polydom_runtime.bundles.index_file import load_bundle as load
from polydom_runtime.bundles.model_entry import Estimate
from polydom_runtime.bundles.promise import Identity
from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.tables import TextTable
from tests.builder import task
from tests.builder.board import samples
from tests.builder.searches import LOGISTIC, fit
from tests.builder.shared_memory import shared_memory
from tests.bundle_parts import changed
from tests.hostile_texts import spoilt_bundle
from tests.runtime.conftest import make_bundle

from .pages import checked, text, titles

US = task.US
SECTIONS = [
    "Score against deadline",
    "Which set answers",
    "What each feature is worth",
    "Times",
    "Confidence",
    "Models",
    "Promise, device and origin",
]
HOSTILE = (
    '<script>alert("x")</script>',
    "</svg><b onload=x>&amp;",
    "\N{HEBREW LETTER ALEF}" * 12 + "$x_{2}$" + "n" * 150,
)


def page_of(bundle: Bundle, **others: Any) -> str:
    return bundle_page(bundle, **others).to_html()


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Bundle:
    return load_bundle(folder)


@pytest.fixture(scope="module")
def page(bundle: Bundle) -> str:
    return page_of(bundle)


def test_the_page_has_every_section_and_the_numbers_of_the_bundle(bundle: Bundle, page: str) -> None:
    root = checked(page)
    seen = text(root)

    assert titles(root) == SECTIONS
    assert page.count("<svg ") >= 5
    assert all(name in seen for name in bundle.names)
    assert all(f"{model.accuracy:.3f}" in seen for model in bundle.models)
    assert bundle.sha256 in seen


def test_the_same_bundle_gives_the_same_page(bundle: Bundle, page: str) -> None:
    assert page_of(bundle) == page


def test_scores_are_those_of_the_replays(bundle: Bundle) -> None:
    page = bundle_page(bundle, samples(), quantile=0.99, deadlines=(100 * US, 300 * US))

    within = ["expected accuracy within 100 µs", "expected accuracy within 300 µs"]
    assert [what for _, what in page.figures[1:3]] == within
    assert float(page.figures[1][0]) <= float(page.figures[2][0]) <= max(m.accuracy for m in bundle.models) + 5e-4
    (scores,) = (b for b in page.sections[0].blocks if isinstance(b, TextTable) and b.title == "Expected scores")
    assert [row[1] for row in scores.rows] == [number for number, _ in page.figures[1:3]]


def test_measured_times_are_replayed(bundle: Bundle) -> None:
    page = page_of(bundle, samples=samples(), quantile=0.99, deadlines=(150 * US, 400 * US))
    seen = text(checked(page))

    assert "recorded answers." in seen
    assert "Measured times and their tails" in seen


def kinds() -> dict[str, Bundle]:
    small = make_bundle()[0]
    first = small.models[0]._replace(order=(0,))
    one = changed(small, names=("mean",), widths=(1,), costs=small.times.worst.features[:1], steps=())
    sure = tuple(
        model._replace(
            calibration=Calibration((0.5, 1.0), (0.6, 0.9)),
            estimate=Estimate(model.accuracy, model.accuracy - 0.1, model.accuracy),
        )
        for model in small.models
    )
    risk = Risk("hot", 100 * US, 0.02, (RiskPoint(0.0, 1.0, 0.3), RiskPoint(0.8, 0.5, 0.1)))
    doubts = CostOrigin("a board", True, ("it was hot",))
    return {
        "regressor for any budget": changed(small, classes=(), prior=(1.5, 0.0), budgets=(0.0, math.inf)),
        "one deadline, size and feature": changed(
            one,
            models=(first,),
            shipped=(0,),
            intervals=small.stored.intervals[:1],
            budgets=(150 * US, 150 * US),
            sizes=(10.0, 10.0),
        ),
        "no model": changed(small, models=(), shipped=(), intervals=()),
        "confidences": replace(small, models=sure, confidence=Confidence(0.5, (risk,))),
        "estimated, nothing proven": changed(
            replace(small, models=sure, confidence=Confidence(0.5)), origin=doubts, alpha=math.inf
        ),
    }


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("regressor for any budget", ["regressors have none"]),
        (
            "one deadline, size and feature",
            ["score within 150 µs", "1 feature ", "state no confidence: it was built without"],
        ),
        ("no model", ["0 models"]),
        ("confidences", ["30 % of all answers are wrong, and"]),
        ("estimated, nothing proven", ["The costs are estimated, not measured.", "Confidence"]),
    ],
)
def test_bundles_of_every_kind_get_a_sound_page(kind: str, words: list[str]) -> None:
    root = checked(page_of(kinds()[kind]))

    assert titles(root) == SECTIONS
    assert [part for part in words if part not in text(root)] == []


def test_late_answers_lower_a_replayed_score_and_its_interval_alike() -> None:
    """Each model's interval ends at its score, and is a tenth wide; an answer that is late counts as 0 in all three."""
    bundle = kinds()["confidences"]
    trials = Trials.typical(bundle, np.geomspace(1.0, 1000.0, 40).tolist())
    slow = trials.slowed(np.where(np.arange(40) % 4, 1.0, 1000.0))

    for times, least in ((trials, 0.0), (slow, 0.25)):
        recorded = Recorded(times, np.arange(40), 40)
        (row,), answers = replayed(bundle, recorded, [150 * US]), expected(bundle, recorded, 150 * US).answers
        by_models = sum(answer.deadline_met and bool(answer.features) for answer in answers)
        assert least <= row.outlook.late_alone <= 2.0 * least
        assert by_models > 0
        assert row.interval == pytest.approx((row.outlook.score - 0.1 * by_models / 40, row.outlook.score))


def test_doubts_are_warnings() -> None:
    page = bundle_page(kinds()["estimated, nothing proven"])

    assert page.warnings[:2] == ["The costs are estimated, not measured.", "It was hot."]


def test_a_greedy_bundle_gets_a_sound_page(tmp_path: Path) -> None:
    fit(
        GreedySearch(LOGISTIC, task.space, deadline=(50 * US, 400 * US), cv=2, memory=shared_memory(), lambdas=(0.0,))
    ).export(tmp_path / "greedy")
    root = checked(page_of(load_bundle(tmp_path / "greedy")))

    assert titles(root) == SECTIONS
    assert "any-time" not in text(root)


def test_hostile_names_are_only_text() -> None:
    small = make_bundle()[0]
    hostile = changed(small, names=HOSTILE, classes=HOSTILE[:2])
    hostile = replace(hostile, identity=Identity(HOSTILE[0], HOSTILE[1]))
    page = page_of(hostile)
    root = checked(page)

    assert "<script" not in page
    assert "onload=x" not in page.replace("&lt;/svg&gt;&lt;b onload=x&gt;&amp;amp;", "")
    assert HOSTILE[0] in text(root)
    assert HOSTILE[2] in text(root)


def test_control_characters_do_not_reach_the_page(tmp_path: Path) -> None:
    page = page_of(load(spoilt_bundle(tmp_path / "spoilt")))
    checked(page)

    assert [c for c in page if not (c.isprintable() or c == "\n")] == []


def test_deadlines_that_are_too_short_are_refused(bundle: Bundle) -> None:
    with pytest.raises(DeadlineError, match="at least 5 µs"):
        bundle_page(bundle, samples(), deadlines=(1 * US,))
