"""The file of cost samples, ``NAME.costs``: a journal, so that a killed process loses nothing that it had written.

The file is a line with format and version, then frames: a length, a CRC-32, and a msgpack map. The first frame is the
header. Each further one holds some rounds, says why there are enough of them, or holds answers to some items. The last
one says why the measurement stopped, and has the SHA-256 of everything before it.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.causes import uncontrolled
from polydom_runtime.codec.codec import Codec, after_line
from polydom_runtime.codec.marks import Size, Text, Unsound
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.frames import frames

from .cost_samples import CostSamples
from .samples_so_far import SamplesHeader, SamplesSoFar, stamp_fault
from .stopwatch import Disturbances

__all__ = ["MAGIC", "MAX_FILE_BYTES", "VERSION", "SamplesHeader", "load_costs", "start_of_frames"]

MAGIC, VERSION = b"polydom-costs ", 1
MAX_FILE_BYTES = 1 << 30

Words = Annotated[str, Text(1000, 0, cleaned=True)]


class JournalFrame(NamedTuple):
    """The content of a frame after the header: rounds, answers, or why there are enough rounds."""

    table: Annotated[bytes, Size(0, MAX_FILE_BYTES)] = b""
    """Rows of float64 numbers: rounds, or answers if there is a regime."""
    regime: Regime | None = None
    seen: Disturbances = Disturbances()
    warnings: Annotated[tuple[Words, ...], Size(0, 1000)] = ()
    enough: Words = ""

    def add_to(self, measurement: SamplesSoFar) -> None:
        """Add it to a measurement; `Unsound` unless it holds whole rounds, or answers to the same items in each."""
        if self.enough:
            measurement.enough = self.enough
            return
        header = measurement.header
        if self.regime:
            measurement.answers[self.regime].append(self._rows(header.n_answer_columns))
            _check_order(measurement.answers_in(self.regime)[:, 0])
        else:
            measurement.rounds.append(self._rows(header.n_columns))
        measurement.seen = measurement.seen.plus(self.seen)
        measurement.warnings = self.warnings

    def _rows(self, n_columns: int) -> Floats:
        if not self.table or len(self.table) % (8 * n_columns):
            raise Unsound(f"hold rows of {n_columns} times", f"{len(self.table)} bytes")
        return np.frombuffer(self.table, dtype="<f8").reshape(-1, n_columns).astype(np.float64)


HEADER, FRAME = Codec(SamplesHeader), Codec(JournalFrame)


def load_costs(file: str | os.PathLike[str]) -> CostSamples:
    """Read a file that `FileJournal` wrote, and check it.

    Raises
    ------
    MeasurementError
        If the file is cut, altered, unfinished, of another version, or its times are impossible.
    """
    path = Path(file)
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as e:
        raise MeasurementError(
            f"{path} must be a readable costs file, with the times of your features on the device. {e.strerror}. "
            "Run `polydom-node measure` there; a device profile has no such times."
        ) from e
    with as_measurement_error(path):
        start = start_of_frames(data)
        found: list[tuple[int, dict[str, Any]]] = [(start, {}), *frames(data, start)]
        (before, _), (stop, last) = found[-2:] if len(found) > 2 else [(0, {}), (0, {})]
        if stop != len(data) or "stopped" not in last:
            raise Unsound("be complete", "a cut or altered file", "Copy it again, or finish it with --resume.")
        if last.get("sha256") != hashlib.sha256(data[:before]).digest():
            raise Unsound("have the SHA-256 that is written at its end", "another one", "Copy it again.")
        measurement = SamplesSoFar(HEADER.read(found[1][1]))
        for _, document in found[2:-1]:
            FRAME.read(document).add_to(measurement)
        machine, stopped = last.get("machine"), last.get("stopped")
        if not isinstance(machine, dict) or not isinstance(stopped, str) or not measurement.rounds:
            raise Unsound("hold rounds and the reason why the measurement ended", "a file without them")
        if fault := stamp_fault({**measurement.header.machine, **machine}):
            raise Unsound("hold possible facts about the machine", fault)
    samples = measurement.samples(machine, uncontrolled(stopped))
    samples.check()
    return samples


def start_of_frames(data: bytes) -> int:
    """Return the position of the first frame; `Unsound` if the file is of another kind or version."""
    return after_line(data, "a file of cost samples", MAGIC, VERSION, "Measure again")


@contextmanager
def as_measurement_error(path: Path) -> Iterator[None]:
    """Raise `MeasurementError` about a file in place of `Unsound`."""
    try:
        yield
    except Unsound as e:
        raise MeasurementError(f"{e.says(f'{path}', f'{path}: ')} {e.remedy or 'Measure again.'}") from e


def _check_order(positions: Floats) -> None:
    n_items = len(np.unique(positions))
    if not np.array_equal(positions, np.resize(positions[:n_items], len(positions))):
        raise Unsound("hold answers to the same items in the same order in every round", positions[: n_items + 1])
