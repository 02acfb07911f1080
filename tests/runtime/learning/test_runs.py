"""The promise about late answers in a row."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polydom_runtime.exceptions import DeadlineError
from polydom_runtime.learning.experience import runs_of
from polydom_runtime.learning.runs import LONGEST_WINDOW, Runs

promises = st.integers(1, 12).flatmap(lambda window: st.tuples(st.integers(0, window - 1), st.just(window)))


@given(promises, st.lists(st.booleans(), max_size=60))
def test_no_window_has_more_late_answers_than_promised_if_careful_ones_never_are(
    promise: tuple[int, int], asked: list[bool]
) -> None:
    """Also, an answer is careful only if one more late one might break the promise: most of the freedom is used."""
    most, window = promise
    runs, late = Runs(most, window), list[bool]()
    for wanted in asked:
        before = late[max(len(late) - window + 1, 0) :]
        assert runs.careful == (sum(before) >= most)
        late.append(wanted and not runs.careful)
        runs.add(late[-1])

    assert max((sum(taken) for taken in windows(late, window)), default=0) <= most
    assert runs.outcome == (most, window, 0, max((sum(taken) for taken in windows(late, window)), default=0))


@given(promises, st.lists(st.booleans(), max_size=60))
def test_broken_promises_and_the_worst_window_are_counted(promise: tuple[int, int], late: list[bool]) -> None:
    """By brute force, whatever was late."""
    most, window = promise
    runs = Runs(most, window)
    for was in late:
        runs.add(was)

    counts = [sum(late[max(end - window, 0) : end]) for end in range(1, len(late) + 1)]
    too_many = sum(was and count > most for was, count in zip(late, counts, strict=True))
    assert (runs.broken, runs.worst) == (too_many, max(counts, default=0))


def windows(late: list[bool], window: int) -> Iterator[list[bool]]:
    for end in range(1, len(late) + 1):
        yield late[max(end - window, 0) : end]


@pytest.mark.parametrize(
    "promise", [(1, 1), (-1, 20), (1.0, 20), (1, 20.5), ("1", "20"), "1/20", (1,), (1, 2, 3), 1, (0, 0), (1, 10**7)]
)
def test_impossible_promise_is_refused(promise: object) -> None:
    with pytest.raises(DeadlineError, match=r"two whole numbers m and K, .* 0 <= m < K <= 1,000,000\. Got "):
        runs_of(promise)  # type: ignore[arg-type]


@pytest.mark.parametrize("promise", [(0, 1), (1, 20), (19, 20), (0, LONGEST_WINDOW)])
def test_possible_promise_is_taken(promise: tuple[int, int]) -> None:
    runs = runs_of(promise)

    assert runs is not None
    assert runs.outcome[:2] == promise
    assert runs_of(None) is None


def test_outcome_says_whether_the_promise_was_kept() -> None:
    runs = Runs(1, 3)
    runs.add(True)
    kept = str(runs.outcome)
    runs.add(True)

    assert kept == "late at most 1 of any 3 answers: kept, 1 in the worst case"
    assert str(runs.outcome) == "late at most 1 of any 3 answers: broken, 1 too many, 2 in the worst case"
