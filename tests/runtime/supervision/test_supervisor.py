"""The supervised predictor: every item is answered, whatever becomes of the processes that compute.

The deadline is minutes, so that no worker is late on a busy machine; a worker that hangs says so, and is waited for no
longer. Where a test needs a deadline that ends, it asserts only facts that hold however slow the machine is.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from polydom_runtime.clock import hardware_clock
from polydom_runtime.exceptions import BundleMismatchError, DeadlineError, ItemError, WorkerError
from polydom_runtime.policy.rehearsal import KeptItems
from polydom_runtime.supervision import nursery
from polydom_runtime.supervision.shared_block import NO_STAGE, SharedBlock, read_item, write_item
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from polydom_runtime.supervision.worker import Link, Reply
from polydom_runtime.supervision.worker_times import with_hand_over
from tests.bundle_parts import changed, regime_of, with_regimes
from tests.draws import draws
from tests.runtime import supervised_space as faults
from tests.runtime.conftest import make_bundle, write

SPACE = "tests.runtime.supervised_space:space"
KILLS = draws(20, 100)
"""In the tests; a thousand in tests/benchmarks/faults.py."""

EVER_S = 300.0
"""Nothing here takes so long unless it never happens."""

DEADLINE_S, MARGIN_S = 400.0, 60.0
ALL = ("mean", "spread", "ends")


def make_folder(folder: Path) -> Path:
    bundle, models = make_bundle()
    wide = changed(bundle, budgets=(1e-3, DEADLINE_S), steps=())
    return write(folder, with_regimes(wide, rehearsed=1e-6, cold=2e-6), models)


def supervised(folder: Path, reply: Any = faults.reply_unless_hung, space: str = SPACE) -> SupervisedPredictor:
    return SupervisedPredictor(
        make_folder(folder),
        space,
        deadline=DEADLINE_S,
        reserve=MARGIN_S,
        item_bytes=1 << 20,
        reply=reply,
    )


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SupervisedPredictor]:
    """One for all tests that leave nothing behind: to start it takes most of their time."""
    with supervised(tmp_path_factory.mktemp("shared") / "b") as shared:
        yield shared


def item(first: float = 0.0) -> np.ndarray:
    x = np.arange(100.0)
    x[0] = first
    return x


def wait_until(condition: Any) -> None:
    end = time.monotonic() + EVER_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def answer_by_worker(predictor: SupervisedPredictor, features: tuple[str, ...] = ALL) -> Any:
    """Answer items until a worker does, with these features."""
    end = time.monotonic() + EVER_S
    while (answer := predictor.predict_one(item())).reason.startswith("supervised") or answer.features != features:
        assert time.monotonic() < end
        time.sleep(0.0 if predictor.worker_pid else 0.002)  # leaves the processor to what starts a worker
    return answer


def restart_nursery(predictor: SupervisedPredictor) -> None:
    """Kill the nursery, and wait until there is another one."""
    wait_until(lambda: predictor.nursery_pid)
    nursery, restarts = predictor.nursery_pid, predictor.nursery_restarts
    assert nursery  # 0 would stand for all processes of the group
    os.kill(nursery, signal.SIGKILL)
    wait_until(lambda: predictor.nursery_restarts > restarts)
    assert predictor.nursery_restarts == restarts + 1


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_worker_answers_as_a_predictor_does(predictor: SupervisedPredictor) -> None:
    answer = predictor.predict_one(item())

    assert (answer.label, answer.features, answer.accuracy) == ("yes", ALL, 0.9)
    assert answer.reason == "planned"
    assert predictor.trace.size == 100.0
    assert predictor.trace.features == [0, 1, 2]
    assert len(predictor.trace.marks) == 6
    assert predictor.n_oversized == 0


def test_answer_of_a_worker_is_explained(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)

    found = predictor.explain(item())

    assert found.answer.features == ALL
    assert found.size == 100.0
    assert found.deadline_ns == pytest.approx((DEADLINE_S - MARGIN_S) * 1e9)
    assert [one.name for one in found.work] == [*ALL, ""]
    assert all(one.worst_ns for one in found.work)
    assert (found.better, [one.accuracy for one in found.cheaper]) == ((), [0.8, 0.7])


def test_answer_of_the_supervisor_is_explained_by_its_reason(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)

    found = predictor.explain(item(faults.CRASHES))

    assert found.answer.reason == "supervised: the worker died in ends"
    assert [one.name for one in found.work] == [""]
    assert (found.planned, found.better, found.cheaper) == (None, (), ())
    assert "reason: supervised: the worker died in ends" in str(found)


@pytest.mark.parametrize("fault", [faults.STEPS_ASIDE, faults.HOLDS_THE_LOCK, faults.STOPS])
def test_feature_that_hangs_costs_only_itself(predictor: SupervisedPredictor, fault: int) -> None:
    answer_by_worker(predictor)

    answer = predictor.predict_one(item(fault))

    assert (answer.label, answer.features, answer.accuracy) == ("no", ("mean", "spread"), 0.8)
    assert answer.reason == "supervised: ends was not done in time"
    assert predictor.predict_one(item()).features == ALL
    assert predictor.counts["late"] >= 1
    assert predictor.restarts >= 1


def test_worker_is_waited_for_until_the_margin_before_the_deadline(tmp_path: Path) -> None:
    """For a margin less and the slowest model's 5 µs at first, then while that answer is at hand.

    What this process takes for itself, which is up to the machine, is not waited for.
    """
    asked_s: list[float] = []

    def reply(link: Link, nanoseconds: int) -> Reply | None:
        asked_s.append(nanoseconds * 1e-9)
        return faults.reply_unless_hung(link, nanoseconds)

    with supervised(tmp_path / "b", reply) as own:
        answer = own.predict_one(item(faults.STEPS_ASIDE))
        own.predict_one(item())

    taken_s = answer.elapsed_ns * 1e-9
    first, second, for_the_late_one, _ = asked_s
    assert 0.0 <= DEADLINE_S - 2 * MARGIN_S - 5e-6 - first <= taken_s
    assert 0.0 <= DEADLINE_S - MARGIN_S - second <= taken_s
    assert for_the_late_one == DEADLINE_S / 4


@pytest.mark.parametrize("fault", [faults.CRASHES, faults.EXITS])
def test_feature_that_ends_its_process_costs_only_itself(predictor: SupervisedPredictor, fault: int) -> None:
    answer_by_worker(predictor)

    answer = predictor.predict_one(item(fault))

    assert (answer.label, answer.features) == ("no", ("mean", "spread"))
    assert answer.reason == "supervised: the worker died in ends"
    assert predictor.predict_one(item()).features == ALL


@pytest.mark.parametrize("fault", [faults.RAISES, faults.NOT_A_NUMBER, faults.WRONG_WIDTH, faults.HUGE])
def test_feature_that_fails_costs_no_worker(predictor: SupervisedPredictor, fault: int) -> None:
    answer_by_worker(predictor)
    worker, told = predictor.worker_pid, predictor.causes.counts.get("ends", 0)

    answer = predictor.predict_one(item(fault))

    assert (answer.features, answer.reason) == (("mean", "spread"), "ends failed")
    assert answer.error.startswith("ends: ")
    assert predictor.causes.counts["ends"] == told + 1
    assert predictor.worker_pid == worker


def test_feature_that_keeps_crashing_is_left_out(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)
    told = predictor.causes.counts.get("ends", 0)

    crashes = [predictor.predict_one(item(faults.CRASHES)).reason for _ in range(3)]
    answer = predictor.predict_one(item(faults.CRASHES))

    assert crashes == ["supervised: the worker died in ends"] * 3
    assert (answer.features, answer.reason) == (("mean", "spread"), "planned")
    assert predictor.out == {"ends"}
    assert predictor.failures == {"ends": 3}
    assert predictor.causes.counts == {"ends": told + 3}


def test_workers_killed_at_random_instants_cost_no_answer(predictor: SupervisedPredictor) -> None:
    """A thread kills whichever worker is there, at instants drawn from a seeded generator.

    On a slow machine most kills come while a feature is computed. Such features are left out for a while, so it may
    take thousands of items until a worker computes all again.
    """
    rng, over = Random(0), Event()
    killed: list[int] = []
    answer_by_worker(predictor)
    counted = sum(predictor.counts.values())

    def kill() -> None:
        while len(killed) < KILLS:
            time.sleep(rng.random() * 0.02)
            worker = predictor.worker_pid
            if worker and worker not in killed[-1:]:
                killed.append(worker)
                try:
                    os.kill(worker, signal.SIGKILL)
                except ProcessLookupError:
                    killed.pop()
        over.set()

    killer = Thread(target=kill)
    killer.start()
    answers = []
    while not over.is_set():
        answers.append(predictor.predict_one(item()))
    killer.join()

    lost = sum(answer.label not in ("no", "yes") for answer in answers)
    assert (len(killed), lost) == (KILLS, 0)
    assert sum(predictor.counts.values()) - counted == len(answers)
    assert answer_by_worker(predictor).reason == "planned"


def patient(link: Link, nanoseconds: int) -> Reply | None:
    """Wait for a worker that does not hang, however busy the machine is, in rehearsals too."""
    return faults.reply_unless_hung(link, max(nanoseconds, int(EVER_S * 1e9)))


@pytest.fixture(scope="module")
def patient_predictor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SupervisedPredictor]:
    """One for all rehearsals that leave nothing behind."""
    with supervised(tmp_path_factory.mktemp("patient") / "b", patient) as shared:
        yield shared


def counted(predictor: SupervisedPredictor) -> Any:
    """Return all that items count in."""
    t = predictor.trace
    return (
        (predictor.counts.copy(), predictor.failures.copy(), predictor.out, predictor.restarts),
        (predictor.slowdown, predictor.n_oversized, predictor.worker_pid),
        (t, t.size, t.features.copy(), t.marks.copy()),
    )


def test_rehearsal_takes_the_way_of_an_item_and_counts_nowhere(tmp_path: Path) -> None:
    """The small item is answered once or more; there is no other one."""
    replies: list[Reply | None] = []

    def reply(link: Link, nanoseconds: int) -> Reply | None:
        replies.append(patient(link, nanoseconds))
        return replies[-1]

    with supervised(tmp_path / "b", reply) as own:
        own.rehearse()
        assert replies == []
        answer_by_worker(own)
        before = counted(own)
        replies.clear()
        own.rehearse()

        rehearsed = [r.answer.features for r in replies if r and r.answer]
        assert rehearsed
        assert all(features == ALL[: len(features)] for features in rehearsed)  # as far as the time allows
        assert own._link is not None
        assert own._link.stage == NO_STAGE
        assert counted(own) == before
        assert own.predict_one(item())[:3] == ("yes", ALL, 0.9)
        assert own.predict_one(item()).slowdown == before[1][0]


def test_rehearsal_is_not_counted_in_the_worker(patient_predictor: SupervisedPredictor) -> None:
    """Three crashes of a feature would put it out; a rehearsal is no item, and its answer is not a success either."""
    answer_by_worker(patient_predictor)
    for _ in range(2):
        patient_predictor.predict_one(item(faults.RAISES))
    patient_predictor.rehearse()
    patient_predictor.predict_one(item(faults.RAISES))
    patient_predictor.predict_one(item(faults.RAISES))

    assert patient_predictor.out == {"ends"}


def kept(own: SupervisedPredictor, bad: np.ndarray) -> SupervisedPredictor:
    """Return the predictor after an answer, with a bad item in place of the kept ones."""
    answer_by_worker(own)
    own._kept = KeptItems()
    own._kept.offer(bad, 100.0)
    own._last = None
    return own


@pytest.mark.parametrize("fault", [faults.STEPS_ASIDE, faults.HOLDS_THE_LOCK, faults.STOPS])
def test_worker_that_hangs_in_a_rehearsal_is_replaced_for_the_next_item(
    patient_predictor: SupervisedPredictor, fault: int
) -> None:
    worker = kept(patient_predictor, item(fault)).worker_pid
    counts, restarts = patient_predictor.counts.copy(), patient_predictor.restarts
    patient_predictor.rehearse()
    assert patient_predictor.counts == counts
    answer = patient_predictor.predict_one(item())

    assert answer.features == ALL
    assert patient_predictor.worker_pid != worker
    assert patient_predictor.restarts == restarts + 1
    patient_predictor.rehearse()
    assert patient_predictor.predict_one(item()).features == ALL


@pytest.mark.parametrize("fault", [faults.CRASHES, faults.EXITS])
def test_worker_that_dies_in_a_rehearsal_costs_no_answer(patient_predictor: SupervisedPredictor, fault: int) -> None:
    kept(patient_predictor, item(fault)).rehearse()
    answer = patient_predictor.predict_one(item())

    assert answer.features == ALL
    assert patient_predictor.counts["died"] == 0


def test_worker_that_died_is_replaced_in_a_rehearsal(patient_predictor: SupervisedPredictor) -> None:
    answer_by_worker(patient_predictor)
    worker, link = patient_predictor.worker_pid, patient_predictor._link
    wait_until(lambda: patient_predictor._keeper._ready.qsize())
    assert link is not None
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not link.lives())  # a zombie may still have threads, and with them its end of the pipe
    patient_predictor.rehearse()

    assert patient_predictor.worker_pid not in (0, worker)
    assert patient_predictor.predict_one(item()).features == ALL


def test_busy_worker_is_left_alone_by_a_rehearsal(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)
    predictor.predict_one(item(faults.STEPS_ASIDE))
    before = counted(predictor)
    predictor.rehearse()

    assert counted(predictor) == before


def test_deadline_runs_from_the_arrival(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)
    waited_ns = int((DEADLINE_S - MARGIN_S) / 4 * 1e9)
    arrived = hardware_clock() - waited_ns
    answer = predictor.predict_one(item(), arrived_ns=arrived)

    assert (answer.features, answer.deadline_met) == (ALL, True)
    assert answer.waited_ns >= waited_ns
    assert answer.elapsed_ns > answer.waited_ns
    assert predictor.trace.marks[0] == arrived + answer.waited_ns


def test_a_call_may_have_a_shorter_deadline_of_its_own(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)
    long, short = (predictor.predict_one(item(), deadline=share * DEADLINE_S) for share in (0.9, MARGIN_S / DEADLINE_S))

    assert (long.features, long.deadline_met, long.waited_ns) == (ALL, True, 0)
    assert 0 < long.elapsed_ns < DEADLINE_S / 10 * 1e9
    assert (short.features, short.deadline_met) == ((), True)  # all of it is kept in reserve
    with pytest.raises(DeadlineError, match="at most that of the predictor, 400 s"):
        predictor.predict_one(item(), deadline=DEADLINE_S + 1.0)


def test_item_that_waited_for_too_long_gets_the_prior_and_no_worker(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)
    before = predictor.counts["waited"], predictor.counts["worker"]
    arrived = hardware_clock() - int(DEADLINE_S * 1e9)
    answer = predictor.predict_one(item(), arrived_ns=arrived)

    assert (answer.label, answer.features, answer.deadline_met) == ("no", (), False)
    assert answer.reason == "supervised: the item had waited for too long"
    assert answer.waited_ns >= int(DEADLINE_S * 1e9)
    assert (predictor.counts["waited"] - 1, predictor.counts["worker"]) == before


def test_arrival_in_the_future_counts_as_the_call(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)

    assert predictor.predict_one(item(), arrived_ns=hardware_clock() + 10**12).waited_ns == 0


def test_hand_over_is_measured_in_each_regime_and_planned_for(predictor: SupervisedPredictor) -> None:
    measured = predictor._keeper.hand_over
    bundle = with_regimes(make_bundle()[0], rehearsed=1e-6, cold=2e-6)
    ours = with_hand_over(bundle, {"hot": 1.0, "rehearsed": 2.0, "cold": 3.0})

    assert set(measured) == {"hot", "rehearsed", "cold"}
    assert min(measured.values()) > 0.0
    for regime, seconds in (("hot", 1.0), ("rehearsed", 2.0), ("cold", 3.0)):
        before, after = (b.at(1.0, regime_of(regime)).times for b in (bundle, ours))
        for kind in ("worst", "planned", "guarded"):
            a, b = (getattr(times, kind).dispatch(10.0) for times in (before, after))
            assert b - a == pytest.approx(seconds)
        assert after.typical == before.typical


def test_nursery_that_is_killed_is_started_again(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)

    restart_nursery(predictor)
    answers = [predictor.predict_one(item()), answer_by_worker(predictor)]

    assert {answer.label for answer in answers} <= {"no", "yes"}


def test_nursery_that_is_killed_while_it_starts_is_started_again(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)
    killed, restarts = [0], predictor.nursery_restarts
    for _ in range(3):
        wait_until(lambda: predictor.nursery_pid not in (0, killed[-1]))
        killed.append(predictor.nursery_pid)
        assert killed[-1]
        os.kill(killed[-1], signal.SIGKILL)

    assert answer_by_worker(predictor).features == ALL
    wait_until(lambda: predictor.nursery_restarts >= restarts + 3)


@pytest.mark.parametrize("now", draws(["another"], ["another", "none", "damaged"]))
def test_new_nursery_has_the_bundle_of_the_supervisor_whatever_its_folder_holds(now: str, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    with supervised(folder) as predictor:
        before = answer_by_worker(predictor)
        if now == "damaged":
            for file in (folder / "models").iterdir():
                file.write_bytes(b"")
        else:
            shutil.rmtree(folder)
        if now == "another":
            bundle, models = make_bundle()
            write(folder, changed(bundle, classes=("other", "labels"), steps=()), models)
        restart_nursery(predictor)

        assert answer_by_worker(predictor)[:3] == before[:3]


def test_workers_are_born_warm_unless_that_crashes(tmp_path: Path) -> None:
    with supervised(tmp_path / "b") as own:
        assert own.warm_up(item())
        assert not own.warm_up(item(faults.CRASHES))
        assert answer_by_worker(own).features == ALL


@pytest.mark.parametrize(
    ("unfit", "reason"),
    [
        (np.zeros(1 << 18), "supervised: the item is larger than 1048576 bytes"),
        (lambda: 0, "supervised: the item can be neither shared nor pickled"),
    ],
)
def test_item_that_cannot_be_passed_gets_the_prior(predictor: SupervisedPredictor, unfit: Any, reason: str) -> None:
    answer = predictor.predict_one(unfit)

    assert (answer.label, answer.features, answer.reason) == ("no", (), reason)


def test_item_without_a_size_gets_the_prior(predictor: SupervisedPredictor) -> None:
    answer_by_worker(predictor)

    assert predictor.predict_one(None).reason == "size failed"


LEAK_CHECK = """
import os, numpy
from polydom_runtime.supervision import hand_over
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from tests.runtime.supervised_space import CRASHES, STEPS_ASIDE, reply_unless_hung

