"""New bundles that a running node takes over, refuses or sends back."""

import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, get_ident
from typing import Any
from weakref import ref

import numpy as np
import pytest

from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.delivery import following_predictor
from polydom_runtime.delivery.background import Pace
from polydom_runtime.delivery.following_predictor import FollowingPredictor, Single
from polydom_runtime.learning.learned_file import Learned, read_learned
from polydom_runtime.predictor import Predictor, Seams
from tests.bundle_parts import changed
from tests.runtime.conftest import US, World, make_bundle, write

DEADLINE = 200 * US
ITEM = np.arange(1.0, 40.0)


class Node:
    """A node whose bundle is replaced by those that answer with other labels."""

    def __init__(self, folder: Path, world: World) -> None:
        self.folder, self.world = folder, world
        self.changes: list[Single] = []
        self.sent_back: list[str] = []
        self.handed_on: list[Learned | None] = []
        self.install("first")
        self.make: Callable[[], Single] = lambda: Predictor(
            load_bundle(folder), world.space, deadline=DEADLINE, seams=Seams(clock=world.clock)
        )

    def install(self, name: str) -> None:
        new = write(
            self.folder.with_name("new"), changed(make_bundle()[0], classes=(name, f"{name}!")), make_bundle()[1]
        )
        shutil.rmtree(self.folder, ignore_errors=True)
        new.rename(self.folder)

    def make_another(self, learned: Learned | None) -> Single:
        self.handed_on.append(learned)
        return self.make()

    def following(self, **options: Any) -> FollowingPredictor:
        return FollowingPredictor(
            self.make(),
            self.folder,
            self.make_another,
            on_change=self.changes.append,
            on_sent_back=lambda failed, now: self.sent_back.append(failed),
            clock=self.world.clock,
            pace=Pace(0.0),
            **options,
        )


@pytest.fixture
def node(tmp_path: Path, world: World) -> Node:
    return Node(tmp_path / "current", world)


def settle(following: FollowingPredictor) -> None:
    """Wait until the second thread has done its jobs so far."""
    done = Event()
    following._background.do(done.set)
    assert done.wait(60.0)


def looked(following: FollowingPredictor, node: Node, seconds_left: float = math.inf) -> FollowingPredictor:
    """Let the loop see what the folder holds, and take it over."""
    node.world.clock.advance(seconds=1.0)
    following.on_slack(seconds_left)
    settle(following)
    following.on_slack(seconds_left)
    return following


@pytest.fixture
def following(node: Node) -> Iterator[FollowingPredictor]:
    predictor = node.following(trial=0)
    yield predictor
    predictor.close()


def label(following: FollowingPredictor) -> Any:
    return following.predict_one(ITEM).label.rstrip("!")  # type: ignore[union-attr]


def test_answers_are_of_the_bundle_in_the_folder(following: FollowingPredictor, node: Node) -> None:
    before = label(following)
    node.install("second")
    waiting = label(following)
    looked(following, node)

    assert (before, waiting, label(following)) == ("first", "first", "second")
    assert following.reloads == (1, 0, 0, "")
    assert node.changes == [following.current]


def test_a_call_may_have_a_shorter_deadline_of_its_own(following: FollowingPredictor) -> None:
    usual, short = (following.predict_one(ITEM, deadline=deadline) for deadline in (None, 0.0))

    assert usual.features
    assert (short.features, short.deadline_met) == ((), False)
    assert following.record.items == 2


def test_new_bundle_begins_with_what_was_learned_and_learns_on(following: FollowingPredictor, node: Node) -> None:
    first = following.bundle
    for _ in range(9):
        following.predict_one(ITEM)
        following.use_slack(0.01)
    node.install("second")
    looked(following, node)
    (learned,) = node.handed_on

    assert learned is not None
    assert learned.is_of(first)
    assert learned.answers == 9
    assert following.learned is None
    following.use_slack(0.01)
    following.save_learned(node.folder.with_name("node.learned"))
    assert read_learned(node.folder.with_name("node.learned")).learned.is_of(following.bundle)


