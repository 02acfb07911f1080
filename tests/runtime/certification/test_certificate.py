"""Certificates: when a claim is proven, refuted or neither, what they say beside it, and their files."""

import argparse
import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime import Predictor, Seams
from polydom_runtime.binomial import SamplingPlan
from polydom_runtime.bundles.index_file import DIGEST_FILE
from polydom_runtime.certification.certificate import Certificate, Claim, MarginRange
from polydom_runtime.certification.certify import MAX_REPEATED, certify, endless, longest_pause
from polydom_runtime.commands.certify import OPTIONS, plan_of, run
from polydom_runtime.commands.options import add_options
from polydom_runtime.exceptions import CertificateError, ItemError
from polydom_runtime.items.packing import write_packed
from polydom_runtime.learning.margin import Margin
from polydom_runtime.learning.runs import Runs
from polydom_runtime.loop.metronome import Metronome
from polydom_runtime.loop.wakeups import Sleeper
from polydom_runtime.prediction import Prediction
from polydom_runtime.testing import ManualClock
from tests.runtime.conftest import US, World

PERMILLE, TWENTIETH = Claim(0.001, 0.99), Claim(0.05, 0.95)
DEADLINE_NS = 1_000_000
SPACE = "tests.runtime.node_space:space"


class Scripted:
    """A predictor whose answers take as long as a script says, from the number of the item, from 1."""

    def __init__(self, nanoseconds: Callable[[int], int], step_ns: int = 2000) -> None:
        self.clock = ManualClock(step_ns=step_ns)
        self.deadline = DEADLINE_NS / 1e9
        self.items = 0
        self.warmed = 0
        self._nanoseconds = nanoseconds

    def warm_up(self, item: Any) -> None:
        self.warmed += 1

    def predict_one(self, item: Any, *, arrived_ns: int | None = None) -> Prediction:
        self.items += 1
        took = self._nanoseconds(self.items)
        self.clock.advance(seconds=took / 1e9)
        reason = f"no time for feature {took}" if took > DEADLINE_NS else "planned"
        return Prediction(0, (), 0.5, took, took <= DEADLINE_NS, reason, 1.5)


def certified(predictor: Scripted, claim: Claim = PERMILLE, **options: Any) -> Certificate:
    def sleep(seconds: float) -> None:
        predictor.clock.advance(seconds=seconds + 50 * US)

    options = {"items": range(10), **options}
    return certify(predictor, claim=claim, clock=predictor.clock, sleep=sleep, **options)


def late_at(*numbers: int, took: int = 3_000_000) -> Callable[[int], int]:
    return lambda number: took if number in numbers else 1000


def test_4603_answers_in_time_prove_a_permille() -> None:
    predictor = Scripted(late_at())

    found = certified(predictor)

    assert (found.verdict, found.items, found.misses, found.exit_code) == ("proven", 4603, 0, 0)
    assert (predictor.items, predictor.warmed) == (4603, 1)
    assert found.rate_at_least == 0.0
    assert 0.00099 < found.rate_at_most <= 0.001
    assert found.guard_margin == 0.0
    assert found.stopped == "no more items were needed"
    assert str(found).startswith("proven: at most 0.1 % of answers are later than 1 ms, with 99 % confidence\n")


def test_an_answer_at_the_deadline_is_in_time() -> None:
    assert certified(Scripted(lambda _: DEADLINE_NS), TWENTIETH).verdict == "proven"
    assert certified(Scripted(lambda _: DEADLINE_NS + 1), TWENTIETH).verdict == "refuted"


@pytest.mark.parametrize("number", [1, 2000, 4603])
def test_one_late_answer_leaves_a_single_look_undecided(number: int) -> None:
    found = certified(Scripted(late_at(number)))

    assert (found.verdict, found.items, found.misses, found.exit_code) == ("undecided", 4603, 1, 3)
    assert found.guard_margin == 0.002
    assert found.reasons == {"no time for feature 3000000": 1}
    (miss,) = found.missed
    assert (miss.item, miss.late_ns, miss.slowdown) == (number, 2_000_000, 1.5)
    assert "a guard margin of 2 ms would have been enough" in str(found)


