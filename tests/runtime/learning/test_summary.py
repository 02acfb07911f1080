"""What a node says of what it learned: in one record, in words, and in its log."""

import json
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Predictor
from polydom_runtime.learning.alarm import ALARM, WORTH, Alarm
from polydom_runtime.learning.experience import LEAST_SLACK_NS
from polydom_runtime.learning.learned_times import LearnedRow, LearnedTimes
from polydom_runtime.learning.summary import MOST_TOLD, LearningSummary, moved_units, table_of_moved
from tests.runtime.lattice_world import US
from tests.runtime.learning.test_learner import (
    AFTERWARDS,
    DEADLINE,
    LEARNING,
    NoisyWorld,
    bundle_with,
    learner_of,
)

SLOW_A = {"a": 4.0}


def played(change: dict[str, float], items: int = 2 * LEARNING, seed: int = 0, **options: Any) -> Predictor:
    """Return a predictor that answered some items with slack, whose units take some times as long from the 61st on."""
    world = NoisyWorld(bundle_with({}), seed)
    predictor = world.predictor(DEADLINE, regime="hot", **options)
    world.play(predictor, LEARNING)
    world.change = change
    world.play(predictor, items)
    return predictor


def test_unit_that_moved_is_told_with_its_times_and_since_when() -> None:
    predictor = played(SLOW_A)
    found = predictor.learning()

    assert (found.had_slack, found.answers) == (True, 3 * LEARNING)
    assert (found.plans, found.tried) == (learner_of(predictor).n_plans, learner_of(predictor).n_tried)
    assert found.longest_slice == 1e-9 * learner_of(predictor).longest_slice_ns
    (moved,) = [one for one in found.moved if one.unit == "a"]
    assert (moved.regime, moved.n) == ("hot", 1)
    assert moved.ratio == pytest.approx(4.0, rel=0.15)
    assert moved.factor == pytest.approx(4.0, rel=0.15)
    assert moved.seconds == pytest.approx(400 * US, rel=0.15)
    assert moved.since is not None
    assert LEARNING < moved.since <= LEARNING + 20
    assert f"a {moved.ratio:.1f} times as long as shipped, " in str(found)
    assert f"(hot, since answer {moved.since})" in str(found)


@pytest.mark.parametrize("seed", range(3))
def test_while_nothing_changes_no_unit_moved_and_nothing_is_logged(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    found = played({}, AFTERWARDS, seed).learning()

    assert (found.moved, found.plans) == ((), 0)
    assert "Other times than shipped" not in str(found)
    assert caplog.messages == []


def test_without_slack_it_says_so() -> None:
    world = NoisyWorld(bundle_with({}), 0, {"*": 2.0})
    predictor = world.predictor(DEADLINE)
    before = predictor.learning()
    world.play(predictor, LEARNING, seconds=0.5e-9 * LEAST_SLACK_NS)
    found = predictor.learning()

    assert (before.had_slack, found.had_slack, found.answers, found.moved) == (False, False, 0, ())
    assert str(found).startswith("No slack: answers came back to back, so no unit was tried, and plans stayed as")
    assert found.late == predictor.margin.late > 0


def test_what_is_known_from_before_is_told_without_slack_and_alarms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    learned = played(SLOW_A).learned
    caplog.clear()
    world = NoisyWorld(bundle_with({}), 1, SLOW_A)
    predictor = world.predictor(DEADLINE, regime="hot", learned=learned)
    at_first = predictor.learning()
    world.play(predictor, AFTERWARDS)

    assert [(one.unit, one.since) for one in at_first.moved] == [("a", 0)]
    assert "(hot, from before)" in str(at_first)
    assert [(one.unit, one.since) for one in predictor.learning().moved] == [("a", 0)]
    assert caplog.messages == []


def test_margin_and_late_answers_are_told_by_cause() -> None:
    predictor = NoisyWorld(bundle_with({}), 0).predictor(DEADLINE)
    for _ in range(10):
        predictor.margin.add_late(paused=False)
    predictor.margin.add_late(paused=True)
    found = predictor.learning()

    assert (found.margin, found.late, found.paused, found.beyond) == (4.0, 10, 1, predictor.margin.beyond)
    assert f"late through work 10, through pauses 1; {found.beyond} that no margin avoids." in str(found)


def test_summary_is_plain_data() -> None:
    found = played(SLOW_A).learning()
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))

    assert data["moved"][0]["unit"] == "a"
    assert data["text"] == str(found)
    assert {*data} == {*LearningSummary._fields, "text"}


ROWS = (
    LearnedRow("hot", "a", 4.0, 0.0, 31, 4e-4),
    LearnedRow("hot", "b", 0.5, 0.0, 31, 1e-4),
    LearnedRow("cold", "(waking)", 1.0, 2e-4, 31, 2e-4),
    LearnedRow("hot", 0, 2.0, 0.0, 31, 4e-5),
    LearnedRow("hot", 1, 8.0, 0.0, 31, 9e-5),
    LearnedRow("hot", 7, 3.0, 0.0, 31, 5e-5),
    LearnedRow("hot", -1, 9.0, 0.0, 31, 9e-5),
)


