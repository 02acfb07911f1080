"""A journal keeps a measurement while it runs, so that a killed process loses nothing that was written."""

import fcntl
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polydom_runtime.arrays import Floats
from polydom_runtime.bundles.bundle_times import Regime
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.files import check_folder_of, open_kept, sync_folder
from polydom_runtime.frames import frame, frames, has_frame

from .cost_samples import CostSamples
from .costs_file import (
    FRAME,
    HEADER,
    MAGIC,
    MAX_FILE_BYTES,
    VERSION,
    JournalFrame,
    as_measurement_error,
    start_of_frames,
)
from .samples_so_far import SamplesHeader, SamplesSoFar
from .stopwatch import Disturbances

NOTHING = Disturbances()


def write_costs(file: str | os.PathLike[str], samples: CostSamples) -> None:
    """Write samples that are complete; `MeasurementError` as for `FileJournal`."""
    cells = samples.loops.size
    kernels, models = tuple(samples.kernels), tuple(next(iter(samples.items.values())).models) if samples.items else ()
    asleep = max((there.asleep for there in samples.items.values()), default=0.0)
    header = SamplesHeader(
        *(samples.units, tuple(samples.sizes.tolist()), tuple(samples.loops.ravel().tolist()), kernels),
        *(samples.fingerprint, samples.machine, models, asleep),
    )
    tables = samples.seconds.reshape(cells, -1), samples.blocks.reshape(cells, -1), [*samples.kernels.values()]
    journal = FileJournal(file)
    try:
        journal.begin(header)
        journal.append(np.concatenate(tables).T, samples.warnings, Disturbances(samples.pauses))
        for regime, there in samples.items.items():
            _, n_items, n_rounds = there.seconds.shape
            items = np.broadcast_to(np.array([np.arange(n_items), there.sizes])[:, :, None], (2, n_items, n_rounds))
            columns = np.concatenate([items, there.seconds, [there.models[name] for name in models]])
            journal.append(columns.transpose(2, 1, 0).reshape(n_items * n_rounds, -1), samples.warnings, regime=regime)
        journal.finish(samples.machine, samples.stopped)
    finally:
        journal.close()


class Journal:
    """Receives the rounds of a measurement. This class keeps nothing; `FileJournal` writes them to a file."""

    def resumed(self) -> SamplesSoFar | None:
        """Return the earlier, unfinished measurement to continue; None if there is none."""
        return None

    def begin(self, header: SamplesHeader) -> None:
        """Start a new measurement."""

    def append(
        self, part: Floats, warnings: Sequence[str], seen: Disturbances = NOTHING, regime: Regime | None = None
    ) -> None:
        """Keep some rounds, or answers in a regime (rows of numbers), what disturbed them, and all warnings so far."""

    def enough(self, reason: str) -> None:
        """Keep the reason why there are enough rounds."""

    def finish(self, machine: Mapping[str, Any], stopped: str) -> None:
        """Keep the reason why the measurement stopped, and the facts that are known at its end."""

    def close(self) -> None:
        """Release the file, whether the measurement is finished or not."""


def is_unfinished(file: str | os.PathLike[str]) -> bool:
    """Tell whether there is an unfinished measurement for a costs file."""
    part = f"{os.fspath(file)}.part"
    return os.path.exists(part) and os.path.getsize(part) > 0


