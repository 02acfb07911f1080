"""A report about a board: all that its owner measured in one run, in one file."""

import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import Annotated, Literal, NamedTuple

from polydom_runtime.bundles.engines import NO_VERSION
from polydom_runtime.certification.certificate import Certificate
from polydom_runtime.codec.codec import Codec, current, unpack_json
from polydom_runtime.codec.marks import AnyText, In, Size, Unsound
from polydom_runtime.device.board import Board, BoardState
from polydom_runtime.device.calibration import KERNELS
from polydom_runtime.device.device_profile import Watts
from polydom_runtime.exceptions import ProfileError
from polydom_runtime.files import replace_file
from polydom_runtime.findings import Finding
from polydom_runtime.measuring.conditions import machine_facts

from .kernel_session import KernelSession

FORMAT, VERSION = "polydom-board", 1
AGAIN = "Make it again with `polydom-node board-report`"
MAX_FILE_BYTES = 10_000_000

SESSIONS = 3

Way = Literal["hot", "period", "load"]
"""How the items of a bundle came: one after another, at a period, and at a period beside other work."""


class Versions(NamedTuple):
    """The newest ONNX versions that load."""

    ir_version: Annotated[int, In(3, 50)]
    opset: Annotated[int, In(7, 100)]
    ml_opset: Annotated[int, In(1, 50)]


@dataclass(frozen=True, slots=True)
class BoardFacts:
    """The board, its system and its software; None where that cannot be read."""

    device: AnyText
    revision: AnyText | None
    cpu: AnyText
    cores: Annotated[int, In(1, 4096)] | None
    machine: AnyText
    """The kind of processor that the system tells, such as aarch64."""
    process_bits: Annotated[int, In(16, 128)]
    kernel: AnyText
    python: AnyText
    numpy: AnyText
    onnxruntime: AnyText
    governors: tuple[AnyText, ...]
    memory_bytes: int | None
    available_bytes: int | None
    timer_tick_ns: Annotated[int, In(0, 10**9)]
    timer_reading_ns: Annotated[int, In(0, 10**9)]
    began: AnyText

    @classmethod
    def of(cls, board: Board) -> "BoardFacts":
        """Return the facts about this machine."""
        own = {"revision": board.revision, "process_bits": 8 * struct.calcsize("P"), "governors": board.governors}
        known = machine_facts(board) | own
        return cls(**{field.name: known[field.name] for field in fields(cls)})

    @property
    def machine_bits(self) -> int:
        """The bits of the system's kernel; armv8l is its name for a process of 32 bits."""
        return 64 if "64" in self.machine or self.machine.startswith("armv8") else 32

    @property
    def has_onnxruntime(self) -> bool:
        """Whether onnxruntime is installed."""
        return self.onnxruntime != NO_VERSION


@dataclass(frozen=True, slots=True)
class BoardReport:
    """A report about a board."""

    polydom: AnyText
    """The version that made it."""
    facts: BoardFacts
    before: BoardState
    after: BoardState
    findings: tuple[Finding, ...]
    """Those of `polydom-node doctor`."""
    onnx: Versions | None
    """None if onnxruntime is not installed or does not work."""
    sessions: Annotated[tuple[KernelSession, ...], Size(SESSIONS, SESSIONS)]
    answers: Mapping[Way, Certificate]
    """How late answers of a bundle were; empty without a bundle."""
    missing: tuple[AnyText, ...]
    """The parts that are missing, and why, in sentences."""
    watts: Watts | None
    """The power draw meanwhile, as the owner read it from a meter."""
    note: AnyText
    """Words of the owner, such as about power supply and cooling."""

    def _check(self) -> None:
        names = {name for name in KERNELS if self.facts.has_onnxruntime or not name.startswith("onnx_")}
        for session in self.sessions:
            if session.kernels.keys() != names:
                raise Unsound(f"have the kernels {', '.join(sorted(names))}", sorted(session.kernels))

    @property
    def processor_share(self) -> float:
        """The smallest share of a processor that a session got."""
        return min(session.processor_share for session in self.sessions)

    @property
    def spreads(self) -> dict[str, float]:
        """By what factor the sessions differ, for each kernel: the longest median divided by the shortest."""
        medians = {name: [s.kernels[name].median for s in self.sessions] for name in self.sessions[0].kernels}
        return {name: max(times) / min(times) for name, times in medians.items()}

    def seconds(self, kernel: str) -> float:
        """Return the time of a kernel: the median of the medians of the sessions."""
        return median(session.kernels[kernel].median for session in self.sessions)

    @property
    def cold(self) -> KernelSession:
        """The session in which cold added the median time."""
        return sorted(self.sessions, key=lambda session: session.cold_seconds)[len(self.sessions) // 2]

    def write(self, file: str | os.PathLike[str]) -> None:
        """Write it as JSON, whole or not at all; `ProfileError` if that is impossible."""
        text = json.dumps({"format": FORMAT, "version": VERSION, **CODEC.write(self)}, indent=1, allow_nan=False)
        try:
            replace_file(file, f"{text}\n".encode())
        except OSError as e:
            raise ProfileError(f"{file} must be a file that can be written. Got {e}. Choose another.") from e

    @classmethod
    def read(cls, file: str | os.PathLike[str]) -> "BoardReport":
        """Return the report that `write` wrote; `ProfileError` if the file is damaged, or something else."""
        try:
            with open(Path(file), "rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
            if len(content) > MAX_FILE_BYTES:
                raise Unsound(f"have at most {MAX_FILE_BYTES} bytes", "more")
            document = unpack_json(content)
            if document.get("format") != FORMAT:
                raise Unsound(f"have format {FORMAT!r}", document.get("format"))
            return CODEC.read(current(document, VERSION, AGAIN, {}))
        except OSError as e:
            raise ProfileError(f"{file} must be a board report that can be read. Got {e}. {AGAIN}.") from e
        except Unsound as e:
            raise ProfileError(f"{file} must be a board report. {e.says('It')} {e.remedy or f'{AGAIN}.'}") from e


CODEC = Codec(BoardReport, plain=True)