def test_units_that_moved_most_come_first_in_words_and_the_others_are_counted() -> None:
    found = LearningSummary(1.0, 0, 0, 0, moved_units(ROWS), had_slack=True)

    assert len(found.moved) == 4 > MOST_TOLD
    a, waking = "a 4.0 times as long as shipped, 400 µs (hot)", "(waking) 201.0 times as long as shipped, 200 µs (cold)"
    assert f"shipped: {a}; {waking}; b 0.5 times as long as shipped, 100 µs (hot); and 1 more." in str(found)
    assert "3 models 2.9 times as long as shipped, 50 µs" in map(str, found.moved)


def test_table_has_a_line_for_each_unit_and_one_for_models() -> None:
    lines = [line.split() for line in table_of_moved("moved:", moved_units(ROWS)).lines("")]

    assert lines[2] == ["hot", "a", "400", "µs", "4.00", "0.0"]
    assert lines[4] == ["cold", "(waking)", "200", "µs", "1.00", "200.0"]
    assert lines[5] == ["hot", "3", "models", "50", "µs", "3.00", "0.0"]


class Moving(LearnedTimes):
    """Times of which a test says how they moved."""

    def __init__(self) -> None:
        super().__init__(bundle_with({}), DEADLINE)
        self.rows_now: tuple[LearnedRow, ...] = ()

    def moved_rows(self) -> tuple[LearnedRow, ...]:
        return self.rows_now

    def are(self, **factors: float) -> None:
        """Let units take so many milliseconds in place of one."""
        rows = (LearnedRow("hot", name, f, 0.0, 31, 1e-3 * f) for name, f in factors.items())
        self.rows_now = tuple(rows)


@pytest.fixture
def times() -> Moving:
    return Moving()


def test_far_move_is_logged_by_name_and_so_is_the_way_back(times: Moving, caplog: pytest.LogCaptureFixture) -> None:
    alarm = Alarm(times)
    times.are(a=4.0, b=0.3)
    alarm.planned("hot")
    times.are(b=0.25)
    alarm.planned("hot")

    assert caplog.messages == [
        "times changed here (hot): a 4.0 times as long as shipped, 4 ms; b 0.3 times as long as shipped, 300 µs; "
        "plans follow",
        "times changed here (hot): a about as long as shipped again; plans follow",
    ]


def test_small_moves_are_not_logged_until_they_add_up(times: Moving, caplog: pytest.LogCaptureFixture) -> None:
    alarm = Alarm(times)
    said = []
    for factor in (1.5, 0.99 * ALARM, 1.01 * ALARM, 1.9 * ALARM, 2.1 * ALARM):
        times.are(a=factor)
        alarm.planned("hot")
        said.append(len(caplog.messages))

    assert said == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(("share", "said"), [(0.9, 0), (1.1, 1)])
def test_change_that_is_small_beside_the_deadline_is_not_logged(
    share: float, said: int, times: Moving, caplog: pytest.LogCaptureFixture
) -> None:
    """However many times as long as shipped it takes: units of microseconds soon do."""
    seconds = share * WORTH * DEADLINE
    alarm = Alarm(times)
    times.rows_now = (LearnedRow("hot", "a", 1.0, seconds, 31, 1.01 * seconds),)
    alarm.planned("hot")

    assert len(caplog.messages) == said


def test_other_regimes_are_left_alone(times: Moving, caplog: pytest.LogCaptureFixture) -> None:
    alarm = Alarm(times)
    times.are(a=4.0)
    alarm.planned("cold")
    assert (alarm.since, caplog.messages) == ({}, [])

    times.answers = 7
    alarm.planned("hot")
    times.answers = 9
    alarm.planned("hot")
    alarm.planned("cold")
    assert alarm.since == {("hot", "a"): 7}


def test_unit_that_goes_to_and_fro_fills_no_log(times: Moving, caplog: pytest.LogCaptureFixture) -> None:
    alarm = Alarm(times)
    for k in range(1000):
        times.are(**({} if k % 2 else {"a": 4.0}))
        alarm.planned("hot")

    assert len(caplog.messages) == 10  # of a thousand moves the first, second, fourth and so on


def test_many_units_are_counted_in_one_line(times: Moving, caplog: pytest.LogCaptureFixture) -> None:
    times_of_all = {f"f{k}": 3.0 + k for k in range(9)}
    alarm = Alarm(times)
    times.are(**times_of_all)
    alarm.planned("hot")

    (line,) = caplog.messages
    assert line.startswith("times changed here (hot): f8 11.0 times")
    assert line.endswith("; and 6 more; plans follow")


def test_node_logs_a_far_move_when_its_plan_follows(caplog: pytest.LogCaptureFixture) -> None:
    played(SLOW_A)

    (line,) = caplog.messages
    assert line.startswith("times changed here (hot): a ")


def test_explanation_says_that_times_are_learned_and_what_the_margin_was() -> None:
    predictor = played(SLOW_A)
    predictor.margin.value = 1.25
    predictor.learning()  # it reads what waits for more answers
    found, shipped = predictor.explain(1.0), played({}).explain(1.0)

    assert (found.margin, found.learned) == (1.25, 3 * LEARNING)
    assert ", of which margin 1.25\nplanned with times that were learned here from 180 answers\n" in str(found)
    assert shipped.learned is None
    assert "learned" not in str(shipped)
    worst = {one.name: one.worst_ns for one in found.work}
    if "a" in worst:
        assert worst["a"] == pytest.approx(600_000 * found.answer.slowdown, rel=0.2)
    assert np.isfinite(found.answer.slowdown)
