"""Releases that have not proved themselves: what is kept of them, and how a node begins with them."""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import write_packed
from polydom_runtime.__main__ import main
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.delivery.background import Pace
from polydom_runtime.delivery.following_predictor import FollowingPredictor
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.on_trial import MOST_STARTS, OnTrial, begin, note, on_trial, proved_before
from polydom_runtime.delivery.rollback import roll_back
from polydom_runtime.exceptions import UpdateError
from polydom_runtime.predictor import Predictor, Seams
from tests.bundle_parts import changed
from tests.runtime.conftest import World, make_bundle, write
from tests.runtime.delivery.crashing import tried
from tests.runtime.delivery.disk import Disk
from tests.runtime.delivery.nodes import current_in, damage, installed
from tests.runtime.delivery.test_following_predictor import ITEM, settle

NEW = OnTrial()


@pytest.fixture
def root(tmp_path: Path, bundles: list[Bundle]) -> Path:
    return installed(tmp_path / "root", *bundles[:2])


def test_release_is_on_trial_from_its_install_on_but_not_the_first(root: Path, bundles: list[Bundle]) -> None:
    assert {bundles[1].sha256: NEW} == on_trial(root)
    assert bundles[0].sha256 == proved_before(root)


def test_release_that_proved_itself_is_not_on_trial_again(root: Path, bundles: list[Bundle]) -> None:
    note(root, bundles[1].sha256, None)
    install(bundles[0], root)

    assert on_trial(root) == {}
    assert bundles[1].sha256 == proved_before(root)


def test_release_that_failed_begins_anew_when_it_is_wanted_again(root: Path, bundles: list[Bundle]) -> None:
    for want in (lambda: install(bundles[1], root), lambda: roll_back(root, to=bundles[1].sha256)):
        begin(root)
        roll_back(root, to=bundles[0].sha256)
        kept = on_trial(root)
        want()

        assert {bundles[1].sha256: NEW._replace(starts=1)} == kept
        assert {bundles[1].sha256: NEW} == on_trial(root)


def test_way_back_passes_over_releases_that_have_not_proved_themselves(root: Path, bundles: list[Bundle]) -> None:
    install(bundles[2], root, keep=2)
    install(bundles[3], root, keep=2)

    assert bundles[0].sha256 == proved_before(root)
    assert {bundles[n].sha256 for n in (2, 3)} <= on_trial(root).keys()


def test_starts_are_counted_until_there_are_too_many(root: Path, bundles: list[Bundle]) -> None:
    begun = [begin(root, (n, 0, 0)) for n in (5, 9, 1, 0)]

    assert {bundles[1].sha256} == {digest for digest, _ in begun}
    assert [(n + 1, (max(5, n and 9), 0, 0)) for n in range(4)] == [(k.starts, k.before) for _, k in begun if k]
    assert [known.failure[:4] for _, known in begun if known] == ["", "", "", "3 pr"]
    assert on_trial(root)[bundles[1].sha256].starts == MOST_STARTS


@pytest.mark.parametrize("rest", ["", "x", "1 2", "1 2 3 4 5 6 -7", "1 2 3 4 5 6 " + "9" * 5000])
def test_of_a_damaged_line_the_digest_counts(root: Path, bundles: list[Bundle], rest: str) -> None:
    (root / "trials").write_text(f"{bundles[1].sha256} {rest}\nno digest\n\xff")

    assert {bundles[1].sha256: NEW} == on_trial(root)