def test_answer_is_explained_by_the_bundle_that_gave_it(following: FollowingPredictor, node: Node) -> None:
    node.install("second")
    looked(following, node)
    before = following.record.items

    found = following.explain(ITEM)

    assert str(found.answer.label).startswith("second")
    assert following.record.items == before + 1


def test_nothing_is_loaded_while_the_folder_stays_the_same(following: FollowingPredictor, node: Node) -> None:
    node.make = lambda: pytest.fail("loaded")

    looked(looked(following, node), node)

    assert following.reloads == (0, 0, 0, "")


def test_bundle_that_came_between_the_first_load_and_the_start_is_noticed(node: Node) -> None:
    first = node.make()
    node.install("second")
    make, node.make = node.make, lambda: first
    following = node.following(trial=0)
    node.make = make

    assert looked(following, node).bundle.space.classes[0] == "second"
    following.close()


def test_pipe_in_the_place_of_the_digest_is_not_waited_for(following: FollowingPredictor, node: Node) -> None:
    """The second thread must be free for the next bundle."""
    (node.folder / "index.sha256").unlink()
    os.mkfifo(node.folder / "index.sha256")
    looked(following, node)
    node.install("second")

    assert looked(following, node).bundle.space.classes[0] == "second"
    assert following.reloads.refused == 1


def test_copy_of_the_same_bundle_changes_nothing(following: FollowingPredictor, node: Node) -> None:
    current = following.current
    node.install("first")

    assert looked(following, node).current is current


def test_folder_is_looked_at_once_a_second_or_when_asked(following: FollowingPredictor, node: Node) -> None:
    looked(following, node)
    node.install("second")
    following.on_slack(math.inf)
    settle(following)
    following.on_slack(math.inf)
    unasked = label(following)
    following.look()
    settle(following)
    following.on_slack(math.inf)

    assert (unasked, label(following)) == ("first", "second")


def test_new_bundle_is_made_in_another_thread_and_takes_over_in_the_loop(
    following: FollowingPredictor, node: Node
) -> None:
    threads, make = [], node.make

    def noted() -> Single:
        threads.append(get_ident())
        return make()

    node.make = noted
    following.on_change = lambda _: threads.append(get_ident())
    node.install("second")

    looked(following, node)

    assert [thread == get_ident() for thread in threads] == [False, True]


