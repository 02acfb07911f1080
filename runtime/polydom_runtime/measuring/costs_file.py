"""The file of cost samples, ``NAME.costs``: a journal, so that a killed process loses nothing that it had written.

The file is a line with format and version, then frames: a length, a CRC-32, and a msgpack map. The first frame is the
header. Each further one holds some rounds, says why there are enough of them, or holds answers to some items. The last
one says why the measurement stopped, and has the SHA-256 of everything before it. Version 1 has rounds only.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

from polydom_runtime.causes import uncontrolled
from polydom_runtime.exceptions import MeasurementError
from polydom_runtime.frames import frames

from .cost_samples import CostSamples
from .decoding import add_frame, decoded_header, unsound
from .measurement import Measurement, SamplesHeader
from .stamps import stamp_fault

__all__ = ["MAGIC", "MAX_FILE_BYTES", "VERSION", "SamplesHeader", "load_costs", "start_of_frames"]

VERSION, OLDEST_VERSION = 2, 1
MAGIC = b"polydom-costs "
MAX_FILE_BYTES = 1 << 30

NEVER_COLD = "cold was never measured, so a loop that sleeps is planned with hot times: measure again with this version"
"""What is said of a file of version 1."""


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
            f"{path} must be a readable costs file, with the times of your features on the device. {e}. "
            "Run `polydom-node measure` there; a device profile has no such times."
        ) from e
    start, version = start_of_frames(path, data)
    found: list[tuple[int, dict[str, Any]]] = [(start, {}), *frames(data, start)]
    (before, _), (stop, last) = found[-2:] if len(found) > 2 else [(0, {}), (0, {})]
    if stop != len(data) or "stopped" not in last:
        raise unsound(path, "be complete", "a cut or altered file", "Copy it again, or finish it with --resume")
    if last.get("sha256") != hashlib.sha256(data[:before]).digest():
        raise unsound(path, "have the SHA-256 that is written at its end", "another one", "Copy it again")
    measurement = Measurement(decoded_header(path, found[1][1]))
    for _, document in found[2:-1]:
        add_frame(path, document, measurement)
    machine, stopped = last.get("machine"), last.get("stopped")
    if not isinstance(machine, dict) or not isinstance(stopped, str) or not measurement.rounds:
        raise unsound(path, "hold rounds and the reason why the measurement ended", "a file without them")
    if fault := stamp_fault({**measurement.header.machine, **machine}):
        raise unsound(path, "hold possible facts about the machine", fault)
    if version == 1:
        machine = {**machine, "warnings": [*machine.get("warnings", ()), NEVER_COLD]}
    samples = measurement.samples(machine, uncontrolled(stopped))
    samples.check()
    return samples


def start_of_frames(path: Path, data: bytes) -> tuple[int, int]:
    """Return the position of the first frame and the version of the format, after checking both.

    `path`: the file, for messages. `data`: its content.

    Raises `MeasurementError` if it is a different kind of file, or of another version.
    """
    line, newline, _ = data[:80].partition(b"\n")
    text = line.removeprefix(MAGIC)
    if not newline or not line.startswith(MAGIC) or not text.isdigit():
        raise unsound(path, f"be a file of cost samples, which starts with {MAGIC.decode()!r}", line[:40])
    version = int(text)
    if not OLDEST_VERSION <= version <= VERSION:
        raise unsound(
            path, f"have format version {OLDEST_VERSION} to {VERSION}", text.decode(), "Measure again with this version"
        )
    return len(line) + 1, version