def test_a_single_look_can_forgive_misses_for_more_items() -> None:
    plan = SamplingPlan.single_look(0.001, 0.99, misses=1)

    found = certified(Scripted(late_at(4000)), plan=plan)

    assert (found.verdict, found.items, found.misses) == ("proven", 6636, 1)
    assert found.looks == ((6636, 1),)


def test_many_looks_go_on_after_a_miss() -> None:
    plan = SamplingPlan.many_looks(0.001, 0.99)

    assert certified(Scripted(late_at()), plan=plan).items == 5296
    found = certified(Scripted(late_at(10)), plan=plan)

    assert (found.verdict, found.items, found.misses) == ("proven", 8060, 1)


def test_many_looks_refute_early_and_go_on_to_the_first_look_for_the_margin() -> None:
    plan = SamplingPlan.many_looks(0.05, 0.95)

    found = certified(Scripted(lambda number: 4_000_000 if number < 50 else 1000), TWENTIETH, plan=plan)

    assert (found.verdict, found.items, found.misses) == ("refuted", plan.first, 49)
    assert found.guard_margin == 0.003


def test_many_looks_end_undecided_at_the_last() -> None:
    plan = SamplingPlan.many_looks(0.05, 0.95, most_misses=2)

    found = certified(Scripted(lambda number: 3_000_000 if number % 20 == 0 else 1000), TWENTIETH, plan=plan)

    assert (found.verdict, found.items) == ("undecided", plan.last)


def test_what_is_late_too_often_is_refuted_with_the_margin_that_would_have_been_enough() -> None:
    found = certified(Scripted(lambda number: 1000 * number))

    assert (found.verdict, found.items, found.misses, found.exit_code) == ("refuted", 4603, 3603, 1)
    assert found.guard_margin == 3603e-6
    assert found.most_in_a_row == 3603
    assert (len(found.missed), found.missed[0].item) == (100, 1001)
    assert sum(found.reasons.values()) == 3603
    assert found.rate_at_least > 0.001
    assert str(found).startswith("refuted: more than 0.1 % ")


def test_the_guard_margin_earns_the_certificate() -> None:
    def script(margin_ns: int) -> Scripted:
        return Scripted(lambda n: 500_000 + 1_000_000 * (n % 7 == 0) + 321_000 * (n % 11 == 0) - margin_ns)

    margin = certified(script(0), TWENTIETH).guard_margin

    assert margin == 500_000e-9
    assert certified(script(500_000), TWENTIETH, plan=SamplingPlan.single_look(0.05, 0.95, 5)).verdict == "proven"


def test_a_shorter_deadline_of_the_predictor_is_a_guard() -> None:
    found = certified(Scripted(lambda _: 1_200_000), TWENTIETH, deadline=1.2e-3)

    assert (found.verdict, found.deadline) == ("proven", 1.2e-3)


def test_time_that_is_up_leaves_the_claim_undecided() -> None:
    found = certified(Scripted(lambda _: 300_000), seconds=0.5)

    assert (found.verdict, found.stopped, found.exit_code) == ("undecided", "time was up", 3)
    assert 0 < found.items < 4603
    assert found.guard_margin is None
    assert "too few items for a guard margin" in str(found)


def test_a_certificate_without_any_answer_can_be_read(tmp_path: Path) -> None:
    found = certified(Scripted(late_at()), seconds=1e-9)
    found.write(tmp_path / "certificate.json")

    assert (found.items, found.rate_at_least, found.rate_at_most) == (0, 0.0, 1.0)
    assert Certificate.read(tmp_path / "certificate.json") == found
    assert "none" in str(found)


def test_an_interrupted_run_says_what_it_knows() -> None:
    def interrupted(number: int) -> int:
        if number == 100:
            raise KeyboardInterrupt
        return 1000

    found = certified(Scripted(interrupted))

    assert (found.verdict, found.items, found.stopped) == ("undecided", 99, "interrupted")


def test_elapsed_times_are_told_in_shares_of_the_deadline() -> None:
    share = certified(Scripted(lambda number: 900_000 if number % 50 == 0 else 100_000)).elapsed_share

    assert share["p50"] == pytest.approx(0.1, rel=0.02)
    assert share["p99"] == pytest.approx(0.9, rel=0.02)
    assert share["max"] == pytest.approx(0.9)


