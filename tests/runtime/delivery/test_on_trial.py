"""Releases that have not proved themselves: what is kept of them, and how a node begins with them."""

import errno
import json
import math
import os
import random
import signal
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import write_packed
from polydom_runtime.__main__ import main
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.index_file import load_bundle
from polydom_runtime.commands import run
from polydom_runtime.commands.following import following as following_command
from polydom_runtime.commands.options import add_options
from polydom_runtime.delivery.background import Pace
from polydom_runtime.delivery.following_predictor import FollowingPredictor
from polydom_runtime.delivery.install import install
from polydom_runtime.delivery.on_trial import (
    MOST_STARTS,
    NOT_KEPT,
    OnTrial,
    begin,
    note,
    on_trial,
    place,
    proved_before,
)
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

        assert {bundles[1].sha256: NEW._replace(starts=(1,))} == kept
        assert {bundles[1].sha256: NEW} == on_trial(root)


def test_way_back_passes_over_releases_that_have_not_proved_themselves(root: Path, bundles: list[Bundle]) -> None:
    install(bundles[2], root, keep=2)
    install(bundles[3], root, keep=2)

    assert bundles[0].sha256 == proved_before(root)
    assert {bundles[n].sha256 for n in (2, 3)} <= on_trial(root).keys()


def test_starts_are_counted_until_there_are_too_many(root: Path, bundles: list[Bundle]) -> None:
    begun = [begin(root, (n, 0, 0)) for n in (5, 9, 1, 0)]

    assert {bundles[1].sha256} == {digest for digest, _ in begun}
    assert [((n + 1,), (max(5, n and 9), 0, 0)) for n in range(4)] == [(k.starts, k.before) for _, k in begun if k]
    assert [known.failure[:4] for _, known in begun if known] == ["", "", "", "3 pr"]
    assert on_trial(root)[bundles[1].sha256].starts == (MOST_STARTS,)


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
        assert [known.starts for known in on_trial(left).values()] == [(1,)]
    disk.close()


def test_start_that_cannot_be_counted_is_an_error(root: Path) -> None:
    (root / "trials").unlink()
    (root / "trials").mkdir()

    with pytest.raises(UpdateError):
        begin(root)


def test_nodes_that_run_side_by_side_are_no_crashes(root: Path) -> None:
    """An honest release was rolled back, since the fourth node that began with it counted the others as crashes."""
    for _ in range(MOST_STARTS + 2):
        place.cache_clear()  # as in another process, while this one goes on
        known = begin(root)[1]
        assert known is not None
        assert known.failure == ""

    assert [known.starts for known in on_trial(root).values()] == [(1,) * (MOST_STARTS + 2)]


NODE = "import sys; from pathlib import Path; from polydom_runtime.delivery.on_trial import begin; " + (
    "print(begin(Path(sys.argv[1]))[1].failure, flush=True); sys.stdin.read()"
)


def test_one_power_cut_for_several_nodes_is_one_for_each(root: Path) -> None:
    """Real processes, which are killed together."""
    said = []
    for _ in range(MOST_STARTS + 1):
        nodes = []
        for _ in range(2):
            words = [sys.executable, "-c", NODE, str(root)]
            node = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert node.stdout is not None
            said.append(node.stdout.readline()[:4].strip())
            nodes.append(node)
        for node in nodes:
            node.kill()
        for node in nodes:
            node.communicate()

    assert said == [""] * 2 * MOST_STARTS + ["3 pr"] * 2


def test_node_takes_back_only_its_own_start(root: Path, bundles: list[Bundle], world: World) -> None:
    place.cache_clear()
    begin(root)  # a node that goes on meanwhile, or crashes later
    place.cache_clear()
    begin(root)
    node = answered(following(root, world, before=bundles[0].sha256), 4)
    note(root, bundles[1].sha256, on_trial(root)[bundles[1].sha256]._replace(answers=(3, 0, 0)))  # of a third one
    node.close()

    assert {bundles[1].sha256: OnTrial((1, 0), (7, 0, 0))} == on_trial(root)