class FileJournal(Journal):
    """Writes ``NAME.costs.part``, locked against other processes, and renames it when the measurement is finished.

    Every method raises `MeasurementError` if the file cannot be written or another process writes it; the constructor
    also if ``NAME.costs`` exists, or `resume` does not say whether there is an unfinished measurement.
    """

    def __init__(self, file: str | os.PathLike[str], *, resume: bool = False) -> None:
        self._file = Path(file)
        self._part = self._file.with_name(self._file.name + ".part")
        self._resume = resume
        self._descriptor = -1
        if self._file.suffix != ".costs":
            raise MeasurementError(f"The name of a file of costs must end in .costs. Got {self._file}.")
        if self._file.exists():
            raise MeasurementError(f"{self._file} must not exist yet. It does. Choose another name, or delete it.")
        check_folder_of(self._file, MeasurementError)
        if is_unfinished(self._file) != resume:
            got, remedy = ("none", "Leave out --resume") if resume else ("one", "Give --resume, or delete it")
            raise MeasurementError(
                f"{self._part} must {'' if resume else 'not '}hold an unfinished measurement. There is {got}. {remedy}."
            )

    def resumed(self) -> SamplesSoFar | None:
        """Return the rounds of an earlier run, and cut off an incomplete last frame; a damaged file is not changed."""
        if not self._resume:
            return None
        self._open()
        data = os.pread(self._descriptor, MAX_FILE_BYTES, 0)
        if (MAGIC + b"%d\n" % VERSION).startswith(data[: len(MAGIC) + 2]) and len(data) < len(MAGIC) + 2:
            return None  # killed before anything was measured
        with as_measurement_error(self._part):
            return self._continued(data, start_of_frames(data))

    def _continued(self, data: bytes, end: int) -> SamplesSoFar | None:
        earlier: SamplesSoFar | None = None
        for stop, document in frames(data, end):
            if "stopped" in document:
                break  # this end is cut off, and written again after some more rounds
            if earlier is None:
                earlier = SamplesSoFar(HEADER.read(document))
            else:
                FRAME.read(document).add_to(earlier)
            end = stop
        else:
            if has_frame(data, end + 1):
                raise MeasurementError(
                    f"{self._part} must be valid up to the point where it was cut. It is damaged at byte {end}, with "
                    "valid data after that. Copy it again, or delete it and start a new one."
                )
        os.ftruncate(self._descriptor, end)
        return earlier

    def begin(self, header: SamplesHeader) -> None:
        """Write the format and the header."""
        self._open()
        os.ftruncate(self._descriptor, 0)
        self._write(MAGIC + b"%d\n" % VERSION + frame(HEADER.write(header)))

    def append(
        self, part: Floats, warnings: Sequence[str], seen: Disturbances = NOTHING, regime: Regime | None = None
    ) -> None:
        """Write some rounds or answers, and force them onto the disk."""
        self._append(JournalFrame(part.astype("<f8").tobytes(), regime, seen, tuple(warnings)))

    def enough(self, reason: str) -> None:
        """Write why there are enough rounds."""
        self._append(JournalFrame(enough=reason))

    def finish(self, machine: Mapping[str, Any], stopped: str) -> None:
        """Write the end, and rename the file to ``NAME.costs``."""
        digest = hashlib.sha256(os.pread(self._descriptor, MAX_FILE_BYTES, 0)).digest()
        self._write(frame({"stopped": stopped, "machine": dict(machine), "sha256": digest}))
        try:
            os.rename(self._part, self._file)
            sync_folder(self._file.absolute().parent)
        except OSError as e:
            raise MeasurementError(f"{self._part} must still be there, to become {self._file}. {e}.") from e
        self.close()

    def close(self) -> None:
        """Close the file, which also releases its lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        if self._descriptor >= 0:
            return
        try:
            self._descriptor = open_kept(self._part, os.O_RDWR | os.O_CREAT)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            self.close()
            raise MeasurementError(f"{self._part} must be free. Another process measures into it. Wait for it.") from e
        except OSError as e:
            raise MeasurementError(f"{self._part} must be writable. {e}.") from e

    def _append(self, content: JournalFrame) -> None:
        self._write(frame(FRAME.write(content)))

    def _write(self, data: bytes) -> None:
        try:
            os.lseek(self._descriptor, 0, os.SEEK_END)
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as e:
            raise MeasurementError(f"{self._part} must be writable. {e}. Free some space and give --resume.") from e
