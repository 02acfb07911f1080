"""The formats that this project reads: sound files, how these are changed with right digests, how they are used."""

import hashlib
import json
import tomllib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgpack

from polydom_runtime.frames import FRAME, frames
from polydom_runtime.learning import learned_file
from polydom_runtime.measuring import costs_file
from polydom_runtime.records.flight_file import CRC, MAGIC, PAGE, VERSION, decoded_header

from . import npz, protobuf, seeds, tar, uses
from .trees import DEEP, DEPTH, HUGE, altered, changed
from .two_engines import use_typed
from .typed_models import typed_model

NOISE = 0.1
"""The share of files that are changed as bytes, without a look at what they hold."""

Mutated = Callable[[bytes, Random], bytes]


@dataclass(frozen=True)
class Format:
    """A format.

    Parameters
    ----------
    seeds : callable
        Returns sound files.
    mutated : callable
        Returns a changed file.
    use : callable
        Reads a file and does with it what the project does; the folder is for files that it writes.
    """

    seeds: Callable[[], Sequence[bytes]]
    mutated: Mutated
    use: Callable[[bytes, Path], None]


def of_documents(opened: Callable[[bytes], Any], closed: Callable[[Any], bytes]) -> Mutated:
    """Return what changes files that hold a document; `closed` writes it with right digests."""
    return lambda data, rng: altered(data, rng) if rng.random() < NOISE else closed(changed(opened(data), rng))


def _packed(document: Any) -> bytes:
    data = bytes(msgpack.packb(document))
    return data.replace(bytes(msgpack.packb(DEEP)), b"\x91" * DEPTH + b"\xc0")


def _unpacked(data: bytes) -> Any:
    return msgpack.unpackb(data, raw=False, strict_map_key=False)


def _json(document: Any) -> bytes:
    return _spelled(json.dumps(document, default=repr), json.dumps).encode()


def _spelled(text: str, quoted: Callable[[str], str]) -> str:
    """Return a text in which the signs for lists inside each other and for a huge number are replaced by these."""
    return text.replace(quoted(DEEP), "[" * DEPTH + "]" * DEPTH).replace(quoted(HUGE), "1" + "0" * 400)


def _sealed_learned(content: bytes) -> bytes:
    return learned_file.MAGIC + b"%d\n" % learned_file.VERSION + hashlib.sha256(content).digest() + content


def _learned_content(data: bytes) -> bytes:
    return data.partition(b"\n")[2][learned_file.SHA256_BYTES :]


def _costs_opened(data: bytes) -> list[Any]:
    line = data.partition(b"\n")[0]
    return [int(line.split()[1]), *(document for _, document in frames(data, len(line) + 1))]


def _costs_closed(document: Any) -> bytes:
    """Return the file of a version and frames, with the digest of all others in the last one."""
    version, *parts = document if isinstance(document, list) and document else [document]
    data = costs_file.MAGIC + f"{version!s:.60}\n".encode()
    for part in parts:
        if isinstance(part, dict) and "sha256" in part:
            part["sha256"] = hashlib.sha256(data).digest()
        payload = _packed(part)
        data += FRAME.pack(len(payload), zlib.crc32(payload)) + payload
    return data


def _flight_opened(data: bytes) -> dict[str, Any]:
    header = decoded_header(Path(), data)
    starts = [header.slot_start(slot) + CRC.size for slot in range(header.capacity)]
    size = header.record_bytes - CRC.size
    records = [data[start : start + size] for start in starts]
    _, facts = next(frames(data, data.index(b"\n") + 1))
    return {"version": VERSION, "facts": facts, "records": records}


def _flight_closed(document: Any) -> bytes:
    """Return the file of a version, a header and records, with the CRC-32 of each; what is no record is left out."""
    parts = document if isinstance(document, dict) else {}
    version, facts, records = map(parts.get, ("version", "facts", "records"))
    payload = _packed(facts)
    data = MAGIC + f"{version!s:.60}\n".encode() + FRAME.pack(len(payload), zlib.crc32(payload)) + payload
    data = data.ljust(-(-len(data) // PAGE) * PAGE, b"\0")
    seed = zlib.crc32(data)
    for record in records if isinstance(records, list) else ():
        if isinstance(record, bytes):
            data += (CRC.pack(zlib.crc32(record, seed)) if any(record) else bytes(4)) + record
    return data


def _toml(document: Any) -> bytes:
    if not isinstance(document, dict):
        return repr(document).encode()
    text = "\n".join(f"{json.dumps(str(key))} = {_toml_value(value)}" for key, value in document.items())
    return _spelled(text, json.dumps).encode("utf-8", "replace")


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml_value(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, int | float) else json.dumps(str(value), ensure_ascii=False)


def _opened_lines(data: bytes) -> list[Any]:
    return [json.loads(line) if line.strip() else "" for line in data.split(b"\n")]


def _closed_lines(document: Any) -> bytes:
    return b"\n".join(map(_json, document if isinstance(document, list) else [document]))


def _model(data: bytes, rng: Random) -> bytes:
    how = altered if rng.random() < NOISE else protobuf.mutated
    return data[:1] + how(data[1:], rng)


_archive = of_documents(npz.opened, npz.closed)

FORMATS = {
    "index": Format(seeds.indexes, of_documents(_unpacked, _packed), uses.use_index),
    "model": Format(seeds.models, _model, uses.use_model),
    "estimator": Format(seeds.estimators, _model, uses.use_model),
    "typed": Format(seeds.typed, lambda _, rng: typed_model(rng), use_typed),
    "learned": Format(
        seeds.learned,
        of_documents(
            lambda data: _unpacked(_learned_content(data)), lambda document: _sealed_learned(_packed(document))
        ),
        uses.use_learned,
    ),
    "costs": Format(seeds.costs, of_documents(_costs_opened, _costs_closed), uses.use_costs),
    "flight": Format(seeds.flights, of_documents(_flight_opened, _flight_closed), uses.use_flight),
    "metrics": Format(seeds.flights, of_documents(_flight_opened, _flight_closed), uses.use_metrics),
    "certificate": Format(seeds.certificates, of_documents(json.loads, _json), uses.use_certificate),
    "proof": Format(seeds.proofs, _archive, uses.use_proof),
    "profile": Format(seeds.profiles, of_documents(lambda data: tomllib.loads(data.decode()), _toml), uses.use_profile),
    "energies": Format(seeds.energies, of_documents(json.loads, _json), uses.use_energies),
    "lines": Format(seeds.lines, of_documents(_opened_lines, _closed_lines), uses.use_lines),
    "archive": Format(seeds.archives, _archive, uses.use_archive),
    "tar": Format(seeds.tars, of_documents(tar.opened, tar.closed), uses.use_tar),
}
"""The formats by their names."""