def test_pauses_of_the_machine_alone_are_watched_between_items() -> None:
    predictor = Scripted(lambda _: 100_000)
    clock, readings = predictor.clock, iter(range(10**9))

    def stumbling() -> int:
        if next(readings) % 5_000 == 4_999:
            clock.advance(seconds=7e-3)
        return clock()

    found = certify(
        predictor,
        range(10),
        TWENTIETH,
        plan=SamplingPlan.single_look(0.001, 0.99),
        clock=stumbling,
        sleep=lambda seconds: clock.advance(seconds=seconds + 50 * US),
    )

    assert found.watched == 4602 // 4
    assert found.pauses["p50"] == pytest.approx(2e-6, rel=0.02)
    assert found.pauses["max"] == pytest.approx(7e-3, rel=0.02)
    assert all(50_000 <= jitter.p50_ns < 60_000 for jitter in found.wake_ups)


def test_the_longest_pause_is_the_longest_between_two_readings() -> None:
    readings = iter([0, 10, 500, 505, 1001])

    assert longest_pause(1000, lambda: next(readings)) == 496


def test_a_predictor_whose_feature_became_slow_is_not_proven(world: World, bundle_folder: Path) -> None:
    world.clock = ManualClock(step_ns=10)
    predictor = Predictor.load(bundle_folder, world.space, deadline=200 * US, seams=Seams(clock=world.clock))
    world.seconds["mean"] = 1e-3

    found = certify(
        predictor,
        [np.arange(50.0)],
        TWENTIETH,
        clock=world.clock,
        sleep=lambda seconds: world.clock.advance(seconds=seconds),
    )

    assert found.items == 59
    assert found.misses > 0
    assert found.verdict in ("undecided", "refuted")
    assert found.guard_margin == pytest.approx(1e-3, rel=0.2)


def test_a_sequence_is_shuffled_each_time_round() -> None:
    taken = list(islice(endless(range(50), seed=1), 100))

    assert Counter(taken) == dict.fromkeys(range(50), 2)
    assert taken[:50] != taken[50:]
    assert taken[:50] != sorted(taken[:50])
    assert taken == list(islice(endless(range(50), seed=1), 100))
    assert taken != list(islice(endless(range(50), seed=2), 100))


def test_a_stream_is_taken_as_it_comes_and_then_shuffled() -> None:
    stream = endless(iter(range(MAX_REPEATED + 5)), seed=0)

    assert list(islice(stream, MAX_REPEATED + 5)) == list(range(MAX_REPEATED + 5))
    assert sorted(islice(stream, MAX_REPEATED)) == list(range(MAX_REPEATED))


@pytest.mark.parametrize("items", [[], iter([])])
def test_no_items_are_an_error(items: Any) -> None:
    with pytest.raises(ItemError, match="Got none"):
        certified(Scripted(late_at()), items=items)


@pytest.mark.parametrize(
    ("named", "line"),
    [
        ({"name": "bats", "version": "1.2"}, "bundle bats 1.2 abc"),
        ({}, "bundle abc"),
        ({"name": "a\x1b"}, "bundle a? abc"),
    ],
)
def test_a_certificate_names_the_bundle(named: dict[str, str], line: str, certificate: Certificate) -> None:
    found = replace(certificate, context={"bundle": {"path": "b", "index_sha256": "abc", **named}})

    assert line == str(found).splitlines()[-1]


def test_certificate_states_the_margins_with_which_answers_were_planned() -> None:
    """Those before each answer: what the last one made of it was not planned with."""
    predictor = Scripted(late_at())
    predictor.margin = Margin(0.05)  # type: ignore[attr-defined]
    values = {1: 1.25, 2: 3.0, 3: 1.0, 59: 2.0}

    def margin_moves(number: int) -> int:
        predictor.margin.value = values.get(number, predictor.margin.value)  # type: ignore[attr-defined]
        return 1000

    predictor._nanoseconds = margin_moves
    found = certified(predictor, TWENTIETH)

    assert found.margin == MarginRange(1.0, 3.0, 1.0)
    assert "all times were planned with a margin of 1.00 to 3.00, 1.00 at the end" in str(found)
    assert certified(Scripted(late_at()), TWENTIETH).margin is None


