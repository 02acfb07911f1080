"""The knee of a table of deadlines, in words."""

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.describing.knee import verdict
from tests.bundle_parts import changed, outlook
from tests.runtime.conftest import US, make_bundle

ROWS = (
    outlook(25 * US, 0.5, 1.0, (), 0.0),
    outlook(26 * US, 0.52, 0.9, ("mean",), 0.0),
    outlook(50 * US, 0.7, 0.2, ("mean",), 0.0),
    outlook(100 * US, 0.89, 0.0, ("mean", "ends"), 0.001),
    outlook(200 * US, 0.9, 0.0, ("mean", "ends"), 0.0),
)


@pytest.fixture
def bundle() -> Bundle:
    """A bundle for 50 to 200 µs, whose prior scores .5, with at most 1 % of the answers late."""
    return changed(make_bundle()[0], outlook=ROWS, budgets=(50 * US, 200 * US))


def test_knee_is_the_shortest_deadline_with_nearly_all_of_the_gain(bundle: Bundle) -> None:
    assert verdict(bundle) == [
        "hot: 100 µs is the knee: score 0.890, where 0.900 is the most, at 200 µs; 0.1 % late (at most 1 % is "
        "promised).",
        "  Half of it, 50 µs: score 0.700, 0.190 less.",
        "  Below 26 µs: 99 % or more of the answers are the prior, score 0.500.",
    ]


def test_knee_that_does_not_keep_the_promise_says_where_it_is_kept(bundle: Bundle) -> None:
    late = tuple(o._replace(late=0.02) if o.deadline <= 100 * US else o for o in ROWS)

    knee, kept, *_ = verdict(changed(bundle, outlook=late))

    assert knee.endswith("2 % late (more than promised: at most 1 % is promised).")
    assert kept == "  The promise is kept at 200 µs (score 0.900)."


def test_promise_that_no_deadline_keeps_is_said(bundle: Bundle) -> None:
    late = changed(bundle, outlook=tuple(o._replace(late=0.02) for o in ROWS))

    assert verdict(late)[1] == "  No deadline that was tried keeps the promise."


def test_half_that_was_not_tried_is_told_by_its_neighbours(bundle: Bundle) -> None:
    without = changed(bundle, outlook=(*ROWS[:2], outlook(40 * US, 0.6, 0.5, ("mean",), 0.0), *ROWS[3:]))

    assert verdict(without)[1] == "  Half of it, 50 µs: score 0.600 to 0.890, 0.290 to 0.000 less."


def test_half_below_all_that_was_tried_and_a_useful_shortest_are_said(bundle: Bundle) -> None:
    assert verdict(changed(bundle, outlook=ROWS[3:]))[1:] == [
        "  Half of it, 50 µs: not tried.",
        "  Already 100 µs, the shortest tried, gives more than the prior, which scores 0.500.",
    ]


def test_bundle_that_gives_only_the_prior_has_no_knee(bundle: Bundle) -> None:
    nothing = changed(bundle, outlook=ROWS[:1])

    assert verdict(nothing) == ["hot: no deadline that was tried gives more than the prior."]
    assert verdict(changed(bundle, outlook=())) == ["No deadline was tried."]
