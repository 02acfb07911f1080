"""The margin: its law for any sequence of times, pauses, and bounds."""

import math
import random
from collections.abc import Callable
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime.learning.margin import DEBT, LEAST, MOST, SAVED, Margin, is_paused

CONSTANT = DEBT + SAVED
"""Among any T answers at most share · T and so many are late."""

SHARES = 0.001, 0.01, 0.1
shares = st.sampled_from(SHARES)

Slowness = Callable[[int, float, random.Random], float]
"""How many times its planned time an answer takes, from its number and the margin; late if that exceeds the margin."""


def bursts(number: int, margin: float, rng: random.Random) -> float:
    """Every 300 answers the next 30 take three times as long."""
    return 3.0 if number % 300 < 30 else 0.5


def while_low(number: int, margin: float, rng: random.Random) -> float:
    """Late whenever the margin is low."""
    return 2.0 if margin < 2.0 else 0.1


def just_above(number: int, margin: float, rng: random.Random) -> float:
    """Late whatever the margin is."""
    return math.nextafter(margin, math.inf)


def heavy_tails(number: int, margin: float, rng: random.Random) -> float:
    """Pareto's: the mean of all that are longer than any time is six times that time."""
    return 0.3 * rng.paretovariate(1.2)


def alternating(number: int, margin: float, rng: random.Random) -> float:
    return (0.2, 3.9)[number % 2]


def at_random_levels(number: int, margin: float, rng: random.Random) -> float:
    """Another level for each hundred answers."""
    return random.Random(number // 100).uniform(0.2, MOST)


HOSTILE = bursts, while_low, just_above, heavy_tails, alternating, at_random_levels


def step_below_most(share: float) -> float:
    """Return the largest margin that can still be raised by a whole step."""
    return float(MOST ** (1.0 - (1.0 - share) / DEBT) ** 2)


def tell(margin: Margin, late: bool) -> None:
    if late:
        margin.add_late(paused=False)
    else:
        margin.add_in_time()


def late_answers(slowness: Slowness, share: float, answers: int) -> list[bool]:
    """Return which answers are late with a margin that is told, if nothing takes longer than some margin avoids."""
    margin, rng, most, late = Margin(share), random.Random(1), step_below_most(share) - 1e-9, list[bool]()
    for number in range(answers):
        late.append(min(slowness(number, margin.value, rng), most) > margin.value)
        tell(margin, late[-1])
    assert margin.beyond == 0
    return late


def most_beyond(late: list[bool], share: float) -> float:
    """Return by how much the late answers exceed the share in the worst of all windows."""
    least = most = 0.0
    for total in accumulate(was - share for was in late):
        most = max(most, total - least)
        least = min(least, total)
    return most


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("slowness", HOSTILE)
def test_in_no_window_more_are_late_than_the_share_and_a_constant(slowness: Slowness, share: float) -> None:
    late = late_answers(slowness, share, 20_000)

    assert any(late)
    assert most_beyond(late, share) <= CONSTANT


def test_times_just_above_the_margin_use_the_share_and_no_more() -> None:
    late = late_answers(just_above, 0.01, 20_000)

    assert most_beyond(late, 0.01) > CONSTANT - 2
    assert sum(late) / len(late) == pytest.approx(0.01, rel=0.05)


def test_worst_window_is_found_as_by_trying_all() -> None:
    late = [random.Random(k).random() < 0.2 for k in range(60)]

    ends = [(start, end) for end in range(61) for start in range(end + 1)]
    assert most_beyond(late, 0.1) == pytest.approx(max(sum(late[a:b]) - 0.1 * (b - a) for a, b in ends))


@given(st.lists(st.booleans(), max_size=300), shares)
def test_all_but_those_that_are_late_at_the_bound_obey_the_law(asked: list[bool], share: float) -> None:
    """Whatever is late and when: those that no margin avoids are told apart."""
    margin, others = Margin(share), list[bool]()
    for late in asked:
        beyond = margin.beyond
        tell(margin, late)
        others.append(late and margin.beyond == beyond)

    assert most_beyond(others, share) <= CONSTANT + 1e-9


def test_answers_that_alternate_below_the_bound_are_late_at_it() -> None:
    """Each one in time makes a little room, which is no step: half of all may be late in this way."""
    margin = Margin(0.01)
    for _ in range(1000):
        tell(margin, late=True)
        tell(margin, late=False)

    assert margin.late - margin.beyond <= CONSTANT + 0.01 * 2000


@given(st.lists(st.sampled_from(("late", "in time", "paused")), max_size=300), shares, st.floats(0.1, 10.0))
def test_margin_stays_within_its_bounds_and_counts_what_was_late(told: list[str], share: float, value: float) -> None:
    margin = Margin(share, value)
    for what in told:
        if what == "in time":
            margin.add_in_time()
        else:
            margin.add_late(paused=what == "paused")

        assert LEAST <= margin.value <= MOST
    assert (margin.late, margin.paused) == (told.count("late"), told.count("paused"))


def test_pauses_do_not_move_it() -> None:
    margin = Margin(0.01, 2.0)
    for _ in range(1000):
        margin.add_late(paused=True)

    assert (margin.value, margin.late, margin.paused) == (2.0, 0, 1000)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_share_of_none_or_all_is_no_error(share: float) -> None:
    """Promised is never: the margin never falls. Promised is nothing: it never rises."""
    margin = Margin(share)
    tell(margin, late=True)
    risen = margin.value
    for _ in range(1000):
        tell(margin, late=False)

    assert (risen, margin.value) == ((MOST ** (1.0 / DEBT**2),) * 2 if share == 0.0 else (LEAST, LEAST))


def test_answers_at_the_bound_do_not_lift_it_further_and_it_comes_down_again() -> None:
    margin = Margin(0.01)
    for _ in range(100):
        tell(margin, late=True)
    at_bound, beyond = margin.value, margin.beyond
    needed = math.ceil(DEBT / 0.01)
    for _ in range(needed):
        tell(margin, late=False)

    assert (at_bound, beyond) == (MOST, 95)
    assert margin.value == LEAST


def test_pause_is_longer_than_the_deadline_and_than_the_usual_time_many_times() -> None:
    """A feature that takes longer than the deadline because it is large is work, and one that is odd but short too."""
    assert is_paused([5.0, 101.0], [5.0, 5.0], 100.0)
    assert not is_paused([5.0, 101.0], [5.0, 5.1], 100.0)
    assert not is_paused([5.0, 99.0], [5.0, 1.0], 100.0)
    assert is_paused([101.0], [0.0], 100.0)
    assert not is_paused([], [], 100.0)
