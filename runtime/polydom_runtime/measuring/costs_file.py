"""The file of cost samples, ``NAME.costs``: a journal, so that a killed process loses no round that it had written.

The file is a line with format and version, then frames: a length, a CRC-32, and a msgpack map. The first frame is the
header, each further one holds some rounds. The last one says why the measurement stopped, and has the SHA-256 of
everything before it.
"""

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.arrays import Floats
from polydom_runtime.exceptions import MeasurementError

from .cost_samples import CostSamples
from .frames import frames
from .stamps import IDENTITY, stamp_fault

VERSION = 1
MAGIC = b"polydom-costs "
MAX_FILE_BYTES, MAX_UNITS, MAX_SIZES, MAX_LOOPS = 1 << 30, 1000, 10_000, 1_000_000


@dataclass(frozen=True, slots=True)
class SamplesHeader:
    """The fixed facts of a measurement, known before the first round.

    Parameters
    ----------
    units, sizes, loops, kernels, fingerprint, machine
        As in `CostSamples`, in plain tuples; of `kernels` only the names. `loops` is flat: all sizes of the first unit,
        then those of the second, and so on.
    """

    units: tuple[str, ...]
    sizes: tuple[float, ...]
    loops: tuple[int, ...]
    kernels: tuple[str, ...]
    fingerprint: str
    machine: Mapping[str, Any]

    @property
    def n_columns(self) -> int:
        """How many numbers a round has: single calls, blocks, kernels."""
        return 2 * len(self.units) * len(self.sizes) + len(self.kernels)

    def samples(self, rounds: Floats, machine: Mapping[str, Any], stopped: str) -> CostSamples:
        """Return rounds as samples.

        Parameters
        ----------
        rounds : float array of shape (n_rounds, n_columns)
            Seconds.
        machine : dict
            Facts that are known only at the end; they are added to those of the header.
        stopped : str
            Why the measurement ended.
        """
        shape = len(self.units), len(self.sizes)
        cells = math.prod(shape)
        columns = np.ascontiguousarray(rounds.T)
        return CostSamples(
            self.units,
            np.array(self.sizes),
            columns[:cells].reshape(*shape, -1),
            np.array(self.loops, dtype=np.int64).reshape(shape),
            columns[cells : 2 * cells].reshape(*shape, -1),
            dict(zip(self.kernels, columns[2 * cells :], strict=True)),
            {**self.machine, **machine},
            self.fingerprint,
            stopped,
        )


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
        raise MeasurementError(f"{path} must be a readable file of cost samples. {e}") from e
    start = start_of_frames(path, data)
    found: list[tuple[int, dict[str, Any]]] = [(start, {}), *frames(data, start)]
    (before, _), (stop, last) = found[-2:] if len(found) > 2 else [(0, {}), (0, {})]
    if stop != len(data) or "stopped" not in last:
        raise _bad(path, "be complete", "a cut or altered file", "Copy it again, or finish it with --resume")
    if last.get("sha256") != hashlib.sha256(data[:before]).digest():
        raise _bad(path, "have the SHA-256 that is written at its end", "another one", "Copy it again")
    header = decoded_header(path, found[1][1])
    rounds = [decoded_rounds(path, document, header) for _, document in found[2:-1]]
    machine, stopped = last.get("machine"), last.get("stopped")
    if not isinstance(machine, dict) or not isinstance(stopped, str) or not rounds:
        raise _bad(path, "hold rounds and the reason why the measurement ended", "a file without them")
    if fault := stamp_fault({**header.machine, **machine}):
        raise _bad(path, "hold possible facts about the machine", fault)
    samples = header.samples(np.concatenate(rounds), machine, stopped)
    samples.check()
    return samples


def _bad(path: Path, must: str, got: object, remedy: str = "Measure again") -> MeasurementError:
    return MeasurementError(f"{path} must {must}. Got {str(got)[:120]}. {remedy}.")


def start_of_frames(path: Path, data: bytes) -> int:
    """Return the position of the first frame, after checking format and version.

    Parameters
    ----------
    path : path
        The file, for messages.
    data : bytes
        Its content.

    Raises
    ------
    MeasurementError
        If it is a different kind of file, or of another version.
    """
    line, newline, _ = data[:80].partition(b"\n")
    version = line.removeprefix(MAGIC)
    if not newline or not line.startswith(MAGIC) or not version.isdigit():
        raise _bad(path, f"be a file of cost samples, which starts with {MAGIC.decode()!r}", line[:40])
    if int(version) != VERSION:
        raise _bad(path, f"have format version {VERSION}", version.decode(), "Measure again with this version")
    return len(line) + 1


def decoded_header(path: Path, document: Mapping[str, Any]) -> SamplesHeader:
    """Return the header from the content of its frame; `path` is for messages.

    Raises
    ------
    MeasurementError
        If a field is missing or impossible.
    """
    units = _texts(path, document, "units", MAX_UNITS)
    kernels = _texts(path, document, "kernels", MAX_UNITS)
    sizes: Any = document.get("sizes")
    loops: Any = document.get("loops")
    if not _is_list(sizes, float, MAX_SIZES):
        raise _bad(path, "hold a list of sizes", sizes)
    if (
        not _is_list(loops, int, MAX_UNITS * MAX_SIZES)
        or len(loops) != len(units) * len(sizes)
        or not 1 <= min(loops) <= max(loops) <= MAX_LOOPS
    ):
        raise _bad(path, "hold a number of calls for each unit and size", loops)
    fingerprint, machine = document.get("fingerprint"), document.get("machine")
    if not isinstance(fingerprint, str) or not isinstance(machine, dict):
        raise _bad(path, "name its features and its machine", (fingerprint, machine))
    return SamplesHeader(units, tuple(sizes), tuple(loops), kernels, fingerprint, machine)


def _texts(path: Path, document: Mapping[str, Any], name: str, most: int) -> tuple[str, ...]:
    texts: Any = document.get(name)
    if not _is_list(texts, str, most) or len(set(texts)) != len(texts):
        raise _bad(path, f"hold different {name}", texts)
    return tuple(texts)


def _is_list(value: Any, kind: type, most: int) -> bool:
    return type(value) is list and 0 < len(value) <= most and all(type(v) is kind for v in value)


def decoded_rounds(path: Path, document: Mapping[str, Any], header: SamplesHeader) -> NDArray[np.float64]:
    """Return the rounds of a frame in seconds, shape ``(n_rounds, n_columns)``; `path` is for messages.

    Raises
    ------
    MeasurementError
        If the frame does not hold whole rounds.
    """
    raw, width = document.get("rounds"), 8 * header.n_columns
    if not isinstance(raw, bytes) or not raw or len(raw) % width:
        raise _bad(path, f"hold rounds of {header.n_columns} times", type(raw).__name__)
    return np.frombuffer(raw, dtype="<f8").reshape(-1, header.n_columns).astype(np.float64)


def same_measurement(old: SamplesHeader, new: SamplesHeader) -> Sequence[str]:
    """Return the names of the facts that differ between two headers; if there are any, rounds must not be mixed."""
    stamps = (*IDENTITY, "pinned_cpu")
    differ = [name for name in ("units", "sizes", "kernels", "fingerprint") if getattr(old, name) != getattr(new, name)]
    return differ + [name for name in stamps if old.machine.get(name) != new.machine.get(name)]
