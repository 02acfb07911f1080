"""The file of a tune, ``NAME.tune``: a line with format and version, a SHA-256 of the rest, and a msgpack map."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from polydom_runtime.bundles import schema
from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.bundles.engines import ENGINES
from polydom_runtime.bundles.index_file import index_sha256
from polydom_runtime.bundles.models import NO_VERSION, onnxruntime_version
from polydom_runtime.bundles.opened_folder import read_bounded
from polydom_runtime.bundles.regimes import REGIMES, Regime
from polydom_runtime.causes import uncontrolled
from polydom_runtime.exceptions import BundleFormatError, BundleMismatchError
from polydom_runtime.files import replace_file

from .board import Board
from .tune import RegimeTune, Tune

MAGIC, VERSION = b"polydom-tune ", 2
SHA256_BYTES = 32
MAX_FILE_BYTES, MAX_SECONDS, MAX_WARNINGS, MAX_CHARS = 1 << 20, 1e6, 20, 500
REMEDY = "Run `polydom-node tune` again."

MACHINE = ("device", "cpu", "numpy", "onnxruntime")
"""The facts that must be equal for the times of a tune to hold."""


def this_machine(board: Board | None = None) -> dict[str, str]:
    """Return the facts about this machine and its software by which a tune is tied to it."""
    board = board or Board()
    versions = np.__version__, onnxruntime_version() or NO_VERSION
    return dict(zip(MACHINE, (board.device, board.cpu, *versions), strict=True))


def write_tune(file: str | os.PathLike[str], tune: Tune) -> None:
    """Write a tune in one step: at any instant the whole old or the whole new file is there.

    Raises `BundleFormatError` if the file cannot be written.
    """
    regimes = {
        name: {
            "dispatch": schema.pack_floats(there.dispatch),
            "models": schema.pack_floats(there.models),
            "added": schema.pack_floats(there.added),
            "asleep": there.asleep,
        }
        for name, there in tune.regimes.items()
    }
    document = {
        "bundle_sha256": tune.bundle_sha256,
        "machine": dict(tune.machine),
        "began": tune.began,
        "warnings": list(tune.warnings),
        "engines": list(tune.engines),
        "regimes": regimes,
    }
    content = bytes(msgpack.packb(document))
    try:
        replace_file(file, MAGIC + b"%d\n" % VERSION + hashlib.sha256(content).digest() + content)
    except OSError as e:
        raise schema.bad(f"{file} must be a file that can be written", e, "Choose another name.") from e


def load_tune(file: str | os.PathLike[str], bundle: Bundle, board: Board | None = None) -> Tune:
    """Read a tune, and check it and that it is of this bundle and this machine.

    `bundle`: on the disk. `board`: the source of the facts about the machine; by default this machine.

    Raises `BundleFormatError` if the file is cut, altered, of another format or version, or holds impossible values.
    Raises `BundleMismatchError` if it is of another bundle, or was measured on another machine or with other software.
    """
    path = Path(file)
    try:
        tune = _decoded(_content(path), len(bundle.models), len(bundle.times.worst.names))
    except BundleFormatError as e:
        raise BundleFormatError(f"{path} must be a sound tune file. {str(e).strip()} {REMEDY}") from e
    if tune.bundle_sha256 != index_sha256(bundle):
        raise BundleMismatchError(
            f"{path} must be a tune of the bundle {bundle.path}. It is of another one, or of an earlier build. {REMEDY}"
        )
    here = this_machine(board)
    if differ := [name for name in MACHINE if tune.machine[name] != here[name]]:
        pairs = uncontrolled(", ".join(f"{name} {tune.machine[name]} and not {here[name]}" for name in differ))
        raise BundleMismatchError(f"{path} must be a tune made on this machine. It was made with {pairs}. {REMEDY}")
    return tune


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise schema.bad("It must be a file", "none", "")
    data = read_bounded(path.resolve(), MAX_FILE_BYTES)
    line, _, rest = data.partition(b"\n")
    if not line.startswith(MAGIC):
        raise schema.bad(f"It must start with {MAGIC.decode()!r}", line[:40], "")
    if line != MAGIC + b"%d" % VERSION:
        raise schema.bad(f"It must have format version {VERSION}", line.removeprefix(MAGIC)[:40], "")
    digest, content = rest[:SHA256_BYTES], rest[SHA256_BYTES:]
    if hashlib.sha256(content).digest() != digest:
        raise schema.bad("It must have the SHA-256 that it states", "another one: it is cut or altered", "")
    return content


def _decoded(content: bytes, n_models: int, n_units: int) -> Tune:
    document = schema.unpack(content)
    machine, regimes = schema.field(document, "machine", dict), schema.field(document, "regimes", dict)
    warnings, engines = schema.field(document, "warnings", list), schema.field(document, "engines", list)
    if len(warnings) > MAX_WARNINGS:
        raise schema.bad(f"It must have at most {MAX_WARNINGS} warnings", len(warnings), "")
    if len(engines) != n_models or any(engine not in ENGINES for engine in engines):
        raise schema.bad(f"It must have one of {ENGINES} for each of the {n_models} models", engines, "")
    if "hot" not in regimes or not regimes.keys() <= set(REGIMES):
        raise schema.bad(f"Its regimes must be among {REGIMES}, with hot", list(regimes), "")
    found: dict[Regime, RegimeTune] = {
        name: _regime(schema.field(regimes, name, dict), n_models, n_units) for name in REGIMES if name in regimes
    }
    return Tune(
        schema.text("bundle_sha256", document.get("bundle_sha256")),
        {name: schema.text(name, machine.get(name), MAX_CHARS) for name in MACHINE},
        uncontrolled(schema.text("began", document.get("began"))),
        tuple(uncontrolled(schema.text("a warning", warning, MAX_CHARS)) for warning in warnings),
        tuple(engines),
        found,
    )


def _regime(document: Mapping[str, Any], n_models: int, n_units: int) -> RegimeTune:
    median, high = _seconds(document, "dispatch", 2)
    return RegimeTune(
        (median, high),
        _seconds(document, "models", n_models),
        _seconds(document, "added", n_units),
        schema.number(document, "asleep", 0.0, MAX_SECONDS),
    )


def _seconds(document: Mapping[str, Any], name: str, count: int) -> tuple[float, ...]:
    times = schema.floats(document, name, (count,))
    if not ((times >= 0.0) & (times <= MAX_SECONDS)).all():
        raise schema.bad(f"Field {name!r} must hold seconds from 0 to {MAX_SECONDS:g}", times.tolist(), "")
    return tuple(times.tolist())
