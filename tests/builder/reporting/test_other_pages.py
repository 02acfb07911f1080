"""The pages about a flight recording and a device profile, and labelled items."""

from contextlib import closing
from pathlib import Path

import pytest

from polydom_builder.evaluation import Labelled, evaluate
from polydom_builder.exceptions import FitError
from polydom_builder.reporting.evaluation_section import evaluation_section
from polydom_builder.reporting.flight_page import flight_page
from polydom_builder.reporting.page import Page
from polydom_builder.reporting.profile_page import profile_page
from polydom_runtime import DeviceProfile, load_bundle
from polydom_runtime.device.device_profile import PROFILES
from polydom_runtime.records.flight_file import Flight, load_flight
from polydom_runtime.records.recorder import FlightRecorder
from tests.builder import task
from tests.runtime.records.test_metrics import ANSWER, Watched, traced

from .pages import checked, text, titles

US = task.US


def recorded(file: Path, late: int) -> Flight:
    """Record ten answers, some of which are late, one with a failure."""
    with closing(FlightRecorder(file, Watched(), 100)) as recorder:
        for k in range(10):
            answer = ANSWER._replace(
                reason="<b>planned", elapsed_ns=400_000 if k < late else 50_000, deadline_met=k >= late
            )
            recorder.add(answer._replace(error="mean: <i>" if k == 3 else ""), traced(), k)
    return load_flight(file)


def test_a_flight_says_what_happened(tmp_path: Path) -> None:
    page = flight_page(recorded(tmp_path / "node.flight", late=2), "node.flight")
    root = checked(page.to_html())

    assert page.findings[0].startswith("2 of 10 answers were late; with 95 % certainty")
    assert "The longest answer took 400 µs, 2.00 of the deadline" in page.findings[1]
    assert page.warnings == ["Something failed on 1 of the items, first mean: <i>."]
    assert titles(root) == ["What happened", "Answers", "Times", "Late answers"]
    assert "<b>planned" in text(root)
    assert "mean + spread" in text(root)


def test_a_flight_says_what_the_margin_was(tmp_path: Path) -> None:
    watched = Watched()
    with closing(FlightRecorder(tmp_path / "node.flight", watched, 100)) as recorder:
        for number in range(3):
            recorder.add(ANSWER, traced(), number)
            if number == 0:
                watched.margin.add_late(paused=False)
                watched.margin.add_in_time()
    page = flight_page(load_flight(tmp_path / "node.flight"), "node.flight")

    assert "The margin was 1.00 to 1.04, and 1.04 at the end." in page.findings


def test_a_flight_without_late_answers_says_so(tmp_path: Path) -> None:
    root = checked(flight_page(recorded(tmp_path / "node.flight", late=0), "<name>").to_html())

    assert "No answer was late." in text(root)


def test_an_empty_flight_is_refused(tmp_path: Path) -> None:
    flight = recorded(tmp_path / "node.flight", late=0)

    with pytest.raises(FitError, match="must hold an item"):
        flight_page(Flight(flight.header, (), 0), "node.flight")


@pytest.mark.parametrize("file", sorted(PROFILES.glob("*.toml")), ids=lambda file: str(file.stem))
def test_every_device_profile_gets_a_page_that_says_what_is_estimated(file: Path) -> None:
    profile = DeviceProfile.load(file)
    page = profile_page(profile)
    root = checked(page.to_html())

    measured = all(kernel.provenance == "measured" for kernel in profile.calibration.values())
    assert any("Estimated" in warning for warning in page.warnings) is not measured
    assert all(kernel in text(root) for kernel in profile.calibration)


def test_labelled_items_show_scores_bands_and_confusion(folder: Path) -> None:
    bundle = load_bundle(folder)
    test = Labelled.of(task.space, *task.items(60, seed=1))
    found = evaluate(bundle, test, [100 * US, 300 * US])
    section = evaluation_section(found)
    seen = text(checked(Page("bundle", "t", "", [], [], (), [section]).to_html()))

    score = found.deadlines[1].whole.systems["planned"].score
    assert score is not None
    assert f"{score:.3f} (" in seen
    assert f"{100 * (1 - score):.2g} % of the answers are wrong" in seen
    assert "Scores by size" in seen