def test_certificate_states_the_promise_about_late_answers_in_a_row_and_its_outcome() -> None:
    kept, broken = (
        certified(Scripted(late_at(*late)), TWENTIETH, runs=Runs(1, 20)) for late in ((3, 23, 50), (3, 22, 23))
    )

    assert (kept.late_at_most, broken.late_at_most) == ((1, 20, 0, 1), (1, 20, 2, 2))
    assert "late at most 1 of any 20 answers: kept, 1 in the worst case" in str(kept)
    assert "late at most 1 of any 20 answers: broken, 2 too many, 2 in the worst case" in str(broken)
    assert "late at most" not in str(certified(Scripted(late_at()), TWENTIETH))


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    found = certified(Scripted(late_at(5, 6, 300)), TWENTIETH, runs=Runs(1, 20))
    found = replace(found, margin=MarginRange(1.0, 1.5, 1.25))
    return replace(found, context={"machine": {"device": "board"}, "load": "cpu:2"})


def test_a_certificate_is_read_as_it_was_written(certificate: Certificate, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_text("older")

    certificate.write(file)

    assert Certificate.read(file) == certificate
    assert [f.name for f in tmp_path.iterdir()] == ["certificate.json"]


def test_a_certificate_that_cannot_be_written_says_so_and_leaves_nothing(
    certificate: Certificate, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()

    with pytest.raises(CertificateError, match="can be written"):
        certificate.write(tmp_path / "folder")

    assert [f.name for f in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 3},
        {"verdict": "certain"},
        {"misses": 100_000},
        {"items": "many"},
        {"claim": None},
        {"looks": 3},
        {"wake_ups": []},
        {"missed": [{"item": 1}]},
        {"unknown": 1},
        {"reasons": None},
        {"elapsed_share": {"p50": "x"}},
        {"waited_share": 3},
        {"deadline": []},
        {"deadline": 10**400},
        {"deadline": True},
        {"rate_at_least": math.inf},
        {"guard_margin": math.nan},
        {"claim": {"miss_rate": "x", "confidence": 0.9}},
        {"looks": [[1, "x"]]},
        {"stopped": {}},
        {"context": {"load": math.inf}},
        {"margin": {"smallest": 0.5, "largest": 1.0, "last": 1.0}},
        {"margin": 1.0},
        {"late_at_most": {"most": 1, "window": 0, "broken": 0, "worst": 1}},
    ],
)
def test_a_damaged_certificate_is_refused(change: dict[str, Any], certificate: Certificate, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    certificate.write(file)
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))

    with pytest.raises(CertificateError, match="must be a certificate"):
        Certificate.read(file)