def test_answers_of_several_nodes_are_judged_by_their_number(root: Path, bundles: list[Bundle], world: World) -> None:
    """Four late ones of 3,000 are no sign of anything; of 20 they are too many."""
    new = bundles[1].sha256
    note(root, new, NEW._replace(answers=(3000, 4, 0)))
    begin(root)
    node = answered(following(root, world, before=bundles[0].sha256), 1)
    node.close()

    assert (new, {}) == (node.bundle.sha256, on_trial(root))


@pytest.mark.parametrize("parent_ends", [True, False])
def test_forked_process_does_not_keep_the_place_of_its_node(root: Path, parent_ends: bool) -> None:
    """One that outlives each crash would be taken for the node, and each next start for the first one."""
    code = "import os, sys, time; from pathlib import Path; from polydom_runtime.delivery.on_trial import begin; " + (
        "begin(Path(sys.argv[1])); child = os.fork() or time.sleep(600); print(child, flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(root)]
    node = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert node.stdout is not None
    child = int(node.stdout.readline())
    if parent_ends:
        node.kill()
        node.wait()
    begin(root)
    os.kill(child, signal.SIGKILL)
    node.kill()
    node.communicate()

    assert [(2,) if parent_ends else (1, 1)] == [known.starts for known in on_trial(root).values()]


def test_start_that_was_counted_before_the_takeover_is_taken_back(
    tmp_path: Path, bundles: list[Bundle], world: World
) -> None:
    """The process ended well while the new release was only loaded."""
    root = installed(tmp_path / "root", bundles[0])
    node = following(root, world)
    install(bundles[1], root)
    node.look()
    settle(node)
    loaded = on_trial(root)[bundles[1].sha256].starts
    node.close()

    assert (loaded, on_trial(root)[bundles[1].sha256].starts) == ((1,), (0,))


@pytest.mark.parametrize(("error", "starts"), [(MemoryError(), 1), (UpdateError("wrong call"), 0)])
def test_exception_of_the_predictor_itself_counts_as_a_crash(
    root: Path, world: World, monkeypatch: pytest.MonkeyPatch, error: Exception, starts: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    begin(root)
    node = following(root, world)
    monkeypatch.setattr(node.current, "predict_one", fail)
    with pytest.raises(type(error)):
        answered(node, 1)
    node.close()

    assert [(starts,)] == [known.starts for known in on_trial(root).values()]


def _no_lock(root: Path, _: pytest.MonkeyPatch) -> None:
    (root / "lock").unlink()
    (root / "lock").mkdir()


def _no_place(root: Path, _: pytest.MonkeyPatch) -> None:
    (root / "node.0").mkdir()


def _full_disk(_: Path, patch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    patch.setattr("polydom_runtime.delivery.on_trial.replace_file", full)


UNWRITABLE = pytest.mark.parametrize("forbid", [_no_lock, _no_place, _full_disk])
"""Rights would not keep the superuser from writing."""

Forbid = Callable[[Path, pytest.MonkeyPatch], None]


@UNWRITABLE
def test_where_nothing_can_be_written_a_new_release_has_its_trial_in_memory(
    tmp_path: Path,
    bundles: list[Bundle],
    world: World,
    forbid: Forbid,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    root = installed(tmp_path / "root", bundles[0])
    node = answered(following(root, world), 7)
    install(bundles[1], root)
    forbid(root, monkeypatch)
    taken_over(node, world)
    taken = node.bundle.sha256
    world.results["mean"] = ValueError("no sound")
    answered(node, 9)

    assert bundles[1].sha256 == taken
    assert (bundles[0].sha256, 1, 0, 1) == (node.bundle.sha256, *node.reloads[:3])
    assert caplog.text.count(NOT_KEPT) == 1
    node.close()


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
    assert [{new: OnTrial((1,), before=(7, 0, 0))}] * 2 == states
    assert on_trial(root) == {}
    node.close()


@pytest.mark.parametrize("before", [True, False])
def test_trial_goes_on_in_the_next_process(root: Path, bundles: list[Bundle], world: World, before: bool) -> None:
    """Also where there is nothing to go back to; a process that came to a good end does not count."""
    old, new, states = bundles[0].sha256, bundles[1].sha256, list[Any]()
    for _ in range(5):
        begin(root, (3, 0, 0))
        node = answered(following(root, world, before=old if before else None), 4)
        node.close()
        states.append(on_trial(root))

    assert [{new: OnTrial((0,), (4 * n, 0, 0), (3, 0, 0))} for n in (1, 2, 3, 4)] + [{}] == states


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
    assert {bundles[1].sha256: NEW._replace(starts=(0,))} == on_trial(root)
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

    assert counts == [[((0,), 10)], [((0,), 20)], [((0,), 30)], [((0,), 40)], []]


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
    assert [known.starts for known in on_trial(tmp_path / "root").values()] == [(0,)]


def test_release_without_one_that_can_answer_instead_of_it_answers(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    damage(root / "releases" / load_bundle(tmp_path / "0").sha256 / "index.msgpack")

    assert main([*command, "--deadline", "1s"]) == 0
    out, err = capsys.readouterr()
    assert labels(out) <= {"good", "bad"}
    assert "is on trial, and the one before cannot be used instead" in err
    assert [known.starts for known in on_trial(root).values()] == [()]


@pytest.mark.parametrize(("crash_after", "stays"), [(5, False), (140, True)])
def test_release_that_crashes_is_gone_after_some_starts_unless_it_proved_itself(
    tmp_path: Path, crash_after: int, stays: bool
) -> None:
    """Real processes. It crashed at each start for ever."""
    assert (stays, 5 if stays else MOST_STARTS) == tried(tmp_path, crash_after)


@UNWRITABLE
def test_where_nothing_can_be_written_the_current_release_answers_after_a_restart(
    command: list[str],
    tmp_path: Path,
    forbid: Forbid,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The old one answered, although the new one was current."""
    forbid(tmp_path / "root", monkeypatch)

    assert main([*command, "--deadline", "1s"]) == 0
    out, err = capsys.readouterr()
    assert labels(out) <= {"good", "bad"}
    assert err.count(NOT_KEPT) == 1
    assert [known.starts for known in on_trial(tmp_path / "root").values()] == [()]


@pytest.mark.parametrize("wrong", [("--items", "no_such_module:items"), ("--record", "/dev/null/x")], ids=" ".join)
def test_process_that_ends_with_an_error_has_not_crashed(
    command: list[str], tmp_path: Path, wrong: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--deadline", "1s", *wrong]) == 2
    assert [known.starts for known in on_trial(tmp_path / "root").values()] == [(0,)]


def test_process_whose_reader_leaves_has_not_crashed(command: list[str], tmp_path: Path) -> None:
    """As ``| head -1`` does."""
    read, write = os.pipe()
    os.close(read)
    subprocess.run([sys.executable, "-m", "polydom_runtime", *command, "--deadline", "1s"], stdout=write, check=False)
    os.close(write)

    assert [known.starts for known in on_trial(tmp_path / "root").values()] == [(0,)]


def test_process_that_is_interrupted_while_it_loads_the_release_has_not_crashed(
    command: list[str], tmp_path: Path
) -> None:
    parser = ArgumentParser()
    add_options(parser, run.OPTIONS)
    starts = list[Any]()

    def make(arguments: Namespace) -> Predictor:
        if Path(arguments.bundle).name == "current":
            starts.extend(known.starts for known in on_trial(tmp_path / "root").values())
            raise KeyboardInterrupt
        return run._predictor(arguments)

    with pytest.raises(KeyboardInterrupt):
        following_command(parser.parse_args(command[1:]), make)

    assert starts == [(1,)]
    assert [known.starts for known in on_trial(tmp_path / "root").values()] == [(0,)]
