"""A report is read as it was written, and nothing else is read as a report."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polydom_runtime.boards.report import MAX_FILE_BYTES, BoardReport
from polydom_runtime.exceptions import ProfileError
from tests.runtime.boards.reports import FACTS, a_report


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    a_report().write(tmp_path / "pi.board.json")

    assert BoardReport.read(tmp_path / "pi.board.json") == a_report()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "polydom-certificate", "format 'polydom-board'"),
        (("version",), 2, "version"),
        (("colour",), "red", "'colour'"),
        (("facts", "process_bits"), 8, "facts.process_bits must be"),
        (("sessions",), [], "sessions must be a list of 3 entries"),
        (("sessions", 1, "processor_share"), 1.5, r"sessions\[1\].processor_share must be"),
        (("sessions", 0, "kernels"), {}, "have the kernels arithmetic"),
        (("sessions", 2, "kernels", "sort", "median"), 0.0, r"sessions\[2\].kernels.sort.median must be"),
        (("findings", 0, "level"), "fine", r"findings\[0\].level must be"),
        (("answers",), {"often": {}}, "answers"),
        (("watts",), -1.0, "watts must be"),
    ],
)
def test_what_is_not_as_it_must_be_is_refused_with_its_place(
    path: tuple[str | int, ...], value: Any, message: str, tmp_path: Path
) -> None:
    a_report().write(file := tmp_path / "pi.board.json")
    document = part = json.loads(file.read_text())
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    file.write_text(json.dumps(document))

    with pytest.raises(ProfileError, match=message):
        BoardReport.read(file)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b" " * (MAX_FILE_BYTES + 1)])
def test_what_is_no_report_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "pi.board.json").write_bytes(content)

    with pytest.raises(ProfileError, match="must be a board report"):
        BoardReport.read(tmp_path / "pi.board.json")


def test_a_file_that_cannot_be_read_or_written_is_an_error_of_profiles(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="that can be read"):
        BoardReport.read(tmp_path)
    with pytest.raises(ProfileError, match="that can be written"):
        a_report().write(tmp_path)


@pytest.mark.parametrize(
    ("machine", "bits"), [("aarch64", 64), ("x86_64", 64), ("armv8l", 64), ("armv7l", 32), ("i686", 32)]
)
def test_the_bits_of_the_system_follow_from_its_name(machine: str, bits: int) -> None:
    assert replace(FACTS, machine=machine).machine_bits == bits
