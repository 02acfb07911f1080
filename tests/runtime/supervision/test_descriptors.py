"""What a worker and its nursery hold of the program, and what they would hand on to programs that features start."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from polydom_runtime import SupervisedPredictor
from polydom_runtime.supervision.shared_block import new_memory

from .test_supervisor import answer_by_worker, children, restart_nursery, supervised, wait_until

STANDARD = (0, 1, 2)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SupervisedPredictor]:
    with supervised(tmp_path_factory.mktemp("shared") / "b") as shared:
        yield shared


@pytest.fixture
def predictor(started: SupervisedPredictor) -> SupervisedPredictor:
    """One with a worker at work and one that waits."""
    answer_by_worker(started)
    wait_until(lambda: len(children(started.nursery_pid)) == 2 and started._keeper._ready.qsize())
    return started


def opened(pid: int) -> dict[int, str]:
    """Return what the descriptors of a process stand for, but for the standard ones."""
    found = {int(file.name): os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir() if file.is_symlink()}
    return {number: what for number, what in found.items() if number not in STANDARD}


def handed_on(pid: int) -> list[str]:
    """Return what a program would get that a process starts without closing anything, as by ``os.system``."""
    flags = {
        number: next(line for line in Path(f"/proc/{pid}/fdinfo/{number}").read_text().splitlines() if "flags" in line)
        for number in opened(pid)
    }
    return [opened(pid)[number] for number, line in flags.items() if not int(line.split()[1], 8) & os.O_CLOEXEC]


def test_a_worker_holds_its_socket_and_the_shared_memory_only(predictor: SupervisedPredictor) -> None:
    """Not the control socket, nor descriptors of other workers, by which it could end them."""
    for worker in children(predictor.nursery_pid):
        held = [what.partition(":")[0] for what in opened(worker).values() if "memfd" not in what]

        assert held == ["socket"]


def test_programs_that_features_start_get_no_descriptor(predictor: SupervisedPredictor) -> None:
    """Whoever had the control socket could keep a nursery alive that has lost its supervisor."""
    for process in (predictor.nursery_pid, *children(predictor.nursery_pid)):
        assert handed_on(process) == []


def test_programs_that_the_user_s_program_starts_get_no_descriptor(predictor: SupervisedPredictor) -> None:
    """Neither the sockets of workers nor the descriptors by which workers are killed."""
    private = [what for what in handed_on(os.getpid()) if what.startswith(("socket:", "anon_inode:", "/memfd:polydom"))]

    assert private == []


def test_no_process_can_cut_the_shared_memory() -> None:
    """The system ends a process whose mapped file shrinks, so a faulty feature could end the supervisor."""
    memory = new_memory(4096)
    with pytest.raises(PermissionError):
        os.ftruncate(memory, 0)
    os.pwrite(memory, b"x", 4095)
    os.close(memory)


def test_a_worker_needs_nothing_that_the_environment_says_about_trust(
    predictor: SupervisedPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bundle is the checked one of the supervisor."""
    before = answer_by_worker(predictor)
    monkeypatch.setenv("POLYDOM_TRUST", "/nowhere")
    restart_nursery(predictor)

    assert before[:3] == answer_by_worker(predictor)[:3]


def test_name_of_the_folder_may_be_any_bytes(tmp_path: Path) -> None:
    """No worker started, since the name went to the nursery as text."""
    with supervised(tmp_path / os.fsdecode(b"\xff\xfe")) as own:
        assert answer_by_worker(own).features