hand_over.ASLEEP_S = 1e-4

def used():
    maps = [line for line in open("/proc/self/maps") if "polydom" in line and "memfd" in line]
    return len(os.listdir("/proc/self/fd")), len(maps)

def work():
    with SupervisedPredictor(FOLDER, SPACE, deadline=DEADLINE_S, reply=reply_unless_hung) as predictor:
        for fault in (0, CRASHES, 0, STEPS_ASIDE, 0):
            predictor.predict_one(numpy.full(10, float(fault)))
        during = used()
        nursery = predictor.nursery_pid
        print(nursery, open(f"/proc/{nursery}/task/{nursery}/children").read())
    return predictor, during

work()
before = used()
predictor, during = work()
assert during > before and used() == before, (before, during, used())
"""


def test_close_leaves_no_process_descriptor_or_memory(tmp_path: Path) -> None:
    """In a process of its own, where nothing else opens and closes."""
    names = {"FOLDER": str(make_folder(tmp_path / "b")), "SPACE": SPACE, "DEADLINE_S": DEADLINE_S}
    program = "\n".join(f"{name} = {value!r}" for name, value in names.items()) + LEAK_CHECK

    warned = ["-W", "error", "-W", "default:Models that are meant for onnxruntime"]
    done = subprocess.run([sys.executable, *warned, "-c", program], stdout=subprocess.PIPE, text=True)

    assert done.returncode == 0
    processes = [int(pid) for pid in done.stdout.split()]
    assert len(processes) > 2
    wait_until(lambda: not any(map(is_alive, processes)))


def test_killed_supervisor_leaves_no_process(tmp_path: Path) -> None:
    program = (
        "import numpy, sys\n"
        "from polydom_runtime.supervision.supervisor import SupervisedPredictor\n"
        "from tests.runtime.supervised_space import reply_unless_hung\n"
        f"folder, space = {str(make_folder(tmp_path / 'b'))!r}, {SPACE!r}\n"
        f"p = SupervisedPredictor(folder, space, deadline={DEADLINE_S}, reply=reply_unless_hung)\n"
        f"p.predict_one(numpy.full(10, {faults.HOLDS_THE_LOCK}.0))\n"
        "print(p.nursery_pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as supervisor:
        assert supervisor.stdout
        nursery = int(supervisor.stdout.readline())
        processes = [nursery, *children(nursery)]
        supervisor.kill()

    assert len(processes) > 1
    wait_until(lambda: not any(map(is_alive, processes)))


def test_stuck_worker_is_killed_though_no_item_comes(tmp_path: Path) -> None:
    """Ten deadlines later: in whatever the worker is then, and however late it got there."""
    with SupervisedPredictor(make_folder(tmp_path / "b"), SPACE, deadline=0.1) as predictor:
        wait_until(lambda: predictor.predict_one(item()) and predictor.worker_pid)
        worker = predictor.worker_pid
        answer = predictor.predict_one(item(faults.HOLDS_THE_LOCK))

        wait_until(lambda: not is_alive(worker))
        assert answer.reason.startswith("supervised: ")


def test_other_space_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleMismatchError):
        SupervisedPredictor(make_folder(tmp_path / "b"), "tests.runtime.node_space:other", deadline=DEADLINE_S)


def test_nursery_that_cannot_load_says_why(tmp_path: Path) -> None:
    """Dispatch takes 1 µs in this bundle, the hand-over to another process more."""
    with pytest.warns(UserWarning, match="built for"), pytest.raises(WorkerError, match="deadline must be"):
        SupervisedPredictor(make_folder(tmp_path / "b"), SPACE, deadline=2e-6)


@pytest.mark.parametrize(
    "passed",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        np.arange(20)[::3],
        np.zeros((0, 3)),
        np.float32(2.5),
        np.array(7),
        "text",
        [1, 2.5],
    ],
)
def test_item_arrives_as_it_was_sent(passed: Any) -> None:
    block = SharedBlock(1, 1 << 16)

    received = read_item(write_item(passed, block.item), block.item)

    block.close()
    assert type(received) is type(passed)
    assert np.array_equal(received, passed)
    if isinstance(passed, np.ndarray):
        assert received.dtype == passed.dtype
        assert not received.flags.writeable
        assert received.flags.f_contiguous == passed.flags.f_contiguous or not passed.flags.contiguous


def test_item_beyond_the_block_is_refused() -> None:
    block = SharedBlock(1, 4096)

    with pytest.raises(ItemError, match="larger than"):
        write_item("x" * 100_000, block.item)
    block.close()


@pytest.mark.parametrize("error", [BrokenPipeError, ConnectionResetError])
def test_worker_whose_supervisor_is_gone_ends_in_silence(
    error: type[ConnectionError], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is reset, and not only broken, if a message of the worker was never read."""

    def gone(*_: object) -> None:
        raise error

    monkeypatch.setattr(nursery, "die_with_parent", gone)
    monkeypatch.setattr(os, "_exit", sys.exit)

    with socket.socket() as connection, pytest.raises(SystemExit, match="0"):
        object.__new__(nursery.Nursery)._become_worker(1, connection, 1)
    assert capsys.readouterr().err == ""
