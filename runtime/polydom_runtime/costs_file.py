"""The file of cost samples, ``NAME.costs``: written as a journal, so that nothing measured is lost to a kill.

A line of format and version, then frames: a length, a CRC-32, and a msgpack map. The first is the header, each further
one holds some rounds, and the last says why the measurement stopped and the SHA-256 of everything before it. While it
is written the file is called ``NAME.costs.part``.
"""

import hashlib
import math
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from .cost_samples import CostSamples, Floats
from .exceptions import MeasurementError

VERSION = 1
MAGIC = b"polydom-costs "
FRAME = struct.Struct("<II")
MAX_FILE_BYTES, MAX_UNITS, MAX_SIZES = 1 << 30, 1000, 10_000


@dataclass(frozen=True, slots=True)
class Header:
    """What a measurement is of; its fields are those of `CostSamples`."""

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
        """Return rounds, shape ``(n_rounds, n_columns)``, as samples."""
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


class Journal:
    """Takes the rounds of a measurement as they come. This one keeps nothing; `FileJournal` writes them."""

    def resumed(self) -> tuple[Header, list[Floats]] | None:
        """Return the header and the rounds of an earlier, unfinished measurement."""
        return None

    def begin(self, header: Header) -> None:
        """Start anew."""

    def append(self, rounds: Floats) -> None:
        """Keep some rounds."""

    def finish(self, machine: Mapping[str, Any], stopped: str) -> None:
        """Say why the measurement stopped and what is known since."""


class FileJournal(Journal):
    """Writes ``NAME.costs.part`` and gives it its name when all is done.

    Parameters
    ----------
    file : path
        ``NAME.costs``.
    resume : bool
        Whether to go on with an unfinished one.

    Raises
    ------
    MeasurementError
        If there is an unfinished one and `resume` is false, or none and it is true, or the folder cannot be written.
    """

    def __init__(self, file: str | os.PathLike[str], *, resume: bool = False) -> None:
        self._file = Path(file)
        self._part = self._file.with_name(self._file.name + ".part")
        self._resume = resume
        if self._part.exists() != resume:
            got, remedy = ("none", "Leave out --resume") if resume else ("one", "Give --resume, or delete it")
            raise MeasurementError(
                f"{self._part} must {'' if resume else 'not '}hold an unfinished measurement. There is {got}. {remedy}."
            )
        if self._file.suffix != ".costs":
            raise MeasurementError(f"The name of a file of costs must end in .costs. Got {self._file}.")
        self._write(b"")

    def resumed(self) -> tuple[Header, list[Floats]] | None:
        """Return what an earlier run wrote, and cut off what it did not finish writing."""
        if not self._resume:
            return None
        data = self._part.read_bytes()
        if b"\n" not in data[:80]:
            return None  # the kill came before anything was measured
        end, header, rounds = _start(self._part, data), None, []
        for stop, document in _frames(data, end):
            if "stopped" in document:
                break  # all was measured when the kill came; the end is written again
            if header is None:
                header = _header(self._part, document)
            else:
                rounds.append(_rounds(self._part, document, header))
            end = stop
        os.truncate(self._part, end)
        return None if header is None else (header, rounds)

    def begin(self, header: Header) -> None:
        """Write the format and the header."""
        os.truncate(self._part, 0)
        self._write(MAGIC + b"%d\n" % VERSION)
        self._append(
            {
                "units": list(header.units),
                "sizes": list(header.sizes),
                "loops": list(header.loops),
                "kernels": list(header.kernels),
                "fingerprint": header.fingerprint,
                "machine": dict(header.machine),
            }
        )

    def append(self, rounds: Floats) -> None:
        """Write some rounds down to the disk."""
        self._append({"rounds": rounds.astype("<f8").tobytes()})

    def finish(self, machine: Mapping[str, Any], stopped: str) -> None:
        """Write the end and give the file its name."""
        digest = hashlib.sha256(self._part.read_bytes()).digest()
        self._append({"stopped": stopped, "machine": dict(machine), "sha256": digest})
        os.replace(self._part, self._file)

    def _append(self, document: Mapping[str, Any]) -> None:
        payload = bytes(msgpack.packb(document))
        self._write(FRAME.pack(len(payload), zlib.crc32(payload)) + payload)

    def _write(self, data: bytes) -> None:
        try:
            with open(self._part, "ab") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as e:
            raise MeasurementError(f"{self._part} must be writable. {e}. Free some space and give --resume.") from e