@pytest.mark.parametrize("damage", ["no folder", "cut", "other space", "raises"])
def test_bundle_that_cannot_be_used_is_refused_and_the_old_one_stays(
    damage: str, following: FollowingPredictor, node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    node.install("second")
    if damage == "no folder":
        shutil.rmtree(node.folder)
        following.look()
    elif damage == "cut":
        (node.folder / "models" / "0000.onnx").write_bytes(b"")
    elif damage == "other space":
        node.make = lambda: Predictor(load_bundle(node.folder), node.world.space.part(("mean",)), deadline=DEADLINE)
    else:
        node.make = lambda: 1 / 0  # type: ignore[assignment, return-value]

    looked(following, node)

    assert label(following) == "first"
    assert following.reloads[:3] == (0, 1, 0)
    assert following.reloads.error
    assert "a new bundle was refused" in caplog.text
    assert node.changes == []


def test_refused_bundle_is_not_tried_again_until_the_folder_changes(following: FollowingPredictor, node: Node) -> None:
    node.install("second")
    (node.folder / "models" / "0000.onnx").write_bytes(b"")
    looked(looked(following, node), node)
    refused = following.reloads.refused
    node.install("third")
    looked(following, node)

    assert refused == 1
    assert label(following) == "third"


def test_takes_over_only_where_a_rehearsal_has_room(
    following: FollowingPredictor, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following_predictor, "PATIENCE", 3)
    node.install("second")
    looked(following, node, seconds_left=1e-4)
    labels = []
    for _ in range(4):
        labels.append(label(following))
        following.on_slack(1e-4)

    assert labels == ["first", "first", "first", "second"]


def test_rehearses_with_the_kept_items_before_it_takes_over(following: FollowingPredictor, node: Node) -> None:
    label(following)
    following.rehearse()
    node.install("second")
    node.world.calls.clear()

    looked(following, node)

    assert node.world.calls.count("mean") >= 1


def test_new_bundle_that_is_late_is_sent_back(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    following = node.following(trial=100)
    for _ in range(20):
        label(following)
    node.install("second")
    looked(following, node)
    failed = following.bundle.sha256
    node.world.seconds["mean"] = 2 * DEADLINE
    labels = []
    for _ in range(10):
        labels.append(label(following))
        following.on_slack(math.inf)
    node.world.seconds["mean"] = 10 * US
    settle(following)

    assert labels[0] == "second"
    assert label(following) == "first"
    assert following.reloads[:3] == (1, 0, 1)
    assert "answers were late" in following.reloads.error
    assert node.sent_back == [failed]
    assert [change.bundle.space.classes[0] for change in node.changes] == ["second", "first"]
    assert looked(following, node).bundle.space.classes[0] == "first"
    following.close()


def test_new_bundle_whose_features_fail_is_sent_back(node: Node) -> None:
    following = node.following(trial=100)
    node.install("second")
    looked(following, node)
    node.world.results["mean"] = ValueError("no sound")
    for _ in range(10):
        label(following)
        following.on_slack(math.inf)

    assert "answers had failures" in following.reloads.error
    assert following.bundle.space.classes[0] == "first"
    following.close()


def test_failures_that_the_old_bundle_had_too_are_not_held_against_the_new_one(node: Node) -> None:
    following = node.following(trial=20)
    node.world.results["mean"] = ValueError("no sound")
    for _ in range(100):
        label(following)
    node.install("second")
    looked(following, node)
    for _ in range(20):
        label(following)
        following.on_slack(math.inf)

    assert following.reloads == (1, 0, 0, "")
    following.close()


def test_bundle_that_comes_during_a_trial_goes_back_to_the_one_before_the_trial(node: Node) -> None:
    following = node.following(trial=100)
    node.install("second")
    looked(following, node)
    node.install("third")
    looked(following, node)
    third = label(following)
    node.world.results["mean"] = ValueError("no sound")
    for _ in range(10):
        label(following)
        following.on_slack(math.inf)

    assert third == "third"
    assert following.bundle.space.classes[0] == "first"
    assert following.reloads[:3] == (2, 0, 1)
    following.close()


def test_rollback_by_hand_ends_a_trial(node: Node) -> None:
    following = node.following(trial=100)
    first = following.current
    node.install("second")
    looked(following, node)
    node.install("first")
    looked(looked(following, node), node)

    assert following.current is first
    assert following.reloads == (1, 0, 0, "")
    assert [change.bundle.space.classes[0] for change in node.changes] == ["second", "first"]
    following.close()


def test_predictor_that_answers_no_more_is_let_go(following: FollowingPredictor, node: Node) -> None:
    before = ref(following.current)
    node.install("second")
    looked(following, node)
    settle(following)
    node.changes.clear()

    assert before() is None


def test_close_does_not_wait_for_a_load_that_hangs(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following_predictor, "CLOSE_S", 0.0)
    following, go_on = node.following(), Event()
    make = node.make

    def hang() -> Single:
        go_on.wait()
        return make()

    node.make = hang
    node.install("second")
    following.look()
    following.close()
    ended = following._background.close(0.0)
    go_on.set()

    assert not ended
    assert following._background.close(60.0)


def test_close_ends_the_thread(node: Node) -> None:
    following = node.following()
    node.install("second")
    following.look()
    following.close()

    assert following._background.close(0.0)