def test_power_cut_takes_no_counted_start_back(
    tmp_path: Path, bundles: list[Bundle], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count is on the disk before the release is loaded."""
    (tmp_path / "disk").mkdir()
    root = installed(tmp_path / "disk" / "root", *bundles[:2])
    with monkeypatch.context() as patch:
        disk = Disk(tmp_path / "disk", patch)
        begin(root)
    for seed in range(9):
        left = disk.after_power_cut(tmp_path / f"left {seed}", random.Random(seed)) / "root"
        assert [known.starts for known in on_trial(left).values()] == [1]
    disk.close()


def test_start_that_cannot_be_counted_is_an_error(root: Path) -> None:
    (root / "trials").unlink()
    (root / "trials").mkdir()

    with pytest.raises(UpdateError):
        begin(root)


def following(root: Path, world: World, **options: Any) -> FollowingPredictor:
    def make(folder: Path = root / "current") -> Predictor:
        return Predictor(load_bundle(folder), world.space, seams=Seams(clock=world.clock))

    before = options.pop("before", None)
    node = FollowingPredictor(
        make(), root / "current", lambda _: make(), clock=world.clock, pace=Pace(0.0), **{"trial": 20} | options
    )
    node.resume_trial(before and make(root / "releases" / before))
    return node


def answered(predictor: FollowingPredictor, count: int) -> FollowingPredictor:
    for _ in range(count):
        predictor.predict_one(ITEM)
        predictor.on_slack(math.inf)
    settle(predictor)
    return predictor


def taken_over(predictor: FollowingPredictor, world: World) -> FollowingPredictor:
    world.clock.advance(seconds=1.0)
    for _ in range(2):
        predictor.on_slack(math.inf)
        settle(predictor)
    return predictor


def test_start_counts_from_the_takeover_on_until_the_release_has_proved_itself(
    tmp_path: Path, bundles: list[Bundle], world: World
) -> None:
    root, new = installed(tmp_path / "root", bundles[0]), bundles[1].sha256
    node = answered(following(root, world), 7)
    install(bundles[1], root)
    taken_over(node, world)
    states = [on_trial(root)]
    answered(node, 19)
    states.append(on_trial(root))
    answered(node, 1)

    assert node.bundle.sha256 == new
    assert [{new: OnTrial(1, before=(7, 0, 0))}] * 2 == states
    assert on_trial(root) == {}
    node.close()


@pytest.mark.parametrize("before", [True, False])
def test_trial_goes_on_in_the_next_process(root: Path, bundles: list[Bundle], world: World, before: bool) -> None:
    """Also where there is nothing to go back to; a process that came to a good end does not count."""
    old, new, states = bundles[0].sha256, bundles[1].sha256, list[Any]()
    for _ in range(5):
        begin(root, (3, 0, 0))
        node = answered(following(root, world, before=old if before else None), 4)
        node.leave()
        node.close()
        states.append(on_trial(root))

    assert [{new: OnTrial(0, (4 * n, 0, 0), (3, 0, 0))} for n in (1, 2, 3, 4)] + [{}] == states


def test_first_release_goes_back_in_its_trial(root: Path, bundles: list[Bundle], world: World) -> None:
    sent_back: list[tuple[str, str]] = []
    begin(root)
    node = following(root, world, before=bundles[0].sha256, on_sent_back=lambda *digests: sent_back.append(digests))
    world.results["mean"] = ValueError("no sound")
    answered(node, 9)

    assert [(bundles[1].sha256, bundles[0].sha256)] == sent_back
    assert bundles[0].sha256 == node.bundle.sha256
    node.close()


def test_release_that_has_ended_too_many_processes_is_refused(
    tmp_path: Path, bundles: list[Bundle], world: World
) -> None:
    sent_back: list[tuple[str, str]] = []
    root = installed(tmp_path / "root", bundles[0])
    node = following(root, world, on_sent_back=lambda *digests: sent_back.append(digests))
    install(bundles[1], root)
    for _ in range(MOST_STARTS):
        begin(root)
    taken_over(node, world)

    assert node.reloads[:3] == (0, 1, 0)
    assert "3 processes began with it" in node.reloads.error
    assert [(bundles[1].sha256, bundles[0].sha256)] == sent_back
    assert bundles[0].sha256 == node.bundle.sha256
    node.close()


def test_release_that_is_refused_has_not_ended_a_process(tmp_path: Path, bundles: list[Bundle], world: World) -> None:
    root = installed(tmp_path / "root", bundles[0])
    node = following(root, world)
    install(bundles[1], root)
    damage(root / "current" / "models" / "0000.onnx")
    taken_over(node, world)

    assert node.reloads[:3] == (0, 1, 0)
    assert {bundles[1].sha256: NEW} == on_trial(root)
    node.close()


def test_without_trials_each_release_stays(root: Path, world: World) -> None:
    node = following(root, world, trial=0)
    settle(node)

    assert on_trial(root) == {}
    node.close()


SPACE = "tests.runtime.node_space:space"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Return a command that answers ten items by the second of two releases."""
    bundle, models = make_bundle()
    for k, classes in enumerate((("no", "yes"), ("good", "bad"))):
        folder = write(tmp_path / f"{k}", changed(bundle, classes=classes, budgets=(1e-3, 1.0)), models)
        install(load_bundle(folder), tmp_path / "root")
    write_packed(tmp_path / "items.npz", [np.ones(40)] * 10)
    return ["run", str(tmp_path / "root" / "current"), SPACE, "--items", str(tmp_path / "items.npz"), "--follow"]


def labels(output: str) -> set[Any]:
    return {answer["label"] for line in output.splitlines() if "label" in (answer := json.loads(line))}


def test_short_runs_add_up_to_a_trial(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each one ends before the trial does, but well."""
    counts = []
    for _ in range(MOST_STARTS + 2):
        assert main([*command, "--deadline", "1s", "--trial", "45"]) == 0
        assert labels(capsys.readouterr().out) <= {"good", "bad"}
        counts.append([(known.starts, known.answers[0]) for known in on_trial(tmp_path / "root").values()])

    assert counts == [[(0, 10)], [(0, 20)], [(0, 30)], [(0, 40)], []]


def test_start_after_too_many_crashes_rolls_back(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    for _ in range(MOST_STARTS):
        begin(root)

    assert main([*command, "--deadline", "1s"]) == 0
    out, err = capsys.readouterr()
    assert labels(out) <= {"no", "yes"}
    assert load_bundle(tmp_path / "0").sha256 == current_in(root)
    assert "is not used: 3 processes began with it" in err
    assert "rolled back to" in err


def test_release_that_cannot_be_used_at_the_start_is_passed_over(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(tmp_path / "root" / "current" / "models" / "0000.onnx")

    assert main([*command, "--deadline", "1s"]) == 0
    out, err = capsys.readouterr()
    assert labels(out) <= {"no", "yes"}
    assert "the release before the current one. " in err
    assert [known.starts for known in on_trial(tmp_path / "root").values()] == [0]


def test_release_without_one_that_can_answer_instead_of_it_answers(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    damage(root / "releases" / load_bundle(tmp_path / "0").sha256 / "index.msgpack")

    assert main([*command, "--deadline", "1s"]) == 0
    out, err = capsys.readouterr()
    assert labels(out) <= {"good", "bad"}
    assert "is on trial, and the one before cannot be used instead" in err
    assert [known.starts for known in on_trial(root).values()] == [0]


@pytest.mark.parametrize(("crash_after", "stays"), [(5, False), (140, True)])
def test_release_that_crashes_is_gone_after_some_starts_unless_it_proved_itself(
    tmp_path: Path, crash_after: int, stays: bool
) -> None:
    """Real processes. It crashed at each start for ever."""
    assert (stays, 5 if stays else MOST_STARTS) == tried(tmp_path, crash_after)