def load_costs(file: str | os.PathLike[str]) -> CostSamples:
    """Read what `FileJournal` wrote, and check it.

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
    start = _start(path, data)
    frames: list[tuple[int, dict[str, Any]]] = [(start, {})]
    frames += _frames(data, start)
    (before, _), (stop, last) = frames[-2:] if len(frames) > 2 else [(0, {}), (0, {})]
    if stop != len(data) or "stopped" not in last:
        raise _bad(path, "be complete", "a cut or altered file", "Copy it again, or finish it with --resume")
    if last.get("sha256") != hashlib.sha256(data[:before]).digest():
        raise _bad(path, "have the SHA-256 that its end says", "other bytes", "Copy it again")
    header = _header(path, frames[1][1])
    rounds = [_rounds(path, document, header) for _, document in frames[2:-1]]
    machine, stopped = last.get("machine"), last.get("stopped")
    if not isinstance(machine, dict) or not isinstance(stopped, str) or not rounds:
        raise _bad(path, "hold rounds and say why it stopped", "neither")
    samples = header.samples(np.concatenate(rounds), machine, stopped)
    samples.check()
    return samples


def _bad(path: Path, must: str, got: object, remedy: str = "Measure again") -> MeasurementError:
    return MeasurementError(f"{path} must {must}. Got {str(got)[:120]}. {remedy}.")


def _start(path: Path, data: bytes) -> int:
    """Return where the frames start."""
    line, newline, _ = data[:80].partition(b"\n")
    version = line.removeprefix(MAGIC)
    if not newline or not line.startswith(MAGIC) or not version.isdigit():
        raise _bad(path, f"be a file of cost samples, which starts with {MAGIC.decode()!r}", line[:40])
    if int(version) != VERSION:
        raise _bad(path, f"have format version {VERSION}", version.decode(), "Measure again with this version")
    return len(line) + 1


def _frames(data: bytes, start: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the end and the content of every sound frame, up to the first one that is not."""
    while start + FRAME.size <= len(data):
        length, crc = FRAME.unpack_from(data, start)
        start += FRAME.size
        payload = data[start : start + length]
        if length == 0 or len(payload) != length or zlib.crc32(payload) != crc:
            return
        start += length
        try:
            document = msgpack.unpackb(payload, raw=False, strict_map_key=True)
        except Exception:  # msgpack raises many kinds
            return
        if not isinstance(document, dict):
            return
        yield start, document


def _header(path: Path, document: Mapping[str, Any]) -> Header:
    units = _texts(path, document, "units", MAX_UNITS)
    kernels = _texts(path, document, "kernels", MAX_UNITS)
    sizes: Any = document.get("sizes")
    loops: Any = document.get("loops")
    if not _is_list(sizes, float, MAX_SIZES):
        raise _bad(path, "hold a list of sizes", sizes)
    if not _is_list(loops, int, MAX_UNITS * MAX_SIZES) or len(loops) != len(units) * len(sizes) or min(loops) < 1:
        raise _bad(path, "hold a number of calls for each unit and size", loops)
    fingerprint, machine = document.get("fingerprint"), document.get("machine")
    if not isinstance(fingerprint, str) or not isinstance(machine, dict):
        raise _bad(path, "say which features and which machine it is of", (fingerprint, machine))
    return Header(units, tuple(sizes), tuple(loops), kernels, fingerprint, machine)


def _texts(path: Path, document: Mapping[str, Any], name: str, most: int) -> tuple[str, ...]:
    texts: Any = document.get(name)
    if not _is_list(texts, str, most) or len(set(texts)) != len(texts):
        raise _bad(path, f"hold different {name}", texts)
    return tuple(texts)


def _is_list(value: Any, kind: type, most: int) -> bool:
    return type(value) is list and 0 < len(value) <= most and all(type(v) is kind for v in value)


def _rounds(path: Path, document: Mapping[str, Any], header: Header) -> NDArray[np.float64]:
    raw, width = document.get("rounds"), 8 * header.n_columns
    if not isinstance(raw, bytes) or not raw or len(raw) % width:
        raise _bad(path, f"hold rounds of {header.n_columns} times", type(raw).__name__)
    return np.frombuffer(raw, dtype="<f8").reshape(-1, header.n_columns).astype(np.float64)


def same_measurement(old: Header, new: Header) -> Sequence[str]:
    """Return what differs between two headers so that their rounds must not be mixed."""
    stamps = ("device", "cpu", "python", "numpy", "onnxruntime", "pinned_cpu", "threads")
    differ = [name for name in ("units", "sizes", "kernels", "fingerprint") if getattr(old, name) != getattr(new, name)]
    return differ + [name for name in stamps if old.machine.get(name) != new.machine.get(name)]