def test_a_certificate_cut_anywhere_is_refused(certificate: Certificate, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    certificate.write(file)
    whole = file.read_bytes().rstrip()

    for end in range(0, len(whole), 7):
        file.write_bytes(whole[:end])
        with pytest.raises(CertificateError, match="must be a certificate"):
            Certificate.read(file)


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser, OPTIONS)
    return parser.parse_args(words)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    write_packed(tmp_path / "items.npz", [np.arange(n, dtype=np.float32) for n in (3, 40, 900)])
    return tmp_path / "items.npz"


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_the_command_certifies_a_bundle_and_stamps_what_it_depends_on(
    bundle_folder: Path, items: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "certificate.json"
    words = (
        "--miss-rate 0.05 --confidence 0.95 --deadline 3600s --guard 5s --load cpu:1 --seed 7 --late-at-most 1/20 --out"
    )

    code = run(parsed(str(bundle_folder), SPACE, "--items", str(items), *words.split(), str(out))).code

    found = Certificate.read(out)
    assert (code, found.verdict, found.items, found.deadline) == (0, "proven", 59, 3600.0)
    assert (found.margin, found.late_at_most) == (MarginRange(1.0, 1.0, 1.0), (1, 20, 0, 0))
    assert capsys.readouterr().out == f"{found}\n"
    context = found.context
    digest = (bundle_folder / DIGEST_FILE).read_text().split()[0]
    assert context["bundle"] == {"path": str(bundle_folder), "name": "", "version": "", "index_sha256": digest}
    assert (context["guard"], context["load"], context["policy"]) == (5.0, "cpu:1", "anytime")
    assert (len(context["items"]["sha256"]), context["items"]["seed"]) == (64, 7)
    assert {"device", "numpy", "began", "warnings"} <= context["machine"].keys()


def test_the_command_looks_for_room_before_it_begins(bundle_folder: Path, items: Path, tmp_path: Path) -> None:
    out = tmp_path / "nowhere" / "certificate.json"

    with pytest.raises(CertificateError, match="must exist and be writable"):
        run(parsed(str(bundle_folder), SPACE, "--items", str(items), "--out", str(out)))


def test_the_deadline_of_the_bundle_is_the_one_that_is_guarded_and_the_looks_are_as_told(
    bundle_folder: Path, items: Path, tmp_path: Path
) -> None:
    out = tmp_path / "certificate.json"
    words = ["--guard", "50us", "--seconds", "0.000000001", "--many-looks", "--forgive", "1", "--out", str(out)]

    assert run(parsed(str(bundle_folder), SPACE, "--items", str(items), *words)).code == 3
    found = Certificate.read(out)
    assert found.deadline == 0.0002
    assert found.looks == ((5296, 0), (8060, 1))


@pytest.mark.parametrize(
    ("words", "looks"),
    [
        ("", ((4603, 0),)),
        ("--forgive 2", ((8403, 2),)),
        ("--many-looks --forgive 1", ((5296, 0), (8060, 1))),
    ],
)
def test_how_often_to_look_is_told_on_the_command_line(words: str, looks: tuple[tuple[int, int], ...]) -> None:
    assert plan_of(parsed("b", SPACE, "--items", "i", *words.split())).looks == looks


class Rehearsing(Scripted):
    """One that rehearses in 300 µs."""

    def __init__(self) -> None:
        super().__init__(lambda number: 1000, step_ns=10)
        self.rehearsed: list[int] = []
        self.asked: list[tuple[int, int]] = []
        self.slack: list[float] = []

    def rehearse(self) -> None:
        self.clock.advance(seconds=300e-6)
        self.rehearsed.append(self.clock())

    def use_slack(self, seconds: float) -> None:
        self.slack.append(seconds)

    def predict_one(self, item: Any, *, arrived_ns: int | None = None) -> Prediction:
        assert arrived_ns is not None
        called = self.clock()
        self.asked.append((arrived_ns, called))
        return super().predict_one(item)._replace(waited_ns=called - arrived_ns)


@pytest.mark.parametrize("rehearse", [True, False])
def test_certificate_at_a_period_is_of_items_that_come_after_a_sleep(rehearse: bool, tmp_path: Path) -> None:
    predictor = Rehearsing()

    def sleep(seconds: float) -> None:
        predictor.clock.advance(seconds=seconds + 40e-6)

    sleeper = Sleeper(predictor.clock, sleep, preemptions=lambda: 0)
    metronome = Metronome(predictor, 0.01, rehearse=rehearse, clock=predictor.clock, sleeper=sleeper)
    found = certified(predictor, TWENTIETH, metronome=metronome)

    assert (found.verdict, found.period, found.rehearsed) == ("proven", 0.01, rehearse)
    assert {b - a for (a, _), (b, _) in pairwise(predictor.asked)} == {10_000_000}
    waited = {called - due for due, called in predictor.asked[1:]}
    assert max(waited) < 1_000 if rehearse else min(waited) > 39_000
    assert (len(predictor.rehearsed) >= found.items) == rehearse
    assert len(predictor.slack) == found.items
    assert 0.008 < min(predictor.slack[1:]) <= max(predictor.slack) < 0.01
    assert "an item every 10 ms, asleep between, " + ("rehearsed" if rehearse else "not rehearsed") in str(found)
    found.write(tmp_path / "c.json")
    assert Certificate.read(tmp_path / "c.json") == found


@pytest.mark.parametrize("version", [0, 2, True])
def test_certificate_of_another_version_says_what_to_do(version: Any, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    certified(Scripted(late_at()), TWENTIETH).write(file)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"version": version}))

    with pytest.raises(
        CertificateError,
        match=rf"version 1\. Got {version}\. Write it again with `polydom-node certify`, or upgrade polydom-runtime\.",
    ):
        Certificate.read(file)
