"""Making a report about a board, part by part. Sessions of the kernels are apart: answers of a bundle come between."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from polydom_runtime import __version__
from polydom_runtime.certification.certificate import Certificate
from polydom_runtime.device.board import Board
from polydom_runtime.device.probe import Probe, probe
from polydom_runtime.diagnosis.doctor import examine
from polydom_runtime.findings import WORST_FIRST, Finding
from polydom_runtime.measuring.conditions import onnx_limits
from polydom_runtime.tables import percent

from .answering import BundleScene
from .kernel_session import START_SECONDS, KernelSession, session_apart
from .report import SESSIONS, BoardFacts, BoardReport, Versions, Way

DOCTOR_SECONDS = 10.0
SESSION_WEIGHT, ANSWERS_WEIGHT = 2.0, 1.0
"""How the time is divided between a session of the kernels and answers in one way."""

WAYS: Mapping[Way, str] = {
    "hot": "answers one after another",
    "period": "answers at a period",
    "load": "answers at a period beside other work",
}
NO_ONNX = "The newest ONNX versions, the two ONNX kernels and the reference models of onnxruntime are missing: {}."
NO_BUNDLE = (
    "How late answers are (hot, at a period and beside load) is missing: no bundle was given. To add it, make the "
    "report again with --bundle, --space and --items."
)

Progress = Callable[[float], None]


class ReportPart(NamedTuple):
    """A part of a report."""

    name: str
    seconds: float
    """How long it takes, about."""
    run: Callable[[Progress], str]
    """Makes it, tells the fraction that is done, and returns what was found in words."""


class Making:
    """Makes a report: run its `parts` in their order, then take the `report`.

    `seconds` is about how long all takes, besides the doctor and the starts of processes.
    """

    def __init__(
        self,
        board: Board,
        scene: BundleScene | None,
        seconds: float,
        *,
        session: Callable[[float, Progress], KernelSession] = session_apart,
        found: Callable[[], Probe | str] = probe,
    ) -> None:
        self._board, self._scene, self._session, self._probe = board, scene, session, found
        self._facts, self._before = BoardFacts.of(board), board.state()
        self._findings: list[Finding] = []
        self._sessions: list[KernelSession] = []
        self._answers: dict[Way, Certificate] = {}
        self._onnx: Versions | None = None
        self._missing = [] if scene else [NO_BUNDLE]
        weights = SESSIONS * SESSION_WEIGHT + (len(WAYS) * ANSWERS_WEIGHT if scene else 0.0)
        self.parts = tuple(self._planned(seconds / weights))

    def report(self, note: str = "", watts: float | None = None) -> BoardReport:
        """Return the report, once all parts were run."""
        return BoardReport(
            *(__version__, self._facts, self._before, self._board.state()),
            findings=tuple(self._findings),
            onnx=self._onnx,
            sessions=tuple(self._sessions),
            answers=self._answers,
            missing=tuple(self._missing),
            watts=watts,
            note=note,
        )

    def _planned(self, unit: float) -> Iterator[ReportPart]:
        yield ReportPart("doctor", DOCTOR_SECONDS, self._examine)
        for number, way in zip_longest(range(SESSIONS), WAYS if self._scene else ()):
            if number is not None:
                seconds = SESSION_WEIGHT * unit
                name = f"kernels, session {number + 1} of {SESSIONS}"
                yield ReportPart(name, seconds + START_SECONDS, partial(self._measure, seconds))
            if way is not None:
                yield ReportPart(WAYS[way], ANSWERS_WEIGHT * unit, partial(self._answer, way, ANSWERS_WEIGHT * unit))

    def _examine(self, progress: Progress) -> str:
        found = self._probe()
        progress(0.5)
        self._findings = examine(self._board, found)
        limits = onnx_limits(found)
        if failed := limits.get("failed"):
            self._missing.append(NO_ONNX.format(failed))
        else:
            self._onnx = Versions(**limits)
        levels = [finding.level for finding in self._findings]
        return ", ".join(f"{level}: {levels.count(level)}" for level in WORST_FIRST)

    def _measure(self, seconds: float, progress: Progress) -> str:
        self._sessions.append(session := self._session(seconds, progress))
        return f"{session.stopped}, with {percent(session.processor_share)} of a processor"

    def _answer(self, way: Way, seconds: float, progress: Progress) -> str:
        assert self._scene
        self._answers[way] = found = self._scene.certificate(way, seconds, self._board, progress)
        return f"{found.misses:,} of {found.items:,} late, {percent(found.late_share)}"
