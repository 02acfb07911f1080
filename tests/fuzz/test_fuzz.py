"""A short run over all formats, the same each time; ``make fuzz`` runs longer."""

import subprocess
import sys
import tarfile
import time
from inspect import unwrap
from io import BytesIO
from pathlib import Path
from random import Random

import pytest

from . import formats, protobuf
from .faults import FAULTS
from .formats import FORMATS
from .worker import case

FORMS = [form for form in FORMATS if form != "estimator"]  # these are slow to make
RUNS = 25


def run(tmp_path: Path, forms: list[str], *options: str) -> tuple[int, str]:
    """Return the exit code and the output of a run, in a process that has no threads when it forks."""
    command = [sys.executable, "-m", "tests.fuzz", "--findings", str(tmp_path), "--minutes", "60", *options]
    done = subprocess.run([*command, *(f"--format={form}" for form in forms)], capture_output=True, text=True)
    assert not done.stderr
    return done.returncode, done.stdout


def test_changed_files_are_answered_or_refused(tmp_path: Path) -> None:
    """Whatever a file holds, its reader gives an answer or the error that says what is wrong."""
    code, said = run(tmp_path, FORMS, f"--runs={RUNS}")

    assert code == 0, said
    counts = [line.split() for line in said.splitlines()[1:]]
    assert [(form, RUNS) for form in sorted(FORMS)] == [(form, sum(map(int, some))) for form, *some in counts]


def test_what_no_reader_may_do_is_found_and_the_run_goes_on(tmp_path: Path) -> None:
    """A hang, a crash, an exit, too much memory, a warning and another error are told of the case that did them."""
    code, said = run(tmp_path, [*FAULTS], "--runs=1", "--seconds=1")

    files, told = zip(*(line.split(": ", 1) for line in said.splitlines()[: len(FAULTS)]), strict=True)
    assert [f"{form}-0-0" for form in FAULTS] == [Path(file).name for file in files]
    assert [what.replace(":", "").split()[0] for what in told] == [
        "took",
        "crash-6",
        "memory",
        "RuntimeWarning",
        "ValueError",
        "exit-3",
    ]
    assert code == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_run_can_be_repeated(form: str) -> None:
    """Format, seed and run determine a file, and other runs change other things."""
    files = [case(form, 3, run) for run in range(20)]

    assert [case(form, 3, run) for run in range(20)] == files
    assert len(set(files)) > 10


@pytest.mark.parametrize("form", FORMS)
def test_no_file_depends_on_the_clock(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is repeated years later reads the same bytes."""

    def files() -> list[bytes]:
        sound = unwrap(FORMATS[form].seeds)()
        return [*sound, *(FORMATS[form].mutated(seed, Random(k)) for seed in sound for k in range(5))]

    now = files()
    monkeypatch.setattr(time, "time", lambda: 1e9)
    monkeypatch.setattr(time, "time_ns", lambda: 10**18)
    assert files() == now


def test_a_packed_bundle_is_the_same_from_every_copy_of_this_tree() -> None:
    with tarfile.open(fileobj=BytesIO(FORMATS["tar"].seeds()[0])) as archive:
        entries = archive.getmembers()

    names = [entry.name for entry in entries]
    assert sorted(names) == names
    assert {(0, 0, 0, 0, "", "")} == {(e.mtime, e.uid, e.gid, e.mode, e.uname, e.gname) for e in entries}


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("model", "typed")])
def test_a_document_that_is_not_changed_is_written_soundly(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is refused is refused for a change, and not because a format has become another one since."""
    monkeypatch.setattr(formats, "changed", lambda document, rng: document)
    monkeypatch.setattr(formats, "NOISE", 0.0)

    for seed in FORMATS[form].seeds():
        FORMATS[form].use(FORMATS[form].mutated(seed, Random(0)), tmp_path)


def test_a_field_of_a_wrong_type_can_be_changed_again() -> None:
    """No change reads what changes before it have written, which need be no message any more."""
    for seed in range(50):
        message = [protobuf.Field(1, protobuf.VARINT, b"\xff")]

        protobuf._change((message, 0), (message, 0), Random(seed))

        assert len(message) != 1 or protobuf.encoded(message)
