"""Memory, processes and descriptors that run short, supervised: at each call, and once or for good."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime.supervision import keeper
from polydom_runtime.supervision.supervisor import SupervisedPredictor
from tests.draws import draws
from tests.runtime.conftest import write
from tests.runtime.hostile_space import LARGEST, make_bundle
from tests.runtime.short_space import SHORTAGE, SPACE, item

from .test_supervisor import restart_nursery, wait_until

BEFORE = 3
"""The allocations before an item counts as one: the time of the call."""

ALL = ("number", "hostile")


@pytest.fixture(scope="module")
def shortage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        file = tmp_path_factory.mktemp("shortage") / "shortage"
        patch.setenv(SHORTAGE, str(file))
        yield file


def supervised(folder: Path, deadline_s: float) -> SupervisedPredictor:
    write(folder, *make_bundle(deadline_s))
    return SupervisedPredictor(folder, SPACE, deadline=deadline_s, reserve=deadline_s / 8, item_bytes=1 << 20)


@pytest.fixture(scope="module")
def predictor(shortage: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SupervisedPredictor]:
    with supervised(tmp_path_factory.mktemp("short") / "b", 400.0) as shared:
        yield shared


def answer_all(predictor: SupervisedPredictor) -> None:
    """Answer items by the prior or as their own, until one is answered by all features."""
    number = 1

    def answered() -> bool:
        nonlocal number
        number = number % LARGEST + 1
        answer = predictor.predict_one(item(number))
        assert answer.label == (number if answer.features else 0)
        return answer.features == ALL

    wait_until(answered)


def test_memory_that_fails_in_a_worker_at_each_allocation(predictor: SupervisedPredictor) -> None:
    """Once in each item."""
    pytest.importorskip("_testcapi")
    fates = set()
    for first in range(0, 300, draws(7, 1)):
        answer_all(predictor)
        number = first % LARGEST + 1
        answer = predictor.predict_one(item(number, first, first + 1))
        assert answer.label == (number if answer.features else 0)
        fates.add(answer.reason.split(" in ")[0])
        assert predictor.predict_one(item(number)).label in (number, 0)

    assert fates >= {"supervised: the worker died", "planned"}


def test_memory_that_fails_in_a_worker_for_good(shortage: Path, tmp_path: Path) -> None:
    """The interpreter itself may hang then, so the deadline is short."""
    pytest.importorskip("_testcapi")
    with supervised(tmp_path / "b", 0.02) as brief:
        for first in range(0, 300, draws(30, 3)):
            answer_all(brief)
            number = first % LARGEST + 1
            answer = brief.predict_one(item(number, first, 0))
            assert answer.label == (number if answer.features else 0)
        answer_all(brief)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_memory_that_fails_in_the_supervisor_at_each_allocation(predictor: SupervisedPredictor) -> None:
    """Once in each item: without any memory there can be no answer."""
    testcapi = pytest.importorskip("_testcapi")
    answers = []
    for first in range(BEFORE, draws(150, 400)):
        answer_all(predictor)
        wait_until(predictor._keeper._ready.qsize)  # now the other thread, which may share the memory, waits
        passed = item(first % LARGEST + 1)
        testcapi.set_nomemory(first, first + 1)
        try:
            answer = predictor.predict_one(passed)
        finally:
            testcapi.remove_mem_hooks()
        answers.append(answer)
        assert answer.label == (passed[2] if answer.features else 0)

    assert {answer.reason for answer in answers} >= {"planned"}
    answer_all(predictor)


CALLS = ("os.fork", "os.pidfd_open", "socket.send_fds", "os.waitpid", "os.urandom", "msgpack.packb")


@pytest.mark.parametrize("error", ["OSError", "MemoryError"])
@pytest.mark.parametrize("at", draws([1], [1, 2, 3]))
@pytest.mark.parametrize("name", draws(CALLS[:3], CALLS))
def test_call_that_fails_in_a_nursery(
    predictor: SupervisedPredictor, shortage: Path, name: str, at: int, error: str
) -> None:
    shortage.write_text(f"{name} {at} {error}")
    restart_nursery(predictor)
    for _ in range(2):
        answer_all(predictor)
        assert predictor._link is not None
        predictor._link.kill()

    answer_all(predictor)
    assert not shortage.exists()


@pytest.mark.parametrize("error", [OSError(12, "Cannot allocate memory"), MemoryError(), ValueError("a message")])
@pytest.mark.parametrize("name", draws(["_start"], ["_start", "Link", "Waiter", "map_shared"]))
def test_call_that_fails_in_the_keeper(
    predictor: SupervisedPredictor, name: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread goes on, and tells why."""
    answer_all(predictor)
    calls, real = [0], getattr(keeper, name)

    def failing(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] <= 2:
            raise error
        return real(*arguments)

    monkeypatch.setattr(keeper, name, failing)
    restart_nursery(predictor)

    answer_all(predictor)
    assert calls[0] > 2 or name == "map_shared"
